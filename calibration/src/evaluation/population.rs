//! Rows that figures are of, and what is drawn when they are resampled.

use std::collections::BTreeSet;

use super::family::{FAMILIES, Family, Needs};
use super::sample::Sample;
use super::{EvaluationOptions, Figure, Figures, JudgedRow, Metric, PercentileInterval, UndefinedMetric};
use crate::CalibrationError;
use crate::metrics::{Bootstrap, members, quantile};

/// Forecasts that a wide metric may look at over all its resamples.
const WIDE_FORECASTS: usize = 50_000_000;
/// Resamples that it takes at least.
const WIDE_RESAMPLES: usize = 100;
/// Rows that an interval needs where only rows of one group are resampled.
const GROUP_ROWS: usize = 10;

/// Why so many rows of one group have no interval, if they have none.
pub(super) fn few_rows(rows: usize) -> Option<String> {
    (rows < GROUP_ROWS)
        .then(|| format!("the group has {rows} rows, and an interval needs at least {GROUP_ROWS}"))
}

/// Rows, and the units in which they are drawn.
pub(super) struct Population<'a> {
    rows: Vec<&'a JudgedRow>,
    /// The rows from the least confident to the most, so that resamples need hardly be sorted.
    order: Vec<usize>,
    units: Vec<Unit>,
}

/// Rows that are drawn together.
struct Unit {
    rows: Vec<usize>,
    /// Whether they are a group, and not a row of no group.
    group: bool,
    right: usize,
    labelled: usize,
}

impl<'a> Population<'a> {
    /// Rows that are drawn by group; a row without one is drawn alone.
    pub fn by_group(rows: Vec<&'a JudgedRow>) -> Self {
        let units = units_of(&rows);
        Self::new(rows, units)
    }

    /// Rows that are drawn each on its own.
    pub fn by_row(rows: Vec<&'a JudgedRow>) -> Self {
        let units = (0..rows.len()).map(|row| vec![row]).collect();
        Self::new(rows, units)
    }

    fn new(rows: Vec<&'a JudgedRow>, units: Vec<Vec<usize>>) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let confidence = |row: &usize| rows.get(*row).map_or(0.0, |row| row.answer().1.get());
        order.sort_by(|a, b| confidence(a).total_cmp(&confidence(b)));
        let units = units
            .into_iter()
            .map(|members| {
                let of_unit = || members.iter().filter_map(|row| rows.get(*row));
                Unit {
                    group: of_unit().any(|row| row.group().is_some()),
                    right: of_unit().filter(|row| row.is_right() == Some(true)).count(),
                    labelled: of_unit().filter(|row| row.gold_option().is_some()).count(),
                    rows: members,
                }
            })
            .collect();
        Self { rows, order, units }
    }

    /// Number of units that are drawn.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Whether some unit is a group.
    pub fn is_grouped(&self) -> bool {
        self.units.iter().any(|unit| unit.group)
    }

