//! Beta calibration.

use serde::{Deserialize, Serialize};

use super::optimise::{Smooth, minimise};
use super::predicate::{
    Logistic, Standardised, Targets, logit, margin, margins, pair, separable, standardised,
};
use super::softmax::softplus;
use crate::{CalibrationError, ScoredRow};

const WHAT: &str = "beta calibration";

/// Beta calibration of a predicate: `logit p(true) = a ln q - b ln(1 - q) + c` with q the raw probability of true and
/// a, b at least 0 (Kull, Silva Filho and Flach 2017, "Beta calibration", section 4). `a = b = 1, c = 0` changes nothing;
/// `a = b` is Platt scaling of the margin.
///
/// The argmax may change: see [`Argmax`](super::Argmax).
///
/// JSON: `{"a": 0.9, "b": 1.2, "c": 0.1, "targets": "smoothed"}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Beta {
    a: f64,
    b: f64,
    c: f64,
    targets: Targets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    a: f64,
    b: f64,
    c: f64,
    targets: Targets,
}

impl TryFrom<Stored> for Beta {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        let Stored { a, b, c, targets } = stored;
        if a >= 0.0 && b >= 0.0 && [a, b, c].iter().all(|x| x.is_finite()) {
            Ok(Self { a, b, c, targets })
        } else {
            Err(CalibrationError::Stored {
                what: WHAT,
                reason: "a, b and c must be finite, a and b at least 0".to_owned(),
            })
        }
    }
}

/// `ln q` and `-ln(1 - q)` of a margin, without forming q: exact also where q rounds to 0 or 1.
fn features(margin: f64) -> [f64; 2] {
    [-softplus(-margin), softplus(margin)]
}

impl Beta {
    /// The a, b, c of lowest cross-entropy against the targets, over all a and b that are at least 0.
    ///
    /// The problem is convex, so its solution is the unconstrained one when that has a, b at least 0, and otherwise the
    /// best of those with a, b or both fixed at 0; each is found by L-BFGS. netcal's `BetaCalibration` fixes the
    /// negative ones of the unconstrained solution at 0 and takes the labels as they are ([`Targets::Plain`]); it also
    /// cuts q off at the precision of its type, which here is not needed.
    ///
    /// # Errors
    /// No rows, rows without exactly two options, or [`Targets::Plain`] on rows of one class or whose true ones all have
    /// higher scores than the false ones.
    pub fn fit(rows: &[ScoredRow], targets: Targets) -> Result<Self, CalibrationError> {
        let (margins, labels) = margins(WHAT, rows)?;
        if targets == Targets::Plain && separable(&margins, &labels, false) {
            return Err(CalibrationError::Separable(WHAT));
        }
        let aims = targets.of(&labels);
        let columns: [Vec<f64>; 2] =
            [0, 1].map(|feature| margins.iter().map(|d| features(*d)[feature]).collect());
        let free = face(&columns, &aims, [true, true]);
        if let Some((_, [a, b, c])) = free
            && a >= 0.0
            && b >= 0.0
        {
            return Ok(Self { a, b, c, targets });
        }
        [[true, false], [false, true], [false, false]]
            .into_iter()
            .filter_map(|used| face(&columns, &aims, used))
            .filter(|(_, [a, b, _])| *a >= 0.0 && *b >= 0.0)
            .min_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, [a, b, c])| Self { a, b, c, targets })
            .ok_or(CalibrationError::Fit {
                what: WHAT,
                reason: "no solution with a and b at least 0 was found".to_owned(),
            })
    }

    /// The parameters a, b and c.
    pub fn parameters(&self) -> [f64; 3] {
        [self.a, self.b, self.c]
    }

    pub(crate) fn map(&self, scores: &[f32]) -> Result<Vec<f64>, CalibrationError> {
        let [ln_q, minus_ln_rest] = features(margin(WHAT, scores)?);
        Ok(pair(self.a * ln_q + self.b * minus_ln_rest + self.c))
    }
}

