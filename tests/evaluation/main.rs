//! Labelled rows, predictions, evaluation, calibration and comparison.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod parquet_rows;
mod rows;
