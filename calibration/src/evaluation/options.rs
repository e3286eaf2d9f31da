//! How intervals are made.

use serde::{Deserialize, Serialize};

use crate::CalibrationError;
use crate::thresholds::check_open;

/// How the intervals of an evaluation or a comparison are made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationOptions {
    /// Number of bootstrap resamples. Figures over every option of every row may take fewer where that is more work than
    /// they are worth; each figure says how many it took.
    pub resamples: usize,
    /// Seed of the draws: the same seed gives the same intervals, on every machine.
    pub seed: u64,
    /// How much of the resamples an interval holds, and the confidence of the intervals in a reliability diagram.
    pub confidence: f64,
}

impl Default for EvaluationOptions {
    /// 1,000 resamples, seed 0, 95 %.
    fn default() -> Self {
        Self {
            resamples: 1000,
            seed: 0,
            confidence: 0.95,
        }
    }
}

impl EvaluationOptions {
    pub(super) fn check(&self) -> Result<(), CalibrationError> {
        check_open("confidence", self.confidence)?;
        if self.resamples == 0 {
            return Err(CalibrationError::Empty("resamples"));
        }
        Ok(())
    }
}
