//! All figures of one set of judged rows, and the comparison of two such sets.
//!
//! Every metric is either a figure with its bootstrap interval or named with the reason why these rows leave it
//! undefined. Nothing is NaN, nothing left out silently.

mod comparison;
mod curves;
mod family;
mod figures;
mod judged_row;
mod mcnemar;
mod metric;
mod options;
mod population;
mod sample;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use comparison::{Compared, ComparedFigure, Comparison, GroupCompared, LargestChange, ProbabilityChange};
pub use curves::{ConfidenceBar, Curves, ReliabilityPoint};
pub use figures::{Figure, Figures, PercentileInterval, UndefinedMetric};
pub use judged_row::{Gold, JudgedRow};
pub use mcnemar::{McNemar, McNemarTest, mcnemar};
pub use metric::{Better, Metric};
pub use options::EvaluationOptions;

use crate::{CalibrationError, FormatVersion, Shape, metrics};
use family::OF_GROUPS;
use population::{Population, few_rows};

/// What a resample draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResampledBy {
    /// Rows, each on its own.
    Row,
    /// Groups, each with all its rows; a row without a group is drawn alone.
    Group,
}

/// How many rows have how many options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionCount {
    /// Number of options.
    pub options: usize,
    /// Number of rows with that many.
    pub rows: usize,
}

/// The figures of one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeFigures {
    /// The shape.
    pub shape: Shape,
    /// Number of rows of it.
    pub rows: usize,
    /// All metrics on them.
    pub figures: Figures,
}

/// The figures of one group: accuracy, negative log-likelihood, multi-class Brier score and expected calibration error
/// over 15 bins of equal mass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupFigures {
    /// The group.
    pub group: String,
    /// Number of its rows.
    pub rows: usize,
    /// The metrics; intervals are over the rows of the group, each drawn on its own, from 10 rows up.
    pub figures: Figures,
}

/// All figures of one set of judged rows. JSON, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The version of its JSON form.
    pub version: FormatVersion<1>,
    /// How its intervals were made.
    pub options: EvaluationOptions,
    /// Number of rows.
    pub rows: usize,
    /// Rows with a gold option, which most metrics are of.
    pub rows_with_gold_option: usize,
    /// Rows with ratings.
    pub rows_with_ratings: usize,
    /// Rows whose ratings have several leading options: they count in the metrics of ratings only.
    pub rows_with_tied_ratings: usize,
    /// Rows whose gold option was given a probability below 2.2e-16, which counts as that in the negative
    /// log-likelihood: where there are any, the figure is a floor.
    pub nll_clipped_rows: usize,
    /// Rows by number of options, from few options to many.
    pub option_counts: Vec<OptionCount>,
    /// What resamples draw.
    pub resampled_by: ResampledBy,
    /// How many of those there are; [`Self::few_resampled`] tells whether they are few.
    pub resampled_units: usize,
    /// All metrics on all rows.
    pub overall: Figures,
    /// All metrics by shape of the question.
    pub by_shape: Vec<ShapeFigures>,
    /// Four metrics by group, groups in the order of their first row; rows without a group are in none.
    pub by_group: Vec<GroupFigures>,
    /// The numbers of the plots.
    pub curves: Curves,
}

/// Units below which a bootstrap interval is a rough guess, as a rule too narrow: Cameron, Gelbach and Miller (2008),
/// "Bootstrap-based improvements for inference with clustered errors", see it fail with 5 to 30 clusters.
const ENOUGH_UNITS: usize = 30;

impl Evaluation {
    /// What to know of the intervals where few units are resampled; none where they are enough, or there are no intervals.
    pub fn few_resampled(&self) -> Option<String> {
        let units = self.resampled_units;
        let unit = match self.resampled_by {
            ResampledBy::Group => "groups as wholes",
            ResampledBy::Row => "rows",
        };
        let has_intervals = self.overall.without_interval.is_none();
        (has_intervals && units < ENOUGH_UNITS).then(|| {
            format!(
                "The intervals resample {units} {unit}: with fewer than {ENOUGH_UNITS} they are rough, as a rule too narrow"
            )
        })
    }

    /// All figures of these rows.
    ///
    /// # Errors
    /// No rows, no resamples, or a confidence that is not between 0 and 1.
    pub fn of(rows: &[JudgedRow], options: &EvaluationOptions) -> Result<Self, CalibrationError> {
        options.check()?;
        if rows.is_empty() {
            return Err(CalibrationError::Empty("rows"));
        }
        let population = Population::by_group(rows.iter().collect());
        let sample = population.sample();
        let overall = population.figures(|_| true, options, None)?;
        let with_ratings = rows.iter().filter(|row| row.ratings().is_some());
        Ok(Self {
            version: FormatVersion,
            options: *options,
            rows: rows.len(),
            rows_with_gold_option: sample.labels.len(),
            rows_with_ratings: sample.ratings.len(),
            rows_with_tied_ratings: with_ratings.filter(|row| row.gold_option().is_none()).count(),
            nll_clipped_rows: if sample.labels.is_empty() {
                0
            } else {
                metrics::nll_clipped_rows(&sample.labelled, &sample.labels)?
            },
            option_counts: option_counts(rows),
            resampled_by: if population.is_grouped() {
                ResampledBy::Group
            } else {
                ResampledBy::Row
            },
            resampled_units: population.units(),
            by_shape: by_shape(rows, &overall, options)?,
            by_group: by_group(rows, options)?,
            curves: Curves::of(&population, options)?,
            overall,
        })
    }
}

fn option_counts(rows: &[JudgedRow]) -> Vec<OptionCount> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.probabilities().len()).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(options, rows)| OptionCount { options, rows })
        .collect()
}

fn by_shape(
    rows: &[JudgedRow],
    overall: &Figures,
    options: &EvaluationOptions,
) -> Result<Vec<ShapeFigures>, CalibrationError> {
    let mut shapes: BTreeMap<Shape, Vec<&JudgedRow>> = BTreeMap::new();
    for row in rows {
        shapes.entry(row.shape()).or_default().push(row);
    }
    let only = shapes.len() == 1;
    shapes
        .into_iter()
        .map(|(shape, members)| {
            Ok(ShapeFigures {
                shape,
                rows: members.len(),
                figures: if only {
                    overall.clone()
                } else {
                    Population::by_group(members).figures(|_| true, options, None)?
                },
            })
        })
        .collect()
}

fn by_group(rows: &[JudgedRow], options: &EvaluationOptions) -> Result<Vec<GroupFigures>, CalibrationError> {
    let of_group = |(group, members): (&str, Vec<&JudgedRow>)| {
        let rows = members.len();
        let wanted = |metric| OF_GROUPS.contains(&metric);
        Ok(GroupFigures {
            group: group.to_owned(),
            rows,
            figures: Population::by_row(members).figures(wanted, options, few_rows(rows))?,
        })
    };
    groups_of(rows.iter().map(|row| (row.group(), row)))
        .into_iter()
        .map(of_group)
        .collect()
}

/// The members of every group, in the order of the groups' first members; those without a group are in none.
fn groups_of<'a, T>(members: impl Iterator<Item = (Option<&'a str>, T)>) -> Vec<(&'a str, Vec<T>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<(&str, Vec<T>)> = Vec::new();
    for (group, member) in members {
        let Some(group) = group else { continue };
        let place = *places.entry(group).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, members)) => members.push(member),
            None => groups.push((group, vec![member])),
        }
    }
    groups
}
