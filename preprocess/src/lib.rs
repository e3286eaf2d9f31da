//! From a decision request to model inputs: request types, prompt forms, tokenisation, pictures to patches.
//!
//! This crate is the leftmost one of the workspace: it knows nothing of engines, heads or HTTP.

pub mod decision;
mod error;
pub mod image;
pub mod prompt;
mod tokenizer;

pub use error::PromptError;
pub use tokenizer::{PromptTokenizer, TokenId};
