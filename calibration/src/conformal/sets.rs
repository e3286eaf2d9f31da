//! Prediction sets by LAC and APS.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::conformal_quantile;
use crate::calibrators::first_highest;
use crate::metrics::check;
use crate::{CalibrationError, FormatVersion, Probability};

/// How strange an option is to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Least ambiguous set-valued classifier: `1 - p` (Sadinle, Lei and Wasserman 2019). The smallest sets on average; a set
    /// may be empty. MAPIE's `LACConformityScore`.
    Lac,
    /// Adaptive prediction sets: the sum of the probabilities down to the option, it included (Romano, Sesia and Candes
    /// 2020, without their random draw). A set is the most probable options while their sum is at most the quantile, and
    /// always the most probable one. With few options coverage is well above the wish, since sums go in large steps. MAPIE
    /// draws at random when it calibrates whatever it is asked for, and has no such form; its `include_last_label=False`
    /// forms sets likewise. Angelopoulos and Bates's text also includes the option that crosses the quantile, which is not
    /// needed for the promise.
    Aps,
    /// Adaptive prediction sets with their random draw u: the sum down to the option less `u p`. Coverage is as wished, not
    /// above; a set may be empty. MAPIE's `APSConformityScore` with `include_last_label="randomized"`.
    ApsRandomised,
}

/// Calibrated prediction sets.
///
/// JSON, version 1: the fields of this struct.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionSets {
    /// The version of this form.
    pub version: FormatVersion<1>,
    /// How strange an option is.
    pub rule: Rule,
    /// The coverage that is promised.
    pub coverage: Probability,
    /// Options up to this strangeness belong to a set; none when there were too few rows for the wish, and then every set
    /// is all options.
    pub quantile: Option<f64>,
    /// How many rows it was calibrated on.
    pub rows: usize,
}

/// By how much sums of probabilities may be off by rounding.
const ROUNDING: f64 = 1e-12;

impl PredictionSets {
    /// Calibrates on rows of probabilities and their gold options; rows may have different numbers of options. The
    /// probabilities must come from a calibrator that has not seen these rows.
    ///
    /// `seed` draws the u of [`Rule::ApsRandomised`], and is not used by the other rules.
    ///
    /// # Errors
    /// No rows, unequal lengths, a label out of range, or a coverage that is not between 0 and 1.
    pub fn fit(
        rows: &[Vec<Probability>],
        labels: &[usize],
        rule: Rule,
        coverage: f64,
        seed: u64,
    ) -> Result<Self, CalibrationError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let draws: Vec<f64> = rows.iter().map(|_| random.random::<f64>()).collect();
        Self::fit_drawn(rows, labels, rule, coverage, &draws)
    }

    /// The same with a u from 0 to 1 given for each row.
    ///
    /// # Errors
    /// As [`PredictionSets::fit`], or draws that are not one number from 0 to 1 per row.
    pub fn fit_drawn(
        rows: &[Vec<Probability>],
        labels: &[usize],
        rule: Rule,
        coverage: f64,
        draws: &[f64],
    ) -> Result<Self, CalibrationError> {
        check(rows, labels)?;
        if draws.len() != rows.len() {
            return Err(CalibrationError::Lengths {
                predictions: rows.len(),
                labels: draws.len(),
            });
        }
        let mut scores = Vec::with_capacity(rows.len());
        for ((row, label), u) in rows.iter().zip(labels).zip(draws) {
            check_draw(*u)?;
            scores.extend(strangeness(row, rule, *u).get(*label).copied());
        }
        Ok(Self {
            version: FormatVersion,
            rule,
            coverage: Probability::new(coverage)?,
            quantile: conformal_quantile(&scores, coverage)?,
            rows: rows.len(),
        })
    }

    /// The options of one row's set, in the caller's order. `u`, a fresh draw from 0 to 1 per row, is used by
    /// [`Rule::ApsRandomised`] only.
    ///
    /// # Errors
    /// No options, or a u outside of 0 to 1.
    pub fn set(&self, row: &[Probability], u: f64) -> Result<Vec<usize>, CalibrationError> {
        if row.is_empty() {
            return Err(CalibrationError::Empty("options"));
        }
        check_draw(u)?;
        let Some(quantile) = self.quantile else {
            return Ok((0..row.len()).collect());
        };
        let scores = strangeness(row, self.rule, u);
        let top = first_highest(row);
        let belongs = |option: usize, score: f64| {
            score <= quantile + ROUNDING || (self.rule == Rule::Aps && option == top)
        };
        Ok(scores
            .iter()
            .enumerate()
            .filter(|(option, score)| belongs(*option, **score))
            .map(|(option, _)| option)
            .collect())
    }
}

