//! Labelled rows, predictions, evaluation, calibration and comparison.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod calibrate;
mod compare;
mod eval;
mod options;
mod parquet_rows;
mod rig;
mod rows;
