//! Two sets of answers to the same questions.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::family::OF_GROUPS;
use super::population::{Population, few_rows, percentiles};
use super::{
    EvaluationOptions, JudgedRow, McNemar, Metric, PercentileInterval, UndefinedMetric, groups_of, mcnemar,
};
use crate::{CalibrationError, FormatVersion, Probability};

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
        options.check()?;
        let (firsts, seconds) = (by_id(first)?, by_id(second)?);
        let mut pairs = Vec::new();
        let mut only_in_first = Vec::new();
        for row in first {
            match seconds.get(row.id()) {
                Some(other) => {
                    check_pair(row, other)?;
                    pairs.push(Pair {
                        first: row,
                        second: other,
                    });
                }
                None => only_in_first.push(row.id().to_owned()),
            }
        }
        if pairs.is_empty() {
            return Err(CalibrationError::Empty("rows with an id that both sets have"));
        }
        let only_in_second = second
            .iter()
            .map(JudgedRow::id)
            .filter(|id| !firsts.contains_key(id))
            .map(str::to_owned)
            .collect();
        Ok(Self {
            version: FormatVersion,
            options: *options,
            only_in_first,
            only_in_second,
            overall: Compared::of(&pairs, Population::by_group, |_| true, None, options)?,
            by_group: by_group(&pairs, options)?,
        })
    }
}

/// The two answers to one question.
#[derive(Clone, Copy)]
struct Pair<'a> {
    first: &'a JudgedRow,
    second: &'a JudgedRow,
}

fn by_id(rows: &[JudgedRow]) -> Result<HashMap<&str, &JudgedRow>, CalibrationError> {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        if found.insert(row.id(), row).is_some() {
            return Err(row.refused("its id is in one set twice, so that rows cannot be matched by id"));
        }
    }
    Ok(found)
}

fn check_pair(first: &JudgedRow, second: &JudgedRow) -> Result<(), CalibrationError> {
    let differs = if first.shape() != second.shape() {
        "shape"
    } else if first.probabilities().len() != second.probabilities().len() {
        "number of options"
    } else if first.gold() != second.gold() {
        "gold answer"
    } else if first.group() != second.group() {
        "group"
    } else {
        return Ok(());
    };
    Err(first.refused(&format!(
        "its {differs} is not the same in both sets, so that they do not answer the same question"
    )))
}

fn by_group(pairs: &[Pair<'_>], options: &EvaluationOptions) -> Result<Vec<GroupCompared>, CalibrationError> {
    let of_group = |(group, members): (&str, Vec<Pair<'_>>)| {
        let few = few_rows(members.len());
        let wanted = |metric| OF_GROUPS.contains(&metric);
        Ok(GroupCompared {
            group: group.to_owned(),
            compared: Compared::of(&members, Population::by_row, wanted, few, options)?,
        })
    };
    groups_of(pairs.iter().map(|pair| (pair.first.group(), *pair)))
        .into_iter()
        .map(of_group)
        .collect()
}

impl Compared {
    fn of<'a>(
        pairs: &[Pair<'a>],
        population: fn(Vec<&'a JudgedRow>) -> Population<'a>,
        wanted: impl Fn(Metric) -> bool,
        without_interval: Option<String>,
        options: &EvaluationOptions,
    ) -> Result<Self, CalibrationError> {
        // Both are drawn in the same order of the same seed, so that every resample is of the same rows.
        let compute =
            |rows: Vec<&'a JudgedRow>| population(rows).compute(&wanted, options, without_interval.clone());
        let first = compute(pairs.iter().map(|pair| pair.first).collect())?;
        let second = compute(pairs.iter().map(|pair| pair.second).collect())?;
        let mut metrics = Vec::new();
        for of_first in first.defined {
            let metric = of_first.metric;
            if let Some(of_second) = second.defined.iter().find(|values| values.metric == metric) {
                let differences = of_first
                    .resampled
                    .iter()
                    .zip(&of_second.resampled)
                    .map(|(first, second)| Some((*second)? - (*first)?))
                    .collect();
                metrics.push(ComparedFigure {
                    metric,
                    rows: of_first.rows,
                    first: of_first.estimate,
                    second: of_second.estimate,
                    difference: of_second.estimate - of_first.estimate,
                    interval: percentiles(differences, options.confidence),
                });
            }
        }
        let same_answer = pairs
            .iter()
            .filter(|pair| pair.first.answer().0 == pair.second.answer().0)
            .count();
        Ok(Self {
            rows: pairs.len(),
            same_answer,
            agreement: same_answer as f64 / pairs.len() as f64,
            mcnemar: mcnemar_of(pairs),
            change: ProbabilityChange::of(pairs),
            metrics,
            undefined: first.undefined,
            without_interval: first.without_interval,
        })
    }
}

fn mcnemar_of(pairs: &[Pair<'_>]) -> Option<McNemar> {
    let judged: Vec<(bool, bool)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.first.is_right()?, pair.second.is_right()?)))
        .collect();
    let only = |wanted: (bool, bool)| judged.iter().filter(|pair| **pair == wanted).count();
    (!judged.is_empty()).then(|| mcnemar(only((true, false)), only((false, true))))
}

impl ProbabilityChange {
    fn of(pairs: &[Pair<'_>]) -> Self {
        let (mut largest, mut at, mut total, mut divergence) = (0.0, None, 0.0, 0.0);
        for pair in pairs {
            let of_row = pair.first.probabilities().iter().zip(pair.second.probabilities());
            let (mut largest_of_row, mut option_of_row) = (0.0, 0);
            for (option, (p, q)) in of_row.enumerate() {
                let change = (p.get() - q.get()).abs();
                if change > largest_of_row {
                    (largest_of_row, option_of_row) = (change, option);
                }
            }
            if largest_of_row > largest {
                largest = largest_of_row;
                at = Some((pair, option_of_row));
            }
            total += largest_of_row;
            divergence += kl_divergence(pair.first.probabilities(), pair.second.probabilities());
        }
        let rows = pairs.len() as f64;
        let of = |row: &JudgedRow, option: usize| row.probabilities().get(option).map_or(0.0, |p| p.get());
        Self {
            largest,
            at: at.map(|(pair, option)| LargestChange {
                id: pair.first.id().to_owned(),
                option,
                first: of(pair.first, option),
                second: of(pair.second, option),
            }),
            mean: total / rows,
            mean_kl_divergence: divergence / rows,
        }
    }
}

/// `sum_k p_k ln(p_k / q_k)`, both divided by their sums, which files round.
fn kl_divergence(first: &[Probability], second: &[Probability]) -> f64 {
    let sum = |row: &[Probability]| row.iter().map(|p| p.get()).sum::<f64>();
    let (of_first, of_second) = (sum(first), sum(second));
    let terms = first.iter().zip(second).map(|(p, q)| {
        let (p, q) = (p.get() / of_first, (q.get() / of_second).max(f64::EPSILON));
        if p > 0.0 { p * (p / q).ln() } else { 0.0 }
    });
    // Of equal rows the sum may round below 0.
    terms.sum::<f64>().max(0.0)
}