fn check_draw(u: f64) -> Result<(), CalibrationError> {
    if (0.0..=1.0).contains(&u) {
        Ok(())
    } else {
        Err(CalibrationError::Setting {
            name: "u",
            value: u,
            must: "from 0 to 1",
        })
    }
}

/// The strangeness of each option; of equally probable ones the first is summed first.
fn strangeness(row: &[Probability], rule: Rule, u: f64) -> Vec<f64> {
    let own = match rule {
        Rule::Lac => return row.iter().map(|p| 1.0 - p.get()).collect(),
        Rule::Aps => 0.0,
        Rule::ApsRandomised => u,
    };
    let mut order: Vec<(usize, f64)> = row.iter().map(|p| p.get()).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut scores = vec![0.0; row.len()];
    let mut sum = 0.0;
    for (option, p) in order {
        sum += p;
        if let Some(score) = scores.get_mut(option) {
            *score = sum - own * p;
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example::probabilities as row;

    #[test]
    fn by_hand() {
        let rows: Vec<_> = [0.9, 0.8, 0.7, 0.6].iter().map(|p| row(&[*p, 1.0 - p])).collect();
        // Strangeness 0.1, 0.2, 0.3, 0.4: (4 + 1) * 0.6 is the third.
        let lac = PredictionSets::fit(&rows, &[0; 4], Rule::Lac, 0.6, 0).unwrap();
        assert!((lac.quantile.unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(lac.set(&row(&[0.1, 0.7, 0.2]), 0.0).unwrap(), [1]);
        assert_eq!(lac.set(&row(&[0.4, 0.3, 0.3]), 0.0).unwrap(), [] as [usize; 0]);
        // Sums: 0.9, 0.8, 0.7, 0.6: the third smallest is 0.8.
        let aps = PredictionSets::fit(&rows, &[0; 4], Rule::Aps, 0.6, 0).unwrap();
        assert_eq!(aps.quantile, Some(0.8));
        assert_eq!(aps.set(&row(&[0.2, 0.5, 0.3]), 0.0).unwrap(), [1, 2]);
        assert_eq!(aps.set(&row(&[0.2, 0.45, 0.35]), 0.0).unwrap(), [1, 2]);
        assert_eq!(aps.set(&row(&[0.1, 0.45, 0.45]), 0.0).unwrap(), [1]);
        assert_eq!(aps.set(&row(&[0.02, 0.95, 0.03]), 0.0).unwrap(), [1]);
        // With u = 1 an option's own probability is not counted.
        let drawn =
            PredictionSets::fit_drawn(&rows, &[0, 0, 0, 1], Rule::ApsRandomised, 0.6, &[0.5; 4]).unwrap();
        // 0.45, 0.4, 0.35, 0.6 + 0.2.
        assert!((drawn.quantile.unwrap() - 0.45).abs() < 1e-12);
        assert_eq!(drawn.set(&row(&[0.2, 0.5, 0.3]), 1.0).unwrap(), [1]);
        assert_eq!(drawn.set(&row(&[0.2, 0.5, 0.3]), 0.0).unwrap(), [] as [usize; 0]);
        // Too few rows.
        let all = PredictionSets::fit(&rows, &[0; 4], Rule::Lac, 0.9, 0).unwrap();
        assert_eq!(all.quantile, None);
        assert_eq!(all.set(&row(&[1.0, 0.0]), 0.0).unwrap(), [0, 1]);
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<PredictionSets>(&json).unwrap(), all);
    }

    #[test]
    fn bad_input_is_refused() {
        let rows = [row(&[0.5, 0.5])];
        let fit = |labels: &[usize], coverage, draws: &[f64]| {
            PredictionSets::fit_drawn(&rows, labels, Rule::Aps, coverage, draws)
        };
        assert!(fit(&[0], 0.5, &[0.5]).is_ok());
        assert!(fit(&[2], 0.5, &[0.5]).is_err());
        assert!(fit(&[0, 1], 0.5, &[0.5]).is_err());
        assert!(fit(&[0], 1.0, &[0.5]).is_err());
        assert!(fit(&[0], f64::NAN, &[0.5]).is_err());
        assert!(fit(&[0], 0.5, &[1.5]).is_err());
        assert!(fit(&[0], 0.5, &[]).is_err());
        let sets = fit(&[0], 0.5, &[0.5]).unwrap();
        assert!(sets.set(&[], 0.5).is_err());
        assert!(sets.set(&rows[0], f64::NAN).is_err());
    }
}