    /// All rows as they are.
    pub fn sample(&self) -> Sample<'a> {
        let mut sample = Sample::default();
        self.rows.iter().for_each(|row| sample.push(row));
        sample.groups = self.groups(0..self.units.len());
        sample
    }

    /// The rows of these units.
    fn draw(&self, units: &[usize], counts: &mut [u32], sample: &mut Sample<'a>) {
        counts.fill(0);
        for row in units
            .iter()
            .filter_map(|unit| self.units.get(*unit))
            .flat_map(|unit| &unit.rows)
        {
            if let Some(count) = counts.get_mut(*row) {
                *count += 1;
            }
        }
        sample.clear();
        for index in &self.order {
            if let (Some(row), Some(count)) = (self.rows.get(*index), counts.get(*index)) {
                (0..*count).for_each(|_| sample.push(row));
            }
        }
        sample.groups = self.groups(units.iter().copied());
    }

    fn groups(&self, units: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
        units
            .filter_map(|unit| self.units.get(unit))
            .filter(|unit| unit.group)
            .map(|unit| (unit.right, unit.labelled))
            .collect()
    }

    /// Calls `each` with every resample, in the order of the seed.
    pub fn resample(
        &self,
        options: &EvaluationOptions,
        mut each: impl FnMut(&Sample<'a>) -> Result<(), CalibrationError>,
    ) -> Result<(), CalibrationError> {
        let mut counts = vec![0; self.rows.len()];
        let mut sample = Sample::default();
        let bootstrap = Bootstrap {
            resamples: options.resamples,
            seed: options.seed,
        };
        bootstrap.draw(self.units.len(), |units| {
            self.draw(units, &mut counts, &mut sample);
            each(&sample)
        })
    }

    /// Why these rows have no interval, if they have none.
    fn without_interval(&self) -> Option<String> {
        match (self.units.len(), self.is_grouped()) {
            (0 | 1, true) => Some("all rows are in one group, and groups are what is resampled".to_owned()),
            (0 | 1, false) => Some("there is one row, and an interval needs at least two".to_owned()),
            _ => None,
        }
    }

    /// The wanted metrics, and their values on the resamples.
    pub fn compute(
        &self,
        wanted: impl Fn(Metric) -> bool,
        options: &EvaluationOptions,
        without_interval: Option<String>,
    ) -> Result<Computed, CalibrationError> {
        let sample = self.sample();
        let mut undefined = Vec::new();
        let mut defined: Vec<(&Family, FamilyValues)> = Vec::new();
        let families = FAMILIES
            .iter()
            .filter(|family| family.metrics.iter().any(|metric| wanted(*metric)));
        for family in families {
            let computed =
                self.rows_of(family.needs, &sample)
                    .and_then(|rows| match (family.compute)(&sample) {
                        Ok(estimates) => Ok(FamilyValues::new(
                            rows,
                            estimates,
                            self.resamples_of(family, options),
                        )),
                        Err(error) => Err(error.to_string()),
                    });
            match computed {
                Ok(values) => defined.push((family, values)),
                Err(reason) => undefined.extend(family.metrics.iter().map(|metric| UndefinedMetric {
                    metric: *metric,
                    reason: reason.clone(),
                })),
            }
        }
        let without_interval = without_interval.or_else(|| self.without_interval());
        if without_interval.is_none() && !defined.is_empty() {
            self.resample(options, |sample| {
                defined
                    .iter_mut()
                    .try_for_each(|(family, values)| values.resample(family, sample))
            })?;
        }
        Ok(Computed {
            defined: defined
                .into_iter()
                .flat_map(|(family, values)| values.by_metric(family))
                .collect(),
            undefined,
            without_interval,
        })
    }

    /// The wanted metrics with their intervals.
    pub fn figures(
        &self,
        wanted: impl Fn(Metric) -> bool,
        options: &EvaluationOptions,
        without_interval: Option<String>,
    ) -> Result<Figures, CalibrationError> {
        let computed = self.compute(wanted, options, without_interval)?;
        let figure = |values: MetricValues| Figure {
            metric: values.metric,
            rows: values.rows,
            estimate: values.estimate,
            interval: percentiles(values.resampled, options.confidence),
        };
        Ok(Figures {
            defined: computed.defined.into_iter().map(figure).collect(),
            undefined: computed.undefined,
            without_interval: computed.without_interval,
        })
    }

    /// How many resamples a family takes.
    fn resamples_of(&self, family: &Family, options: &EvaluationOptions) -> usize {
        if !family.wide {
            return options.resamples;
        }
        let forecasts: usize = self.rows.iter().map(|row| row.probabilities().len()).sum();
        (WIDE_FORECASTS / forecasts.max(1))
            .max(WIDE_RESAMPLES)
            .min(options.resamples)
    }

    /// Number of rows that have what a metric needs, or why it is undefined.
    fn rows_of(&self, needs: Needs, sample: &Sample<'_>) -> Result<usize, String> {
        let some = |rows: usize, else_says: &str| {
            if rows == 0 {
                Err(else_says.to_owned())
            } else {
                Ok(rows)
            }
        };
        let gold = "no row has a gold option";
        match needs {
            Needs::GoldOption => some(sample.labels.len(), gold),
            Needs::Group => some(
                sample.groups.iter().map(|(_, rows)| rows).sum(),
                "no row with a gold option has a group",
            ),
            Needs::OneOptionList => {
                let labelled = || self.rows.iter().filter(|row| row.gold_option().is_some());
                let shapes: BTreeSet<_> = labelled().map(|row| row.shape()).collect();
                let options: BTreeSet<_> = labelled().map(|row| row.probabilities().len()).collect();
                if shapes.len() > 1 {
                    return Err(
                        "rows are of several shapes, and it compares options by their place: see the \
                                figures by shape"
                            .to_owned(),
                    );
                }
                let lists: BTreeSet<_> = labelled().filter_map(|row| row.list()).collect();
                match (options.first(), options.last()) {
                    (Some(fewest), Some(most)) if fewest == most && lists.len() > 1 => {
                        Err("rows have different options, and it compares options by their place".to_owned())
                    }
                    (Some(fewest), Some(most)) if fewest != most => Err(format!(
                        "rows have from {fewest} to {most} options, and it compares options by their place"
                    )),
                    _ => some(sample.labels.len(), gold),
                }
            }
            Needs::Predicate => some(sample.truths.len(), "no predicate row has a gold option"),
            Needs::Score => some(sample.levels.len(), "no score row has a gold option"),
            Needs::Ratings => some(sample.ratings.len(), "no row has ratings"),
            Needs::ScoreRatings => some(sample.level_ratings.len(), "no score row has ratings"),
        }
    }
}

