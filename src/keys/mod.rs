//! Keys of the server: who may ask, how often, and how much at once.
//!
//! A key is 32 random bytes, so that its file needs no slow password hash: what is kept is the SHA-256 of the key's text,
//! from which nobody finds it.

mod api_key;
mod file;
mod keyring;

pub use api_key::{ApiKey, KeyHash, KeyHashError, NoRandomness};
pub use file::{KeyEntry, KeyFile, KeyFileError};
pub use keyring::{Admission, Key, Keyring, TooMuch};
