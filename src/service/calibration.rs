//! A fitted calibration: a file with a calibrator and the artifact whose scores it is for.

use std::path::Path;

use assize_calibration::Shape as CalibrationShape;
use assize_calibration::calibrators::Calibrator;
use assize_models::{ArtifactDescription, ArtifactId};
use assize_preprocess::decision::{Question, Shape};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::ServiceError;
use super::binding::{Binding, BindingKind};

/// The format that is read.
const SCHEMA: &str = "assize.calibration/1";
/// Largest file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// A calibration as it was read.
#[derive(Debug)]
pub(super) struct ServedCalibration {
    pub(super) binding: Binding,
    pub(super) calibrator: Calibrator,
}

/// The file's fields that are used; it may have others.
#[derive(Deserialize)]
struct CalibrationFile {
    artifact: Option<CalibratedArtifact>,
    calibrator: Calibrator,
}

#[derive(Deserialize)]
struct CalibratedArtifact {
    id: ArtifactId,
    description: ArtifactDescription,
}

impl ServedCalibration {
    /// Reads a file. Its id is `cal-` and the first 16 hex digits of the file's sha256.
    pub(super) fn open(path: &Path) -> Result<Self, ServiceError> {
        let failed = |reason: String| ServiceError::CalibrationFile {
            path: path.to_path_buf(),
            reason,
        };
        let length = std::fs::metadata(path)
            .map_err(|error| failed(error.to_string()))?
            .len();
        if length > MOST_BYTES {
            return Err(failed(format!(
                "{length} bytes are more than the {MOST_BYTES} that are read"
            )));
        }
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        // First alone, so that another format is not called damaged.
        let schema = serde_json::from_slice::<Schema>(&bytes).map_err(|error| failed(error.to_string()))?;
        if schema.schema != SCHEMA {
            return Err(failed(format!(
                "`schema` is {:?}: this program reads {SCHEMA:?}",
                schema.schema
            )));
        }
        let file: CalibrationFile =
            serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        let Some(artifact) = file.artifact else {
            return Err(failed(
                "`artifact` is null: it was fitted on predictions from elsewhere, and is for no model that is served here"
                    .into(),
            ));
        };
        let id = artifact.description.id();
        if artifact.id != id {
            return Err(failed(format!(
                "`artifact.id` is {} and the description's is {id}: the file was changed; fit the calibration again",
                artifact.id
            )));
        }
        let hash = hex::encode(Sha256::digest(&bytes));
        Ok(Self {
            binding: Binding {
                kind: BindingKind::Calibration,
                id: format!("cal-{}", hash.get(..16).unwrap_or_default()),
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
