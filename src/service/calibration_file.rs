//! A fitted calibration as a file, bound to the artifact whose scores it is for.

use std::path::{Path, PathBuf};

use assize_calibration::calibrators::{Calibrator, Candidate, Map, Tried};
use assize_calibration::conformal::{Coverage, PredictionSets};
use assize_calibration::thresholds::{PrecisionThreshold, Routing, Volumes};
use assize_calibration::{CalibrationError, Probability, Shape};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::binding::NamedArtifact;

/// The format that is written and read.
const SCHEMA: &str = "assize.calibration/1";
/// Largest file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// A fitted calibration, what it was fitted on and how well it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationFile {
    /// Always `assize.calibration/1`.
    pub schema: String,
    /// The artifact whose scores it maps; none where the predictions came from elsewhere, and then no server uses it.
    pub artifact: Option<NamedArtifact>,
    /// The map.
    pub calibrator: Calibrator,
    /// The question that it is for; none where it is for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<CalibratedQuestion>,
    /// The kind that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Candidate>,
    /// Every kind that was tried, with its cross-validated NLL.
    #[serde(default)]
    pub tried: Vec<Tried>,
    /// The rows that it was fitted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_on: Option<FittedOn>,
    /// The rows that it was judged on, which it was not fitted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluated_on: Option<EvaluatedOn>,
    /// Thresholds and prediction sets on those rows.
    #[serde(default, skip_serializing_if = "Promises::is_empty")]
    pub promises: Promises,
}

/// The question of a map that leans to some of its options, and so has learnt how often each is right: of every map but
/// temperatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibratedQuestion {
    /// Its shape.
    pub shape: Shape,
    /// The options' texts, in the order of the map.
    pub options: Vec<String>,
    /// The beginning of its text; none where the map was fitted on several questions with these options, or the text is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Rows of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedOn {
    /// The prediction file.
    pub file: String,
    /// Its sha256.
    pub sha256: String,
    /// How many rows.
    pub rows: usize,
    /// What folds never divide: `group`, `prompt` (rows of the same prompt) or `row`.
    pub folds_by: String,
}

/// Figures of rows before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedOn {
    /// `test file`, `held-out share` or `held-out folds`.
    pub how: String,
    /// The prediction file.
    pub file: String,
    /// Its sha256.
    pub sha256: String,
    /// How many rows.
    pub rows: usize,
    /// Rows of the test file that were fitted on as well, and left out.
    #[serde(default)]
    pub seen: usize,
    /// Mean negative log-likelihood of raw probabilities, nats.
    pub nll_before: f64,
    /// Of calibrated ones.
    pub nll_after: f64,
    /// Expected calibration error of the top label, 15 bins of equal mass, of raw probabilities.
    pub ece_before: f64,
    /// Of calibrated ones.
    pub ece_after: f64,
    /// Whether the negative log-likelihood fell.
    pub improved: bool,
    /// Rows that the map alone would answer in another way: they are held where two options are equally probable.
    #[serde(default)]
    pub held: usize,
}

/// Thresholds and prediction sets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Promises {
    /// The option that thresholds are about; none where they are about the most probable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Accept from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionThreshold>,
    /// Approve, review, reject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// How many rows take each route, of those that tested the thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Volumes>,
    /// Sets of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<PredictionSets>,
    /// Their coverage on rows that they were not calibrated on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

impl CalibratedQuestion {
    /// Where each of the options stands among those of `asked`: in any order for a choice, in this one for levels.
    fn places(&self, asked: &Asked<'_>) -> Result<Vec<usize>, CalibrationError> {
        let place = |name: &String| asked.options.iter().position(|other| other == name);
        let places: Option<Vec<usize>> = self.options.iter().map(place).collect();
        let in_order = |places: &Vec<usize>| places.iter().enumerate().all(|(index, place)| index == *place);
        let is_asked = self.text.as_ref().is_none_or(|text| *text == asked.text);
        places
            .filter(|_| is_asked && asked.shape == self.shape && asked.options.len() == self.options.len())
            .filter(|places| asked.shape == Shape::Choice || in_order(places))
            .ok_or_else(|| CalibrationError::NotApplicable {
                what: "this calibration",
                needs: Asked {
                    shape: self.shape,
                    options: &self.options,
                    text: self.text.as_deref().unwrap_or_default(),
                }
                .in_words(),
                found: asked.in_words(),
            })
    }
}

