//! From a decision request to token ids: request types, prompt forms and tokenisation.
//!
//! This crate is the leftmost one of the workspace: it knows nothing of engines, heads or HTTP.

pub mod decision;
mod error;
pub mod prompt;
mod tokenizer;

pub use error::PromptError;
pub use tokenizer::{PromptTokenizer, TokenId};
