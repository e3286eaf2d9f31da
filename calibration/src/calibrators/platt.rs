//! Platt scaling.

use serde::{Deserialize, Serialize};

use super::optimise::minimise;
use super::predicate::{Logistic, Targets, logit, margin, margins, pair, separable, standardised};
use crate::{CalibrationError, ScoredRow};

const WHAT: &str = "Platt scaling";

/// Platt scaling of a predicate: `p(true) = 1 / (1 + exp(-(slope d + intercept)))` with `d = s_true - s_false` (Platt
/// 1999, whose A and B are the negatives).
///
/// The intercept moves the point where true becomes more probable, so the argmax may change: see
/// [`Argmax`](super::Argmax).
///
/// JSON: `{"slope": 0.8, "intercept": -0.2, "targets": "smoothed"}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Platt {
    slope: f64,
    intercept: f64,
    targets: Targets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    slope: f64,
    intercept: f64,
    targets: Targets,
}

impl TryFrom<Stored> for Platt {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        if stored.slope.is_finite() && stored.intercept.is_finite() {
            Ok(Self {
                slope: stored.slope,
                intercept: stored.intercept,
                targets: stored.targets,
            })
        } else {
            Err(CalibrationError::Stored {
                what: WHAT,
                reason: "slope and intercept must be finite".to_owned(),
            })
        }
    }
}

impl Platt {
    /// The slope and intercept of lowest cross-entropy against the targets, by L-BFGS on the standardised margins.
    ///
    /// Rows whose margins are all equal give slope 0 and the log-odds of the mean target. A negative slope is given when
    /// the scores point the wrong way. With [`Targets::Smoothed`] the result is finite on any rows, also on those of one
    /// class. The values are those of scikit-learn: see [`Targets`].
    ///
    /// # Errors
    /// No rows, rows without exactly two options, or [`Targets::Plain`] on rows that the scores separate or that are of
    /// one class.
    pub fn fit(rows: &[ScoredRow], targets: Targets) -> Result<Self, CalibrationError> {
        let (margins, labels) = margins(WHAT, rows)?;
        if targets == Targets::Plain && separable(&margins, &labels, true) {
            return Err(CalibrationError::Separable(WHAT));
        }
        let aims = targets.of(&labels);
        let mean = aims.iter().sum::<f64>() / aims.len() as f64;
        let (slope, intercept) = match standardised(&margins) {
            None => (0.0, logit(mean)),
            Some(feature) => {
                let loss = Logistic {
                    features: &[feature.values],
                    targets: &aims,
                };
                let found = minimise(WHAT, &loss, vec![0.0, logit(mean)])?;
                match found.as_slice() {
                    [w, b] => (w / feature.deviation, b - w * feature.mean / feature.deviation),
                    _ => (0.0, logit(mean)),
                }
            }
        };
        Ok(Self {
            slope,
            intercept,
            targets,
        })
    }

    /// By which the margin is multiplied.
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// What is added to that.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    pub(crate) fn map(&self, scores: &[f32]) -> Result<Vec<f64>, CalibrationError> {
        Ok(pair(self.slope * margin(WHAT, scores)? + self.intercept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::row::example::predicates as rows;

    #[test]
    fn by_hand() {
        // Margin 1: 3 of 4 true; margin -1: 1 of 4. Saturated, so the fit meets both: slope ln 3, intercept 0.
        let data = rows(
            &[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0],
            &[1, 1, 1, 0, 1, 0, 0, 0],
        );
        let plain = Platt::fit(&data, Targets::Plain).unwrap();
        assert!((plain.slope() - 3.0_f64.ln()).abs() < 1e-9, "{plain:?}");
        assert!(plain.intercept().abs() < 1e-9, "{plain:?}");
        // Smoothed: targets 5/6 and 1/6, so p(1) = (3 * 5/6 + 1/6) / 4 = 2/3.
        let smoothed = Platt::fit(&data, Targets::Smoothed).unwrap();
        assert!((smoothed.slope() - 2.0_f64.ln()).abs() < 1e-9, "{smoothed:?}");
    }

    #[test]
    fn degenerate_rows() {
        for (margins, labels) in [
            (vec![-1.0, 1.0], vec![0, 1]),
            (vec![-1.0, 0.0, 0.0, 1.0], vec![0, 0, 1, 1]),
            (vec![-1.0, 1.0], vec![1, 0]),
            (vec![-1.0, 1.0, 3.0], vec![1, 1, 1]),
            (vec![2.0], vec![0]),
        ] {
            let data = rows(&margins, &labels);
            assert_eq!(
                Platt::fit(&data, Targets::Plain),
                Err(CalibrationError::Separable(WHAT)),
                "{margins:?}"
            );
            let fitted = Platt::fit(&data, Targets::Smoothed).unwrap();
            assert!(fitted.slope().is_finite() && fitted.intercept().is_finite());
        }
        // All equal: only the rate of true ones is left.
        let fitted = Platt::fit(&rows(&[2.0; 4], &[1, 1, 1, 0]), Targets::Plain).unwrap();
        assert_eq!(fitted.slope(), 0.0);
        assert!((fitted.intercept() - 3.0_f64.ln()).abs() < 1e-12);
        // The largest scores there are.
        for top in [f32::MAX, f32::MIN_POSITIVE] {
            let fitted =
                Platt::fit(&rows(&[-top, top, -top, top], &[0, 1, 1, 0]), Targets::Smoothed).unwrap();
            assert!(
                fitted
                    .map(&[-f32::MAX, f32::MAX])
                    .unwrap()
                    .iter()
                    .all(|p| p.is_finite())
            );
        }
        let three = ScoredRow::new(vec![0.0; 3], 0, Shape::Choice).unwrap();
        assert!(Platt::fit(&[three], Targets::Smoothed).is_err());
        assert!(Platt::fit(&[], Targets::Smoothed).is_err());
    }
}
