//! A fitted calibration: a file with a calibrator and the artifact whose scores it is for.

use std::path::Path;

use assize_calibration::Shape as CalibrationShape;
use assize_preprocess::decision::{Content, Question, Shape};

use super::ServiceError;
use super::binding::{Binding, BindingKind};
use super::calibration_file::{Asked, CalibrationFile, CalibrationFileError};
use crate::evaluation::{SHOWN_QUESTION, beginning};

/// A calibration as it was read.
#[derive(Debug)]
pub(super) struct ServedCalibration {
    pub(super) binding: Binding,
    pub(super) file: CalibrationFile,
}

impl ServedCalibration {
    /// Reads a file.
    pub(super) fn open(path: &Path) -> Result<Self, CalibrationFileError> {
        let (file, id) = CalibrationFile::read(path)?;
        let Some(artifact) = &file.artifact else {
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
                made_for: artifact.description.clone(),
            },
            file,
        })
    }

    /// Refuses a question that the calibrator is not made for, before anything is computed.
    pub(super) fn check(&self, index: usize, question: &Question) -> Result<(), ServiceError> {
        let scores = vec![0.0; options(question)];
        let (options, text) = (names(question), text(question));
        let asked = Asked {
            shape: shape(question),
            options: &options,
            text: &text,
        };
        match self.file.apply(&scores, asked) {
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

/// The options' texts of a question, in the caller's order; of a predicate false, then true.
pub(super) fn names(question: &Question) -> Vec<String> {
    match &question.shape {
        Shape::Choice(options) => options.iter().map(|option| option.name.clone()).collect(),
        Shape::Predicate { .. } => vec!["false".to_owned(), "true".to_owned()],
        Shape::Score(levels) => levels.iter().map(|level| level.to_text().into_owned()).collect(),
    }
}

/// The beginning of a question's text, as predictions keep it.
pub(super) fn text(question: &Question) -> String {
    let text = question.instructions.as_ref().map(Content::to_text);
    beginning(&text.unwrap_or_default(), SHOWN_QUESTION)
}

/// Number of options of a question.
pub(super) fn options(question: &Question) -> usize {
    match &question.shape {
        Shape::Choice(options) => options.len(),
        Shape::Predicate { .. } => 2,
        Shape::Score(levels) => levels.len(),
    }
}
