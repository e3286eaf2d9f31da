//! What can go wrong when a head is fitted.

use std::path::PathBuf;

use assize_calibration::CalibrationError;
use assize_heads::HeadError;

use crate::service::ServiceError;

/// Everything that can go wrong between labelled rows and a head's folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadFitError {
    /// A row cannot be used.
    #[error("row {id:?}: {reason}")]
    Row {
        /// The row.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A row's prompt cannot be written.
    #[error("row {id:?}: {error}")]
    Prompt {
        /// The row.
        id: String,
        /// What the service says.
        error: Box<ServiceError>,
    },
    /// A setting cannot be used.
    #[error("{field} is {value}: {remedy}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What to use.
        remedy: String,
    },
    /// The engine failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The fit failed, or the head cannot be written.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A metric has no value.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// The cache of hidden states cannot be made.
    #[error("{path}: {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
