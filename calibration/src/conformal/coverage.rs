//! Measured coverage of prediction sets.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::PredictionSets;
use crate::metrics::check;
use crate::thresholds::{Interval, clopper_pearson};
use crate::{CalibrationError, Probability};

/// How often sets held the gold option, and how large they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// How many rows were measured.
    pub rows: usize,
    /// The share whose set holds the gold option, with a 95 % Clopper-Pearson interval.
    pub covered: Interval,
    /// The mean number of options in a set.
    pub mean_size: f64,
    /// How many sets have 0, 1, 2, ... options.
    pub sizes: Vec<usize>,
}

impl PredictionSets {
    /// Measures coverage on labelled rows other than those it was calibrated on; `seed` draws the u of each row.
    ///
    /// # Errors
    /// No rows, unequal lengths, or a label out of range.
    pub fn coverage(
        &self,
        rows: &[Vec<Probability>],
        labels: &[usize],
        seed: u64,
    ) -> Result<Coverage, CalibrationError> {
        check(rows, labels)?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut sizes = Vec::new();
        let (mut covered, mut total) = (0, 0);
        for (row, label) in rows.iter().zip(labels) {
            let set = self.set(row, random.random::<f64>())?;
            covered += usize::from(set.contains(label));
            total += set.len();
            if sizes.len() <= set.len() {
                sizes.resize(set.len() + 1, 0);
            }
            if let Some(count) = sizes.get_mut(set.len()) {
                *count += 1;
            }
        }
        Ok(Coverage {
            rows: rows.len(),
            covered: clopper_pearson(covered, rows.len(), 0.95)?,
            mean_size: total as f64 / rows.len() as f64,
            sizes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;

    #[test]
    fn by_hand() {
        let row = |p: f64| vec![Probability::new(p).unwrap(), Probability::new(1.0 - p).unwrap()];
        let sets = PredictionSets {
            version: Default::default(),
            rule: Rule::Lac,
            coverage: Probability::new(0.9).unwrap(),
            quantile: Some(0.4),
            rows: 9,
        };
        let rows = [row(0.9), row(0.7), row(0.5), row(0.2)];
        let found = sets.coverage(&rows, &[0, 1, 0, 1], 0).unwrap();
        assert_eq!((found.rows, found.covered.rate, found.mean_size), (4, 0.5, 0.75));
        assert_eq!(found.sizes, [1, 3]);
        assert!(sets.coverage(&rows, &[0], 0).is_err());
    }
}
