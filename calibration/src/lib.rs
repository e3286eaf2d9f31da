//! From scores to probabilities, confidence and the metrics that judge them.
//!
//! This crate sees scores and labels only. A *label* here is a gold answer: the index of the right option.

mod confidence;
mod error;
pub mod metrics;
mod probability;
mod softmax;

pub use confidence::{choice_confidence, expected_level, score_confidence};
pub use error::CalibrationError;
pub use probability::Probability;
pub use softmax::softmax;