/// A question as a calibration sees it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'q> {
    /// Its shape.
    pub shape: Shape,
    /// The options' texts, in the caller's order; of a predicate false, then true.
    pub options: &'q [String],
    /// The beginning of its text, as predictions keep it.
    pub text: &'q str,
}

impl Asked<'_> {
    fn in_words(&self) -> String {
        let options = match self.shape {
            Shape::Predicate => String::new(),
            _ => format!(" of {:?}", self.options),
        };
        let text = match self.text {
            "" => String::new(),
            text => format!(" that asks {text:?}"),
        };
        format!("a {}{options}{text}", self.shape)
    }
}

impl Promises {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a calibration's file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: no calibration: {reason}")]
pub struct CalibrationFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl CalibrationFile {
    /// A calibration of this version.
    pub fn new(artifact: Option<NamedArtifact>, calibrator: Calibrator) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            artifact,
            calibrator,
            question: None,
            chosen: None,
            tried: Vec::new(),
            fitted_on: None,
            evaluated_on: None,
            promises: Promises::default(),
        }
    }

    /// The calibrated probabilities of a question's scores, both in the order of its options.
    ///
    /// # Errors
    /// Scores that are no scores, or a question that the calibration is not for.
    pub fn apply(&self, scores: &[f32], asked: Asked<'_>) -> Result<Vec<Probability>, CalibrationError> {
        let Some(question) = &self.question else {
            return self.calibrator.apply(scores, asked.shape);
        };
        let places = question.places(&asked)?;
        let ordered: Vec<f32> = places
            .iter()
            .filter_map(|place| scores.get(*place).copied())
            .collect();
        let mapped = self.calibrator.apply(&ordered, asked.shape)?;
        let mut back = vec![Probability::ZERO; scores.len()];
        for (place, p) in places.iter().zip(mapped) {
            if let Some(back) = back.get_mut(*place) {
                *back = p;
            }
        }
        Ok(back)
    }

    /// Whether a map has learnt how often each option is right, so that it is for the question that it was fitted on.
    pub fn leans(map: &Map) -> bool {
        match map {
            Map::Identity
            | Map::Temperature(_)
            | Map::TemperatureByShape(_)
            | Map::TemperatureByOptions(_) => false,
            Map::Platt(_) | Map::Vector(_) | Map::Isotonic(_) | Map::Beta(_) | Map::Histogram(_) => true,
        }
    }

    /// Reads a file, and gives it with its id: `cal-` and the first 16 hex digits of the file's sha256.
    ///
    /// # Errors
    /// The file cannot be read, is of another version, or contradicts itself.
    pub fn read(path: &Path) -> Result<(Self, String), CalibrationFileError> {
        let failed = |reason: String| CalibrationFileError {
            path: path.to_owned(),
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
        let value: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        let schema = value.get("schema").cloned().unwrap_or_default();
        if schema != SCHEMA {
            return Err(failed(format!(
                "`schema` is {schema}: this program reads {SCHEMA:?}"
            )));
        }
        let file: Self = serde_json::from_value(value).map_err(|error| failed(error.to_string()))?;
        if let Some(artifact) = &file.artifact {
            let id = artifact.description.id();
            if artifact.id != id {
                return Err(failed(format!(
                    "`artifact.id` is {} and that of its description {id}: the file was changed; fit it again",
                    artifact.id
                )));
            }
        }
        if Self::leans(file.calibrator.map()) && file.question.is_none() {
            return Err(failed(
                "`question` is missing: such a map is for the question that it was fitted on; fit it again"
                    .into(),
            ));
        }
        let hash = hex::encode(Sha256::digest(&bytes));
        Ok((file, format!("cal-{}", hash.get(..16).unwrap_or_default())))
    }
}
