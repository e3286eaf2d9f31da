//! Bootstrap intervals of any metric.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use super::macro_over_groups::members;
use super::quantile::quantile;
use crate::CalibrationError;

/// How to resample.
///
/// ```
/// use assize_calibration::{Probability, metrics::{Bootstrap, accuracy, take}};
/// # fn main() -> Result<(), assize_calibration::CalibrationError> {
/// let right = vec![Probability::new(0.75)?, Probability::new(0.25)?];
/// let rows = vec![right; 20];
/// let labels: Vec<usize> = (0..20).map(|row| usize::from(row % 4 == 0)).collect();
/// let interval = Bootstrap::default().by_row(rows.len(), |drawn| {
///     accuracy(&take(&rows, drawn), &take(&labels, drawn))
/// })?;
/// assert_eq!(interval.estimate, 0.75);
/// assert!(interval.low < 0.75 && 0.75 < interval.high);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Seed of the draws: the same seed gives the same interval, on every machine.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 2,000 resamples, seed 0.
    fn default() -> Self {
        Self {
            resamples: 2000,
            seed: 0,
        }
    }
}

/// A metric and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BootstrapInterval {
    /// The metric on the rows as they are.
    pub estimate: f64,
    /// 2.5 % quantile over the resamples.
    pub low: f64,
    /// 97.5 % quantile over the resamples.
    pub high: f64,
    /// Resamples that the quantiles are of.
    pub resamples: usize,
    /// Resamples left out because the metric is undefined on them, such as AUROC on one class. Many of them mean that
    /// there are too few rows for an interval.
    pub undefined: usize,
}

impl Bootstrap {
    /// Percentile interval with rows drawn as independent: each resample draws as many rows as there are, with
    /// replacement (Efron 1979, "Bootstrap methods: another look at the jackknife"; Efron and Tibshirani 1993, "An
    /// introduction to the bootstrap", section 13.3). `metric` gets the indices of the drawn rows.
    ///
    /// A calibration error is biased upwards in small samples and more so in resamples, which repeat rows: the interval
    /// of one near 0 may lie above its estimate. It then says that the rows are too few, not that the estimate is wrong.
    ///
    /// # Errors
    /// No rows or no resamples; fewer than two rows, where the interval would have no width and mean nothing; a metric
    /// that fails on the rows as they are, or on every resample.
    pub fn by_row(
        &self,
        rows: usize,
        metric: impl FnMut(&[usize]) -> Result<f64, CalibrationError>,
    ) -> Result<BootstrapInterval, CalibrationError> {
        if rows == 0 {
            return Err(CalibrationError::Empty("rows"));
        }
        self.of(rows, &(0..rows).map(|row| vec![row]).collect::<Vec<_>>(), metric)
    }

    /// Percentile interval with groups drawn whole: each resample draws as many groups as there are, with replacement,
    /// and takes all their rows (the cluster bootstrap; Davison and Hinkley 1997, "Bootstrap methods and their
    /// application", section 3.8). For rows that are not independent, such as several questions about one state: drawn
    /// as if they were, they give too narrow an interval. With every row a group of its own it is [`Self::by_row`].
    ///
    /// # Errors
    /// As for [`Self::by_row`], with groups for rows.
    pub fn by_group<G: Ord>(
        &self,
        groups: &[G],
        metric: impl FnMut(&[usize]) -> Result<f64, CalibrationError>,
    ) -> Result<BootstrapInterval, CalibrationError> {
        self.of(groups.len(), &members(groups)?, metric)
    }