/// The rows of every group, and rows without a group each on its own; in the order of their first row.
fn units_of(rows: &[&JudgedRow]) -> Vec<Vec<usize>> {
    let keys: Vec<(Option<&str>, usize)> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| match row.group() {
            Some(group) => (Some(group), 0),
            None => (None, index),
        })
        .collect();
    members(&keys).unwrap_or_default()
}

/// Metrics on a population and its resamples.
pub(super) struct Computed {
    pub defined: Vec<MetricValues>,
    pub undefined: Vec<UndefinedMetric>,
    pub without_interval: Option<String>,
}

/// A metric on a population and its resamples.
pub(super) struct MetricValues {
    pub metric: Metric,
    pub rows: usize,
    pub estimate: f64,
    /// One per resample, none where the metric is undefined.
    pub resampled: Vec<Option<f64>>,
}

/// The metrics of a family on a population and its resamples.
struct FamilyValues {
    rows: usize,
    estimates: Vec<f64>,
    resampled: Vec<Option<Vec<f64>>>,
    resamples: usize,
}

impl FamilyValues {
    fn new(rows: usize, estimates: Vec<f64>, resamples: usize) -> Self {
        Self {
            rows,
            estimates,
            resampled: Vec::new(),
            resamples,
        }
    }

    fn resample(&mut self, family: &Family, sample: &Sample<'_>) -> Result<(), CalibrationError> {
        if self.resampled.len() == self.resamples {
            return Ok(());
        }
        self.resampled.push(match (family.compute)(sample) {
            Ok(values) => Some(values),
            // Of the drawn rows none may be what the metric is of.
            Err(
                CalibrationError::Undefined { .. }
                | CalibrationError::OneClass(_)
                | CalibrationError::Empty(_),
            ) => None,
            Err(error) => return Err(error),
        });
        Ok(())
    }

    fn by_metric(self, family: &Family) -> impl Iterator<Item = MetricValues> {
        let Self {
            rows,
            estimates,
            resampled,
            ..
        } = self;
        let metrics = family.metrics.iter().zip(estimates).enumerate();
        metrics.map(move |(index, (metric, estimate))| MetricValues {
            metric: *metric,
            rows,
            estimate,
            resampled: resampled
                .iter()
                .map(|values| values.as_ref().and_then(|values| values.get(index)).copied())
                .collect(),
        })
    }
}

/// The middle `confidence` of the values; none of no values.
pub(super) fn percentiles(resampled: Vec<Option<f64>>, confidence: f64) -> Option<PercentileInterval> {
    const PARTS: usize = 1_000_000;
    let resamples = resampled.len();
    let mut values: Vec<f64> = resampled.into_iter().flatten().collect();
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let tail = ((1.0 - confidence) / 2.0 * PARTS as f64).round() as usize;
    Some(PercentileInterval {
        low: quantile(&values, tail, PARTS),
        high: quantile(&values, PARTS.saturating_sub(tail), PARTS),
        resamples: values.len(),
        undefined: resamples - values.len(),
    })
}
