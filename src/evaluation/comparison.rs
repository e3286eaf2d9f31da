//! Two prediction files about the same rows.

use std::collections::HashMap;

use assize_calibration::evaluation::{Comparison, EvaluationOptions};
use assize_calibration::{CalibrationError, Shape};
use serde::Serialize;
use serde_json::Value;

use super::predictions::{Prediction, PredictionSet};

/// The format that is written.
const SCHEMA: &str = "assize.comparison/1";
/// Rows that are listed by id.
const LISTED: usize = 20;

/// A comparison with its provenance. JSON, `assize.comparison/1`.
#[derive(Debug, Clone, Serialize)]
pub struct ComparisonRecord {
    /// Always `assize.comparison/1`.
    pub schema: &'static str,
    /// Version of the program.
    pub assize: &'static str,
    /// The first file.
    pub first: ComparedFile,
    /// The second file.
    pub second: ComparedFile,
    /// Fields in which the artifacts differ, `weights` for example; null where one is not known.
    pub artifact_differences: Option<Vec<String>>,
    /// Whether both models read the same tokens; null where one file does not say.
    pub prompts: Option<SamePrompts>,
    /// The figures.
    pub comparison: Comparison,
}

/// One of the files.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedFile {
    /// Its path.
    pub file: String,
    /// Its sha256.
    pub sha256: String,
    /// Its header; null where it came from elsewhere.
    pub header: Value,
    /// Rows with a prediction.
    pub rows: usize,
    /// Rows without one.
    pub failed: usize,
}

/// Prompts of the rows that both files have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SamePrompts {
    /// Rows whose token ids are the same.
    pub same: usize,
    /// Rows whose token ids differ.
    pub different: usize,
    /// Ids of the first of those.
    pub different_ids: Vec<String>,
}

impl ComparisonRecord {
    /// Compares the probabilities of two sets, row by row of the same id.
    ///
    /// # Errors
    /// No rows in common, or rows of one id that are about different questions.
    pub fn of(
        first: &PredictionSet,
        second: &PredictionSet,
        options: &EvaluationOptions,
    ) -> Result<Self, CalibrationError> {
        let judged = |set: &PredictionSet| set.judged(|row| Ok(row.probabilities.clone()));
        let matched = &matched(first, second)?;
        let descriptions = (first.header.as_ref(), second.header.as_ref());
        Ok(Self {
            schema: SCHEMA,
            assize: env!("CARGO_PKG_VERSION"),
            first: ComparedFile::of(first),
            second: ComparedFile::of(second),
            artifact_differences: match descriptions {
                (Some(first), Some(second)) => {
                    let differences = first
                        .artifact
                        .description
                        .differences(&second.artifact.description);
                    Some(differences.into_iter().map(|found| found.field).collect())
                }
                _ => None,
            },
            prompts: SamePrompts::of(first, second),
            comparison: Comparison::of(&judged(first)?, &judged(matched)?, options)?,
        })
    }
}

/// `second` with the options of every row in the order of the same row of `first`.
///
/// # Errors
/// A row with another question or other options.
fn matched(first: &PredictionSet, second: &PredictionSet) -> Result<PredictionSet, CalibrationError> {
    let by_id: HashMap<&str, &Prediction> = first.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut second = second.clone();
    for row in &mut second.rows {
        let Some(other) = by_id.get(row.id.as_str()) else {
            continue;
        };
        let id = row.id.clone();
        let differs = |what: &str, one: &dyn std::fmt::Debug, two: &dyn std::fmt::Debug| {
            CalibrationError::NotApplicable {
                what: "a comparison",
                needs: "the same questions in both files".to_owned(),
                found: format!(
                    "row {:?} with {what} {one:?} in the first and {two:?} in the second",
                    id
                ),
            }
        };
        let (one, two) = (&other.question, &row.question);
        if !one.is_empty() && !two.is_empty() && one != two {
            return Err(differs("the question", one, two));
        }
        let options = row.options.clone();
        let is_same = match row.shape {
            Shape::Choice => row.reorder(&other.options),
            _ => row.options == other.options,
        };
        if !is_same {
            return Err(differs("the options", &other.options, &options));
        }
    }
    Ok(second)
}

impl ComparedFile {
    fn of(set: &PredictionSet) -> Self {
        Self {
            file: set.path.display().to_string(),
            sha256: set.sha256.clone(),
            header: serde_json::to_value(&set.header).unwrap_or_default(),
            rows: set.rows.len(),
            failed: set.faults.len(),
        }
    }
}

impl SamePrompts {
    fn of(first: &PredictionSet, second: &PredictionSet) -> Option<Self> {
        let by_id: HashMap<&str, &super::predictions::Prediction> =
            second.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let mut found = Self {
            same: 0,
            different: 0,
            different_ids: Vec::new(),
        };
        for row in &first.rows {
            let Some(other) = by_id.get(row.id.as_str()) else {
                continue;
            };
            if row.tokens.as_ref()?.sha256 == other.tokens.as_ref()?.sha256 {
                found.same += 1;
            } else {
                found.different += 1;
                if found.different_ids.len() < LISTED {
                    found.different_ids.push(row.id.clone());
                }
            }
        }
        Some(found)
    }
}