    fn of(
        &self,
        rows: usize,
        units: &[Vec<usize>],
        mut metric: impl FnMut(&[usize]) -> Result<f64, CalibrationError>,
    ) -> Result<BootstrapInterval, CalibrationError> {
        if self.resamples == 0 {
            return Err(CalibrationError::Empty("resamples"));
        }
        let estimate = metric(&(0..rows).collect::<Vec<_>>())?;
        if units.len() < 2 {
            return Err(CalibrationError::Undefined {
                metric: "a bootstrap interval",
                needs: "at least two rows, or two groups of rows",
            });
        }
        let mut values = Vec::new();
        let mut drawn = Vec::with_capacity(rows);
        self.draw(units.len(), |chosen| {
            drawn.clear();
            drawn.extend(chosen.iter().filter_map(|unit| units.get(*unit)).flatten());
            match metric(&drawn) {
                Ok(value) => values.push(value),
                Err(CalibrationError::Undefined { .. } | CalibrationError::OneClass(_)) => {}
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        if values.is_empty() {
            return Err(CalibrationError::Undefined {
                metric: "a bootstrap interval",
                needs: "resamples on which the metric is defined",
            });
        }
        values.sort_by(f64::total_cmp);
        Ok(BootstrapInterval {
            estimate,
            low: quantile(&values, 25, 1000),
            high: quantile(&values, 975, 1000),
            resamples: values.len(),
            undefined: self.resamples - values.len(),
        })
    }

    /// Calls `each` with as many of the units as there are, drawn with replacement, once per resample.
    pub(crate) fn draw(
        &self,
        units: usize,
        mut each: impl FnMut(&[usize]) -> Result<(), CalibrationError>,
    ) -> Result<(), CalibrationError> {
        let mut generator = ChaCha12Rng::seed_from_u64(self.seed);
        let mut chosen = vec![0; units];
        for _ in 0..self.resamples {
            for unit in &mut chosen {
                // As u64: a usize draws differently where it has another width.
                *unit = generator.random_range(0..units as u64) as usize;
            }
            each(&chosen)?;
        }
        Ok(())
    }
}

/// The items at these indices, in their order; indices out of range are left out. For the metric of a bootstrap: of
/// rows behind references, only the references are copied.
pub fn take<T: Clone>(items: &[T], indices: &[usize]) -> Vec<T> {
    indices
        .iter()
        .filter_map(|index| items.get(*index))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::close;
    use super::super::{auroc, average_precision};
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn mean_of<'a>(values: &'a [f64]) -> impl FnMut(&[usize]) -> Result<f64, CalibrationError> + 'a {
        |drawn| Ok(mean(&take(values, drawn)))
    }

    #[test]
    fn a_mean_has_the_normal_interval() {
        // 0, 1, ..., 399: standard error sqrt((400^2 - 1) / 12) / sqrt(400) = 5.7735.
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        let found = Bootstrap::default()
            .by_row(values.len(), mean_of(&values))
            .unwrap();
        close(found.estimate, 199.5);
        let half = 1.96 * 5.7735;
        assert!((found.low - (199.5 - half)).abs() < 1.0, "{found:?}");
        assert!((found.high - (199.5 + half)).abs() < 1.0, "{found:?}");
        assert_eq!((found.resamples, found.undefined), (2000, 0));
    }

    #[test]
    fn the_seed_decides() {
        let values: Vec<f64> = (0..50).map(f64::from).collect();
        let of_seed = |seed| {
            let bootstrap = Bootstrap { resamples: 200, seed };
            bootstrap.by_row(values.len(), mean_of(&values)).unwrap()
        };
        assert_eq!(of_seed(7), of_seed(7));
        assert_ne!(of_seed(7), of_seed(8));
    }

    #[test]
    fn groups_are_drawn_whole() {
        // Twenty groups of twenty equal rows are worth twenty rows: the interval is sqrt(20) times as wide.
        let values: Vec<f64> = (0..400).map(|row| f64::from(row / 20)).collect();
        let groups: Vec<usize> = (0..400).map(|row| row / 20).collect();
        let width = |interval: BootstrapInterval| interval.high - interval.low;
        let by_row = Bootstrap::default()
            .by_row(values.len(), mean_of(&values))
            .unwrap();
        let by_group = Bootstrap::default().by_group(&groups, mean_of(&values)).unwrap();
        let ratio = width(by_group) / width(by_row);
        assert!((ratio / 20.0_f64.sqrt() - 1.0).abs() < 0.1, "{ratio}");
        // Groups of one row are rows.
        let single: Vec<usize> = (0..400).rev().collect();
        assert_eq!(
            Bootstrap::default().by_group(&single, mean_of(&values)).unwrap(),
            by_row
        );
    }

    #[test]
    fn undefined_resamples_are_counted() {
        let scores = [0.1, 0.4, 0.35];
        let labels = [false, true, false];
        let found = Bootstrap::default()
            .by_row(3, |drawn| auroc(&take(&scores, drawn), &take(&labels, drawn)))
            .unwrap();
        // All rows false 8 in 27 times, all true 1 in 27 times.
        assert_eq!(found.resamples + found.undefined, 2000);
        let share = found.undefined as f64 / 2000.0;
        assert!((share - 1.0 / 3.0).abs() < 0.05, "{share}");
    }

    #[test]
    fn bad_input_is_refused() {
        let bootstrap = Bootstrap::default();
        let undefined = |found| matches!(found, Err(CalibrationError::Undefined { .. }));
        assert_eq!(
            bootstrap.by_row(0, |_| Ok(0.0)),
            Err(CalibrationError::Empty("rows"))
        );
        assert!(bootstrap.by_group::<u8>(&[], |_| Ok(0.0)).is_err());
        assert!(undefined(bootstrap.by_row(1, |_| Ok(0.0))));
        assert!(undefined(bootstrap.by_group(&["a"; 5], |_| Ok(0.0))));
        assert!(undefined(
            bootstrap.by_row(2, |_| average_precision(&[0.5], &[false]))
        ));
        let none = Bootstrap {
            resamples: 0,
            seed: 0,
        };
        assert_eq!(
            none.by_row(2, |_| Ok(0.0)),
            Err(CalibrationError::Empty("resamples"))
        );
    }
}
