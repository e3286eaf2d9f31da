//! Temperature scaling.

use serde::{Deserialize, Serialize};

use super::optimise::root;
use super::softmax::{log_sum_exp, scaled_softmax};
use crate::{CalibrationError, ScoredRow};

/// One number that all scores are divided by: `softmax(s / T)` (Guo et al. 2017, section 4.2). T above 1 makes answers
/// less sure, below 1 surer; the order of the options never changes.
///
/// JSON: `{"temperature": 1.7}`, and `"bound": "lowest" | "highest"` when the fit ended at a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Temperature {
    temperature: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
}

/// Which end of the range of temperatures a fit ended at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The rows want surer answers than [`Temperature::LOWEST`] gives: every row's gold option has its highest score.
    Lowest,
    /// The rows want less sure answers than [`Temperature::HIGHEST`] gives: the scores say nothing, or the wrong thing.
    Highest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    temperature: f64,
    #[serde(default)]
    bound: Option<Bound>,
}

impl TryFrom<Stored> for Temperature {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        Ok(Self {
            bound: stored.bound,
            ..Self::new(stored.temperature)?
        })
    }
}

impl Temperature {
    /// The lowest temperature that a fit gives.
    pub const LOWEST: f64 = 0.01;
    /// The highest temperature that a fit gives.
    pub const HIGHEST: f64 = 100.0;
    /// The temperature that changes nothing.
    pub const ONE: Temperature = Temperature {
        temperature: 1.0,
        bound: None,
    };

    /// A temperature from 0.01 to 100 that was found elsewhere.
    ///
    /// # Errors
    /// It is outside of that range.
    pub fn new(temperature: f64) -> Result<Self, CalibrationError> {
        if (Self::LOWEST..=Self::HIGHEST).contains(&temperature) {
            Ok(Self {
                temperature,
                bound: None,
            })
        } else {
            Err(CalibrationError::Setting {
                name: "temperature",
                value: temperature,
                must: "from 0.01 to 100",
            })
        }
    }

    /// The temperature from 0.01 to 100 at which the rows' mean NLL is lowest; rows may have different numbers of
    /// options.
    ///
    /// The NLL is convex in 1/T; its slope, `mean(sum_i p_i s_i - s_gold)`, is brought to 0 by Brent's method. Where it
    /// has one sign over the whole range the result is that end of the range and says so ([`Temperature::bound`]):
    /// rows that are all answered right with certainty would want T = 0, scores that say nothing T = infinity. Rows whose
    /// scores are all equal, or that have one option, say nothing about T; when no row says anything, T is 1.
    ///
    /// netcal's `TemperatureScaling` fits 1/T without bounds; within them both agree.
    ///
    /// # Errors
    /// No rows.
    pub fn fit(rows: &[ScoredRow]) -> Result<Self, CalibrationError> {
        Self::fit_to(rows.iter())
    }

    /// The same for rows that are picked from a list.
    pub(crate) fn fit_to<'a>(
        rows: impl Iterator<Item = &'a ScoredRow> + Clone,
    ) -> Result<Self, CalibrationError> {
        let count = rows.clone().count();
        if count == 0 {
            return Err(CalibrationError::Empty("rows"));
        }
        // d NLL / d(1/T), rows summed.
        let slope = |ln_t: f64| -> f64 { rows.clone().map(|row| row_slope(row, (-ln_t).exp())).sum() };
        let (low, high) = (Self::LOWEST.ln(), Self::HIGHEST.ln());
        let (at_low, at_high) = (slope(low), slope(high));
        let informative = |row: &ScoredRow| row.scores().windows(2).any(|pair| pair[0] != pair[1]);
        let at = |temperature, bound| Self { temperature, bound };
        if !rows.clone().any(informative) {
            Ok(Self::ONE)
        } else if at_low <= 0.0 {
            // Lower temperatures still help, or have brought the loss to 0.
            Ok(at(Self::LOWEST, Some(Bound::Lowest)))
        } else if at_high >= 0.0 {
            Ok(at(Self::HIGHEST, Some(Bound::Highest)))
        } else {
            let ln_t = root("temperature", low, high, |ln_t| slope(ln_t) / count as f64)?;
            Ok(at(ln_t.exp().clamp(Self::LOWEST, Self::HIGHEST), None))
        }
    }

    /// The temperature.
    pub fn get(&self) -> f64 {
        self.temperature
    }

    /// Which bound the fit ended at, if it did.
    pub fn bound(&self) -> Option<Bound> {
        self.bound
    }

    /// `softmax(s / T)`.
    pub(crate) fn map(&self, scores: &[f32]) -> Vec<f64> {
        scaled_softmax(scores, 1.0 / self.temperature)
    }

    /// Mean NLL of rows at this temperature, in nats; without the floor of [`crate::metrics::nll`].
    ///
    /// # Errors
    /// No rows.
    pub fn nll(&self, rows: &[ScoredRow]) -> Result<f64, CalibrationError> {
        if rows.is_empty() {
            return Err(CalibrationError::Empty("rows"));
        }
        let total: f64 = rows
            .iter()
            .map(|row| {
                let scaled: Vec<f64> = row
                    .scores()
                    .iter()
                    .map(|score| f64::from(*score) / self.temperature)
                    .collect();
                let gold = scaled.get(row.label()).copied().unwrap_or_default();
                log_sum_exp(&scaled) - gold
            })
            .sum();
        Ok(total / rows.len() as f64)
    }
}

