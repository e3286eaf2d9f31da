//! Vector scaling.

use serde::{Deserialize, Serialize};

use super::optimise::{Smooth, minimise};
use super::softmax::{log_softmax, log_sum_exp, softmax};
use super::temperature::Temperature;
use crate::{CalibrationError, ScoredRow};

const WHAT: &str = "vector scaling";

/// Vector scaling of a fixed list of options: `softmax(w_k z_k + b_k)`, one weight and one bias per option (Guo et al.
/// 2017, section 4.2), on the log-probabilities `z = ln softmax(s)`, so that a shift of a row's scores changes nothing.
///
/// The argmax may change: see [`Argmax`](super::Argmax).
///
/// JSON: `{"weights": [1.0, 0.9], "biases": [0.1, -0.1], "ridge": 0.01}`, in the order of the options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Vector {
    weights: Vec<f64>,
    biases: Vec<f64>,
    ridge: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    weights: Vec<f64>,
    biases: Vec<f64>,
    ridge: f64,
}

impl TryFrom<Stored> for Vector {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        let Stored {
            weights,
            biases,
            ridge,
        } = stored;
        let finite = weights.iter().chain(&biases).all(|x| x.is_finite());
        if !weights.is_empty() && weights.len() == biases.len() && finite && ridge > 0.0 && ridge.is_finite()
        {
            Ok(Self {
                weights,
                biases,
                ridge,
            })
        } else {
            Err(CalibrationError::Stored {
                what: WHAT,
                reason: "there must be one finite weight and bias per option, and a ridge above 0".to_owned(),
            })
        }
    }
}

impl Vector {
    /// A ridge that matters only where rows say next to nothing: 0.01, a prior of standard deviation 10.
    pub const RIDGE: f64 = 0.01;

    /// The weights and biases that minimise `sum_rows NLL + ridge / 2 (sum_k (w_k - 1)^2 + sum_k b_k^2)`, by L-BFGS.
    ///
    /// The ridge draws to the identity and makes the solution unique and finite also on rows that the scores separate and
    /// for options that are never gold; without it such rows have no solution. As it goes to 0, this becomes the maximum
    /// likelihood fit, with biases that sum to 0.
    ///
    /// # Errors
    /// No rows, rows of different numbers of options, or a ridge that is not above 0; and scores so large, a million say,
    /// that rounding stops the optimiser short of the minimum.
    pub fn fit(rows: &[ScoredRow], ridge: f64) -> Result<Self, CalibrationError> {
        if !(ridge > 0.0 && ridge.is_finite()) {
            return Err(CalibrationError::Setting {
                name: "ridge",
                value: ridge,
                must: "above 0",
            });
        }
        let first = rows.first().ok_or(CalibrationError::Empty("rows"))?;
        let options = first.scores().len();
        if let Some(other) = rows.iter().find(|row| row.scores().len() != options) {
            return Err(not_applicable(options, other.scores().len()));
        }
        let logs: Vec<Vec<f64>> = rows.iter().map(|row| log_softmax(row.scores())).collect();
        // Each weight is fitted in units of one over its option's root mean square, so that all are of like size.
        let scales: Vec<f64> = (0..options)
            .map(|option| {
                let squares: f64 = logs.iter().filter_map(|z| z.get(option)).map(|z| z * z).sum();
                (squares / logs.len() as f64).sqrt().clamp(1e-3, f64::MAX)
            })
            .collect();
        let loss = Loss {
            logs: &logs,
            rows,
            scales: &scales,
            ridge,
        };
        // From a temperature, at which no weighted log-probability is so large that the loss is flat.
        let beta = 1.0 / Temperature::fit(rows)?.get();
        let mut start: Vec<f64> = scales.iter().map(|scale| (beta * scale).min(10.0)).collect();
        start.extend(vec![0.0; options]);
        let found = minimise(WHAT, &loss, start)?;
        let (weights, biases) = found.split_at(options);
        Ok(Self {
            weights: weights.iter().zip(&scales).map(|(w, scale)| w / scale).collect(),
            biases: biases.to_vec(),
            ridge,
        })
    }

    /// One weight per option.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// One bias per option.
    pub fn biases(&self) -> &[f64] {
        &self.biases
    }

    pub(crate) fn map(&self, scores: &[f32]) -> Result<Vec<f64>, CalibrationError> {
        if scores.len() != self.weights.len() {
            return Err(not_applicable(self.weights.len(), scores.len()));
        }
        let mapped: Vec<f64> = log_softmax(scores)
            .iter()
            .zip(self.weights.iter().zip(&self.biases))
            .map(|(z, (w, b))| w * z + b)
            .collect();
        Ok(softmax(&mapped))
    }
}

