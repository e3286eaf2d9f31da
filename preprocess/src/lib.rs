//! From a decision request to the inputs of a model: request types, prompt forms, tokenisation, pictures, audio and video.
//!
//! This crate is the leftmost one of the workspace: it knows nothing of engines, heads or HTTP.

pub mod audio;
mod completeness;
pub mod decision;
mod error;
pub mod image;
mod libav;
mod mp4;
pub mod prompt;
mod tokenizer;
mod until;
pub mod video;

pub use error::{Excess, PromptError};
pub use tokenizer::{PromptTokenizer, TokenId};
pub use until::Until;