/// The minimum over the parameters that are `used`, the others 0: its value and `[a, b, c]`. None when the optimiser does
/// not converge, as it cannot where the unconstrained fit is infinite.
fn face(columns: &[Vec<f64>; 2], aims: &[f64], used: [bool; 2]) -> Option<(f64, [f64; 3])> {
    let scaled: Vec<(usize, Standardised)> = columns
        .iter()
        .enumerate()
        .filter(|(index, _)| used.get(*index) == Some(&true))
        .filter_map(|(index, column)| standardised(column).map(|scaled| (index, scaled)))
        .collect();
    let lists: Vec<Vec<f64>> = scaled.iter().map(|(_, feature)| feature.values.clone()).collect();
    let loss = Logistic {
        features: &lists,
        targets: aims,
    };
    let mean = aims.iter().sum::<f64>() / aims.len() as f64;
    let mut start = vec![0.0; lists.len()];
    start.push(logit(mean));
    let found = if start.iter().all(|x| x.is_finite()) {
        minimise(WHAT, &loss, start).ok()?
    } else {
        return None;
    };
    let mut parameters = [0.0, 0.0, found.last().copied()?];
    for ((index, feature), w) in scaled.iter().zip(&found) {
        *parameters.get_mut(*index)? = w / feature.deviation;
        parameters[2] -= w * feature.mean / feature.deviation;
    }
    let value = loss.value(&found).0;
    parameters
        .iter()
        .all(|x| x.is_finite())
        .then_some((value, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::example::predicates as rows;

    #[test]
    fn bounded_on_degenerate_rows() {
        for (margins, labels) in [
            (vec![-1.0, 1.0], vec![0, 1]),
            (vec![-1.0, 1.0], vec![1, 0]),
            (vec![-3.0, 0.0, 2.0], vec![0, 0, 0]),
            (vec![2.0], vec![1]),
            (vec![2.0, 2.0, 2.0], vec![1, 0, 0]),
            (vec![-1e30, 1e30, 0.5], vec![0, 1, 0]),
        ] {
            let fitted = Beta::fit(&rows(&margins, &labels), Targets::Smoothed).unwrap();
            let [a, b, c] = fitted.parameters();
            assert!(a >= 0.0 && b >= 0.0 && c.is_finite(), "{margins:?} {fitted:?}");
            for d in [-3e38, -1.0, 0.0, 1.0, 3e38] {
                let p = fitted.map(&[0.0, d]).unwrap();
                assert!(
                    p.iter().all(|p| (0.0..=1.0).contains(p)),
                    "{margins:?} {fitted:?}"
                );
            }
        }
        let separate = rows(&[-1.0, 1.0], &[0, 1]);
        assert_eq!(
            Beta::fit(&separate, Targets::Plain),
            Err(CalibrationError::Separable(WHAT))
        );
        // Scores that point the wrong way: nothing but the rate of true ones is left.
        let wrong = Beta::fit(&rows(&[-2.0, -1.0, 1.0, 2.0], &[1, 1, 0, 0]), Targets::Plain).unwrap();
        assert_eq!(wrong.parameters()[..2], [0.0, 0.0]);
        assert!(wrong.parameters()[2].abs() < 1e-9);
    }

    #[test]
    fn stored_form_is_checked() {
        let good = r#"{"a":1.0,"b":2.0,"c":-0.5,"targets":"plain"}"#;
        let beta: Beta = serde_json::from_str(good).unwrap();
        assert_eq!(serde_json::to_string(&beta).unwrap(), good);
        for bad in [
            r#"{"a":-1.0,"b":2.0,"c":0,"targets":"plain"}"#,
            r#"{"a":1.0,"b":2.0,"targets":"plain"}"#,
            r#"{"a":1.0,"b":2.0,"c":0,"d":0,"targets":"plain"}"#,
        ] {
            assert!(serde_json::from_str::<Beta>(bad).is_err(), "{bad}");
        }
    }
}
