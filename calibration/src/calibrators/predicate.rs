//! What the predicate calibrators share: the margin, the targets and the logistic loss.

use serde::{Deserialize, Serialize};

use super::optimise::Smooth;
use super::softmax::{sigmoid, softplus};
use crate::{CalibrationError, ScoredRow, Shape};

/// The labels that a logistic fit aims at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// Platt's: `(t + 1) / (t + 2)` for true rows and `1 / (f + 2)` for false ones, t and f their numbers (Platt 1999,
    /// "Probabilistic outputs for support vector machines", section 2.2). The fit is finite on any rows. As
    /// scikit-learn's `CalibratedClassifierCV(method="sigmoid")`.
    #[default]
    Smoothed,
    /// 1 and 0: the maximum likelihood. As scikit-learn's `LogisticRegression` without penalty. There is none on rows
    /// that the scores separate, nor on rows of one class.
    Plain,
}

/// The score of true minus that of false, which is the raw log-odds of true.
pub(crate) fn margin(what: &'static str, scores: &[f32]) -> Result<f64, CalibrationError> {
    match scores {
        [no, yes] => Ok(f64::from(*yes) - f64::from(*no)),
        _ => Err(CalibrationError::NotApplicable {
            what,
            needs: "two options, false and true".to_owned(),
            found: format!("{} options", scores.len()),
        }),
    }
}

/// Margins and labels of predicate rows.
pub(crate) fn margins(
    what: &'static str,
    rows: &[ScoredRow],
) -> Result<(Vec<f64>, Vec<bool>), CalibrationError> {
    if rows.is_empty() {
        return Err(CalibrationError::Empty("rows"));
    }
    if let Some(row) = rows.iter().find(|row| row.shape() != Shape::Predicate) {
        return Err(CalibrationError::NotApplicable {
            what,
            needs: "predicate rows".to_owned(),
            found: format!("a {} row", row.shape()),
        });
    }
    let margins = rows
        .iter()
        .map(|row| margin(what, row.scores()))
        .collect::<Result<_, _>>()?;
    Ok((margins, rows.iter().map(|row| row.label() == 1).collect()))
}

/// The pair of probabilities, false then true, of log-odds.
pub(crate) fn pair(log_odds: f64) -> Vec<f64> {
    vec![sigmoid(-log_odds), sigmoid(log_odds)]
}

impl Targets {
    /// The target of each label.
    pub(crate) fn of(self, labels: &[bool]) -> Vec<f64> {
        let yes = labels.iter().filter(|label| **label).count() as f64;
        let no = labels.len() as f64 - yes;
        let (high, low) = match self {
            Targets::Smoothed => ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0)),
            Targets::Plain => (1.0, 0.0),
        };
        labels
            .iter()
            .map(|label| if *label { high } else { low })
            .collect()
    }
}

/// Whether some threshold on the margins separates the labels, with true rows above (`up`) or in either direction;
/// touching counts, and so does a missing class.
pub(crate) fn separable(margins: &[f64], labels: &[bool], both_directions: bool) -> bool {
    let range = |wanted: bool| {
        margins
            .iter()
            .zip(labels)
            .filter(|(_, label)| **label == wanted)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (margin, _)| {
                (low.min(*margin), high.max(*margin))
            })
    };
    let ((no_low, no_high), (yes_low, yes_high)) = (range(false), range(true));
    let same = no_low == yes_high && yes_low == no_high && no_low == no_high;
    // A class with no rows has an empty range, which every comparison calls separate.
    let missing = no_low > no_high || yes_low > yes_high;
    missing || (!same && (no_high <= yes_low || (both_directions && yes_high <= no_low)))
}

/// Mean cross-entropy of `sigmoid(w . x + b)` against targets; parameters `w_1 .. w_k, b`.
pub(crate) struct Logistic<'a> {
    /// One list per feature, each as long as the targets.
    pub features: &'a [Vec<f64>],
    /// From 0 to 1.
    pub targets: &'a [f64],
}

impl Smooth for Logistic<'_> {
    fn value(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let n = self.targets.len() as f64;
        let mut total = 0.0;
        let mut gradient = vec![0.0; point.len()];
        let bias = point.last().copied().unwrap_or_default();
        for (row, target) in self.targets.iter().enumerate() {
            let at = |feature: &Vec<f64>| feature.get(row).copied().unwrap_or_default();
            let x = bias
                + self
                    .features
                    .iter()
                    .zip(point)
                    .map(|(feature, w)| w * at(feature))
                    .sum::<f64>();
            total += target * softplus(-x) + (1.0 - target) * softplus(x);
            let error = target * -sigmoid(-x) + (1.0 - target) * sigmoid(x);
            for (slope, feature) in gradient.iter_mut().zip(self.features) {
                *slope += error * at(feature);
            }
            if let Some(slope) = gradient.last_mut() {
                *slope += error;
            }
        }
        (total / n, gradient.into_iter().map(|slope| slope / n).collect())
    }
}

/// A feature brought to mean 0 and standard deviation 1.
pub(crate) struct Standardised {
    /// Its values then.
    pub values: Vec<f64>,
    /// The mean that was taken away.
    pub mean: f64,
    /// The deviation that it was divided by.
    pub deviation: f64,
}

/// Standardises a feature; nothing for a constant one.
pub(crate) fn standardised(values: &[f64]) -> Option<Standardised> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    let constant = values.windows(2).all(|pair| pair[0] == pair[1]);
    if constant || !(deviation > 0.0 && deviation.is_finite()) {
        return None;
    }
    Some(Standardised {
        values: values.iter().map(|x| (x - mean) / deviation).collect(),
        mean,
        deviation,
    })
}

/// `ln(p / (1 - p))`.
pub(crate) fn logit(p: f64) -> f64 {
    p.ln() - (-p).ln_1p()
}
