//! Thresholds that keep a promise: precision or recall at a wish, with a stated confidence.
//!
//! Every promise here is about rows drawn independently from where the given rows came from, and holds with at least the
//! stated confidence over the draw of the given rows, whatever their distribution and however bad the probabilities. Rows
//! that depend on each other (several of one document) carry less evidence than their number says: give one per group.

mod clopper_pearson;
mod precision;
mod recall;
mod routing;

pub(crate) use clopper_pearson::upper_tail;
pub use clopper_pearson::{Interval, clopper_pearson, lower_bound, upper_bound};
pub use precision::{PrecisionThreshold, Search, Test, precision_threshold};
pub use recall::{RecallThreshold, recall_threshold};
pub use routing::{Route, Routing, Volume, Volumes, routing};

use crate::CalibrationError;

/// Checks a number that must lie strictly between 0 and 1.
pub(crate) fn check_open(name: &'static str, value: f64) -> Result<(), CalibrationError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(CalibrationError::Setting {
            name,
            value,
            must: "between 0 and 1",
        })
    }
}

/// Checks that there are rows, with one label each.
pub(crate) fn check_lengths(predictions: usize, labels: usize) -> Result<(), CalibrationError> {
    if predictions != labels {
        Err(CalibrationError::Lengths { predictions, labels })
    } else if predictions == 0 {
        Err(CalibrationError::Empty("rows"))
    } else {
        Ok(())
    }
}
