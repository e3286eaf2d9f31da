//! From scores to probabilities, confidence and the metrics that judge them.
//!
//! This crate sees scores and labels only.
