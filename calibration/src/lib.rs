//! From scores to probabilities, confidence and the metrics that judge them.
//!
//! This crate sees scores and labels only. A *label* here is a gold answer: the index of the right option.

pub mod calibrators;
mod confidence;
pub mod conformal;
mod error;
pub mod evaluation;
mod format_version;
pub mod metrics;
mod probability;
pub mod report;
mod row;
mod softmax;
pub mod thresholds;

pub use confidence::{choice_confidence, expected_level, score_confidence};
pub use error::CalibrationError;
pub use format_version::FormatVersion;
pub use probability::Probability;
pub use row::{ScoredRow, Shape};
pub use softmax::softmax;