/// `sum_i p_i s_i - s_gold` with `p = softmax(beta s)`, scores counted from the gold one so that large ones do not cancel.
fn row_slope(row: &ScoredRow, beta: f64) -> f64 {
    let gold = row.scores().get(row.label()).copied().unwrap_or_default();
    scaled_softmax(row.scores(), beta)
        .iter()
        .zip(row.scores())
        .map(|(p, score)| p * (f64::from(*score) - f64::from(gold)))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Shape;

    fn row(scores: &[f32], label: usize) -> ScoredRow {
        ScoredRow::new(scores.to_vec(), label, Shape::Choice).unwrap()
    }

    #[test]
    fn by_hand() {
        // Three of four rows right at a margin of 1: p = 3/4 where exp(1/T) = 3.
        let rows = [
            row(&[1.0, 0.0], 0),
            row(&[1.0, 0.0], 0),
            row(&[0.0, 1.0], 1),
            row(&[0.0, 1.0], 0),
        ];
        let found = Temperature::fit(&rows).unwrap();
        assert!((found.get() - 1.0 / 3.0_f64.ln()).abs() < 1e-12, "{found:?}");
        assert_eq!(found.bound(), None);
        // A shift of a row and a row with one option change nothing.
        let shifted = [
            row(&[101.0, 100.0], 0),
            row(&[1.0, 0.0], 0),
            row(&[0.0, 1.0], 1),
            row(&[0.0, 1.0], 0),
            row(&[7.0], 0),
        ];
        let same = Temperature::fit(&shifted).unwrap();
        assert!((found.get() - same.get()).abs() < 1e-12);
    }

    #[test]
    fn degenerate_rows_give_bounds() {
        let bound = |rows: &[ScoredRow]| {
            let fitted = Temperature::fit(rows).unwrap();
            (fitted.get(), fitted.bound())
        };
        assert_eq!(bound(&[row(&[2.0, 0.0, 1.0], 0)]), (0.01, Some(Bound::Lowest)));
        assert_eq!(bound(&[row(&[2.0, 0.0, 1.0], 1)]), (100.0, Some(Bound::Highest)));
        assert_eq!(bound(&[row(&[3e38, -3e38], 0)]), (0.01, Some(Bound::Lowest)));
        assert_eq!(bound(&[row(&[3e38, -3e38], 1)]), (100.0, Some(Bound::Highest)));
        assert_eq!(bound(&[row(&[2.0, 2.0], 1), row(&[5.0], 0)]), (1.0, None));
        assert_eq!(Temperature::fit(&[]), Err(CalibrationError::Empty("rows")));
    }

    #[test]
    fn stored_form() {
        let json = serde_json::to_string(&Temperature::new(1.5).unwrap()).unwrap();
        assert_eq!(json, r#"{"temperature":1.5}"#);
        for bad in [
            r#"{"temperature":0}"#,
            r#"{"temperature":-1}"#,
            r#"{"temperature":1e9}"#,
            r#"{"temperature":null}"#,
            r#"{"temperature":1,"bias":2}"#,
        ] {
            assert!(serde_json::from_str::<Temperature>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_other_temperature_is_better(
            rows in prop::collection::vec((prop::collection::vec(-20.0_f32..20.0, 1..6), any::<prop::sample::Index>()), 1..40),
        ) {
            let rows: Vec<ScoredRow> = rows.into_iter().map(|(scores, label)| {
                let label = label.index(scores.len());
                ScoredRow::new(scores, label, Shape::Choice).unwrap()
            }).collect();
            let best = Temperature::fit(&rows).unwrap();
            let nll = best.nll(&rows).unwrap();
            prop_assert!(nll.is_finite());
            for other in [0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, best.get() * 1.01, best.get() / 1.01] {
                if let Ok(other) = Temperature::new(other) {
                    prop_assert!(nll <= other.nll(&rows).unwrap() + 1e-12);
                }
            }
        }
    }
}
