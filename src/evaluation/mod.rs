//! Judging a model on labelled rows: reading them, the predictions about them, and what follows from those.

mod beginning;
mod comparison;
mod comparison_page;
mod fitting;
mod predict;
pub mod predictions;
mod record;
pub mod rows;
mod thresholds;

pub(crate) use beginning::{SHOWN_QUESTION, SHOWN_STATE, beginning};
pub use comparison::{ComparisonRecord, SamePrompts};
pub use fitting::{FitOptions, Fitted, HeldOut, fit};
pub use predict::{PredictError, Predicted, predict};
pub use record::{AppliedCalibration, EvaluationRecord, RunRecord};
pub use thresholds::{ThresholdOptions, Thresholds, thresholds};
