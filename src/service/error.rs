//! What can go wrong in the service.

use std::path::PathBuf;

use assize_calibration::CalibrationError;
use assize_heads::HeadError;
use assize_models::ModelError;
use assize_preprocess::PromptError;

use super::binding::Mismatch;
use super::calibration_file::CalibrationFileError;
use super::media::{MediumError, MediumFault};

/// Everything that can go wrong between a model's name and an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The model could not be found, read or loaded, or its engine failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tokenizer, the prompt form or the decision is at fault.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The readout is at fault.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// Scores that are no basis for probabilities.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// The model's card names a readout that does not exist.
    #[error("model card, field `readout`: {0}")]
    CardReadout(serde_json::Error),
    /// The readout needs labels, and the prompt form has none.
    #[error("model card: the label readout needs a prompt form with labels, and form {form:?} has none")]
    FormWithoutLabels {
        /// The form's name.
        form: String,
    },
    /// The readout subtracts the score without the state, and the prompt form writes state and question as one text.
    #[error("model card: `less_prior` needs a prompt form that is not joined, and form {form:?} is")]
    FormWithoutPrior {
        /// The form's name.
        form: String,
    },
    /// Not all layers are run, and nothing but a fitted head reads what they give.
    #[error(
        "{layers} layers of the model are run, which only a fitted head can read: load one, or run all layers"
    )]
    NoReadout {
        /// Layers that are run.
        layers: usize,
    },
    /// A head or a calibration was made for another artifact.
    #[error("{}: {mismatch}: {remedy}", path.display())]
    Bound {
        /// The file.
        path: PathBuf,
        /// What differs.
        mismatch: Box<Mismatch>,
        /// What to do about it.
        remedy: String,
    },
    /// A calibration's file cannot be used.
    #[error(transparent)]
    CalibrationFile(#[from] CalibrationFileError),
    /// A question that the calibration is not for.
    #[error("question {question}: calibration {id} is not for it: {reason}")]
    NotCalibrated {
        /// Index of the question in the request, from 0.
        question: usize,
        /// The calibration.
        id: String,
        /// What it needs.
        reason: String,
    },
    /// A medium cannot be used.
    #[error("{error}")]
    Medium {
        /// Index of the medium in the request, from 0.
        index: usize,
        /// What is wrong with it.
        error: MediumError,
    },
    /// The engine answered something other than what was asked.
    #[error("{asked} {what} were asked and {scored} scored")]
    Mismatch {
        /// Questions or options.
        what: &'static str,
        /// How many were asked.
        asked: usize,
        /// How many scores came back.
        scored: usize,
    },
}

impl ServiceError {
    /// The medium that is at fault, by its index in the request; `None` where it is something else.
    pub fn medium(&self) -> Option<usize> {
        match self {
            Self::Medium { index, .. } => Some(*index),
            Self::Prompt(
                PromptError::MediumUnknown { medium, .. } | PromptError::EmptyMedium { medium, .. },
            ) => Some(*medium),
            _ => None,
        }
    }

    /// What is wrong with that medium.
    pub fn medium_fault(&self) -> MediumFault {
        match self {
            Self::Medium { error, .. } => error.fault(),
            Self::Prompt(PromptError::MediumUnknown { .. }) => MediumFault::Unsupported,
            _ => MediumFault::Damaged,
        }
    }
}