fn not_applicable(needs: usize, found: usize) -> CalibrationError {
    CalibrationError::NotApplicable {
        what: WHAT,
        needs: format!("the same {needs} options everywhere"),
        found: format!("a row of {found}"),
    }
}

struct Loss<'a> {
    logs: &'a [Vec<f64>],
    rows: &'a [ScoredRow],
    scales: &'a [f64],
    ridge: f64,
}

impl Smooth for Loss<'_> {
    fn value(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let options = self.scales.len();
        let (scaled, biases) = point.split_at(options);
        let weights: Vec<f64> = scaled
            .iter()
            .zip(self.scales)
            .map(|(w, scale)| w / scale)
            .collect();
        let mut total = 0.0;
        let mut gradient = vec![0.0; point.len()];
        for (z, row) in self.logs.iter().zip(self.rows) {
            let mapped: Vec<f64> = z
                .iter()
                .zip(weights.iter().zip(biases))
                .map(|(z, (w, b))| w * z + b)
                .collect();
            total += log_sum_exp(&mapped) - mapped.get(row.label()).copied().unwrap_or_default();
            let (by_weight, by_bias) = gradient.split_at_mut(options);
            for (option, p) in softmax(&mapped).iter().enumerate() {
                let error = p - f64::from(u8::from(option == row.label()));
                if let (Some(slope), Some(z), Some(scale)) =
                    (by_weight.get_mut(option), z.get(option), self.scales.get(option))
                {
                    *slope += error * z / scale;
                }
                if let Some(slope) = by_bias.get_mut(option) {
                    *slope += error;
                }
            }
        }
        let (by_weight, by_bias) = gradient.split_at_mut(options);
        for ((slope, w), scale) in by_weight.iter_mut().zip(&weights).zip(self.scales) {
            total += self.ridge / 2.0 * (w - 1.0) * (w - 1.0);
            *slope += self.ridge * (w - 1.0) / scale;
        }
        for (slope, b) in by_bias.iter_mut().zip(biases) {
            total += self.ridge / 2.0 * b * b;
            *slope += self.ridge * b;
        }
        let n = self.rows.len() as f64;
        (total / n, gradient.into_iter().map(|slope| slope / n).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn row(scores: &[f32], label: usize) -> ScoredRow {
        ScoredRow::new(scores.to_vec(), label, Shape::Choice).unwrap()
    }

    #[test]
    fn by_hand() {
        // Equal scores: only the biases can tell, and they give the rates 1/2, 1/4, 1/4 (the ridge is next to nothing).
        let rows = [
            row(&[0.0; 3], 0),
            row(&[1.0; 3], 0),
            row(&[0.0; 3], 1),
            row(&[0.0; 3], 2),
        ];
        let fitted = Vector::fit(&rows, 1e-9).unwrap();
        for (found, expected) in fitted.map(&[7.0; 3]).unwrap().iter().zip([0.5, 0.25, 0.25]) {
            assert!((found - expected).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn bounded_on_degenerate_rows() {
        for rows in [
            vec![row(&[3.0, 0.0, 0.0], 0)],
            vec![row(&[3.0, 0.0, 0.0], 1)],
            vec![row(&[3.0, 0.0], 0), row(&[0.0, 3.0], 1)],
            vec![row(&[5.0], 0)],
            vec![row(&[0.0; 255], 254)],
            vec![row(&[1e4, -1e4], 1), row(&[1e4, -1e4], 0)],
        ] {
            let fitted = Vector::fit(&rows, Vector::RIDGE).unwrap();
            let p = fitted.map(rows[0].scores()).unwrap();
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let mixed = [row(&[0.0, 1.0], 0), row(&[0.0, 1.0, 2.0], 0)];
        assert!(Vector::fit(&mixed, 1.0).is_err());
        assert!(Vector::fit(&mixed[..1], 0.0).is_err());
        assert!(Vector::fit(&[], 1.0).is_err());
        assert!(Vector::fit(&mixed[..1], 1.0).unwrap().map(&[0.0; 3]).is_err());
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let rows = [
            row(&[3.0, 0.5, -1.0], 1),
            row(&[0.0, 2.0, 1.0], 1),
            row(&[1.0, 0.0, 2.5], 0),
        ];
        let logs: Vec<Vec<f64>> = rows.iter().map(|row| log_softmax(row.scores())).collect();
        let loss = Loss {
            logs: &logs,
            rows: &rows,
            scales: &[1.0, 2.0, 3.0],
            ridge: 0.3,
        };
        let point = [0.7, 1.4, 2.5, 0.1, -0.2, 0.3];
        let gradient = loss.value(&point).1;
        for (index, slope) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut point = point;
                point[index] += by;
                loss.value(&point).0
            };
            let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - numeric).abs() < 1e-8, "{index}: {slope} {numeric}");
        }
    }
}
