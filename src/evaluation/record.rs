//! What an evaluation writes as JSON: the figures, and everything that they are figures of.

use assize_calibration::evaluation::{Evaluation, EvaluationOptions, JudgedRow};
use assize_calibration::{CalibrationError, Probability};
use serde::Serialize;
use serde_json::Value;

use super::predictions::{Prediction, PredictionSet};
use super::rows::RowFault;
use crate::service::CalibrationFile;

/// The format that is written.
const SCHEMA: &str = "assize.evaluation/1";
/// Faults that the record lists; all are counted, and all stand in the prediction file.
const LISTED_FAULTS: usize = 100;

/// An evaluation with its provenance. JSON, `assize.evaluation/1`.
///
/// Everything but `run` depends on the rows and the artifact alone: a run that was stopped and taken up gives the same bytes.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluationRecord {
    /// Always `assize.evaluation/1`.
    pub schema: &'static str,
    /// Version of the program.
    pub assize: &'static str,
    /// The header of the prediction file without its time; null where the predictions came from elsewhere.
    pub predictions: Value,
    /// Id of the calibration whose probabilities are judged; null for raw ones.
    pub calibration: Option<String>,
    /// How the artifact of that calibration differs from the one that made the predictions; null where it does not.
    pub calibration_mismatch: Option<String>,
    /// Whether that calibration was fitted on this very file, so that its figures are too good.
    pub calibration_fitted_on_these_rows: bool,
    /// Rows and what became of them.
    pub rows: RowCounts,
    /// The prompts; null where they are not known.
    pub prompts: Option<PromptCounts>,
    /// The figures.
    pub evaluation: Evaluation,
    /// The figures of the same rows before calibration.
    pub before_calibration: Option<Evaluation>,
    /// This run.
    pub run: RunRecord,
}

/// Rows and what became of them.
#[derive(Debug, Clone, Serialize)]
pub struct RowCounts {
    /// Judged.
    pub judged: usize,
    /// Not judged, for a fault of their own.
    pub failed: usize,
    /// The first faults.
    pub faults: Vec<RowFault>,
    /// Columns that were not read.
    pub ignored_columns: Vec<String>,
}

/// The prompts of the judged rows.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PromptCounts {
    /// Tokens of all of them.
    pub tokens: usize,
    /// Of the longest.
    pub longest: usize,
    /// Prompts whose state was cut.
    pub truncated_rows: usize,
}

/// What this run did; it differs from run to run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunRecord {
    /// The prediction file.
    pub file: String,
    /// Its sha256.
    pub sha256: String,
    /// When it was begun, in seconds since 1970.
    pub started: Option<u64>,
    /// Rows that were there when the run was taken up.
    pub rows_before: usize,
    /// Rows that went through the model in this run.
    pub forward_rows: usize,
    /// Tokens that were computed in this run.
    pub forward_tokens: usize,
    /// Seconds of the forward passes with reading and preparing rows.
    pub seconds: f64,
}

/// A calibration that is applied to predictions that were made without it.
#[derive(Debug, Clone)]
pub struct AppliedCalibration {
    /// The calibration.
    pub file: CalibrationFile,
    /// Its id.
    pub id: String,
    /// In words, how the artifact that it was fitted on differs from the one that made the predictions.
    pub mismatch: Option<String>,
}

impl EvaluationRecord {
    /// Judges the rows of a set: with `calibration`, the probabilities that it gives to their scores, else their
    /// own. Gives the judged rows as well, for a report.
    ///
    /// # Errors
    /// No row can be judged, or the calibration is not made for the questions.
    pub fn of(
        set: &PredictionSet,
        calibration: Option<&AppliedCalibration>,
        ignored_columns: Vec<String>,
        options: &EvaluationOptions,
        run: RunRecord,
    ) -> Result<(Self, Vec<JudgedRow>), CalibrationError> {
        let before =
            |row: &Prediction| -> Result<Vec<Probability>, CalibrationError> { Ok(row.raw().to_vec()) };
        let judged = match calibration {
            Some(applied) => set.judged(|row| applied.file.apply(&row.log_scores(), row.asked()))?,
            None => set.judged(|row| Ok(row.probabilities.clone()))?,
        };
        let was_calibrated = set.rows.iter().any(|row| row.raw_probabilities.is_some());
        let before_calibration = if calibration.is_some() || was_calibrated {
            Some(Evaluation::of(&set.judged(before)?, options)?)
        } else {
            None
        };
        let header = set.header.as_ref();
        let mut predictions = serde_json::to_value(header).unwrap_or_default();
        if let Some(fields) = predictions.as_object_mut() {
            fields.remove("started");
        }
        let record = Self {
            schema: SCHEMA,
            assize: env!("CARGO_PKG_VERSION"),
            predictions,
            calibration: calibration
                .map(|applied| applied.id.clone())
                .or_else(|| header.and_then(|header| header.calibration.clone())),
            calibration_mismatch: calibration.and_then(|applied| applied.mismatch.clone()),
            calibration_fitted_on_these_rows: calibration
                .and_then(|applied| applied.file.fitted_on.as_ref())
                .is_some_and(|fitted| fitted.sha256 == set.sha256),
            rows: RowCounts {
                judged: set.rows.len(),
                failed: set.faults.len(),
                faults: set.faults.iter().take(LISTED_FAULTS).cloned().collect(),
                ignored_columns,
            },
            prompts: prompts(&set.rows),
            evaluation: Evaluation::of(&judged, options)?,
            before_calibration,
            run: RunRecord {
                file: set.path.display().to_string(),
                sha256: set.sha256.clone(),
                started: header.map(|header| header.started),
                ..run
            },
        };
        Ok((record, judged))
    }
}

fn prompts(rows: &[Prediction]) -> Option<PromptCounts> {
    let tokens: Vec<_> = rows
        .iter()
        .map(|row| row.tokens.as_ref())
        .collect::<Option<_>>()?;
    Some(PromptCounts {
        tokens: tokens.iter().map(|prompt| prompt.count).sum(),
        longest: tokens.iter().map(|prompt| prompt.count).max()?,
        truncated_rows: tokens.iter().filter(|prompt| prompt.truncated > 0).count(),
    })
}
