//! A fitted calibration: a file with a calibrator and the artifact whose scores it is for.

use std::path::Path;

use assize_calibration::Shape as CalibrationShape;
use assize_calibration::calibrators::Calibrator;
use assize_preprocess::decision::{Question, Shape};

use super::ServiceError;
use super::binding::{Binding, BindingKind};
use super::calibration_file::{CalibrationFile, CalibrationFileError};

/// A calibration as it was read.
#[derive(Debug)]
pub(super) struct ServedCalibration {
    pub(super) binding: Binding,
    pub(super) calibrator: Calibrator,
}

impl ServedCalibration {
    /// Reads a file.
    pub(super) fn open(path: &Path) -> Result<Self, CalibrationFileError> {
        let (file, id) = CalibrationFile::read(path)?;
        let Some(artifact) = file.artifact else {
            return Err(CalibrationFileError {
                path: path.to_path_buf(),
                reason: "`artifact` is null: it was fitted on predictions from elsewhere, and is for no model that is served here"
                    .into(),
            });
        };
        Ok(Self {
            binding: Binding {
                kind: BindingKind::Calibration,
                id,
                path: path.to_path_buf(),
                made_for: artifact.description,
            },
            calibrator: file.calibrator,
        })
    }

    /// Refuses a question that the calibrator is not made for, before anything is computed.
    pub(super) fn check(&self, index: usize, question: &Question) -> Result<(), ServiceError> {
        let scores = vec![0.0; options(question)];
        match self.calibrator.apply(&scores, shape(question)) {
            Ok(_) => Ok(()),
            Err(error) => Err(ServiceError::NotCalibrated {
                question: index,
                id: self.binding.id.clone(),
                reason: error.to_string(),
            }),
        }
    }
}

/// The shape as the calibration crate knows it.
pub(super) fn shape(question: &Question) -> CalibrationShape {
    match &question.shape {
        Shape::Choice(_) => CalibrationShape::Choice,
        Shape::Predicate { .. } => CalibrationShape::Predicate,
        Shape::Score(_) => CalibrationShape::Score,
    }
}

/// Number of options of a question.
pub(super) fn options(question: &Question) -> usize {
    match &question.shape {
        Shape::Choice(options) => options.len(),
        Shape::Predicate { .. } => 2,
        Shape::Score(levels) => levels.len(),
    }
}
