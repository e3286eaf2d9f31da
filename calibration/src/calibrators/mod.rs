//! Calibrators: maps from raw scores to probabilities, fitted on labelled rows.
//!
//! [`choose`] fits several and keeps the one of lowest cross-validated NLL. A fitted [`Calibrator`] is stored as JSON:
//!
//! ```json
//! {"version": 1, "argmax": "kept", "map": {"kind": "temperature", "temperature": 1.7}}
//! ```
//!
//! The fields of each kind stand with its type.

mod argmax;
mod beta;
mod calibrator;
mod choose;
mod folds;
mod histogram;
mod isotonic;
mod optimise;
mod platt;
mod predicate;
mod softmax;
mod temperature;
mod temperature_by;
mod vector;

pub use argmax::Argmax;
pub(crate) use argmax::first_highest;
pub use beta::Beta;
pub use calibrator::{Calibrator, Map};
pub use choose::{Candidate, Chosen, Tried, choose};
pub use folds::{Folds, split};
pub use histogram::{Bins, Histogram};
pub use isotonic::Isotonic;
pub(crate) use optimise::root;
pub use platt::Platt;
pub use predicate::Targets;
pub use temperature::{Bound, Temperature};
pub use temperature_by::{Keyed, TemperatureBy, TemperatureByOptions, TemperatureByShape};
pub use vector::Vector;
