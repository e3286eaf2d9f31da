//! Scores against a gold distribution: what several raters said, not what one of them did.
//!
//! `gold[row][option]` is the share of raters who chose the option; [`shares`] makes it from counts. With all raters
//! agreed, every score here is the one against a single label.
//!
//! The mean of a score over the raters, each taken as the label in turn, is at its best not 0 but what their
//! disagreement leaves: it equals the cross-entropy for NLL, and for the other two the score here plus a term that does
//! not depend on the prediction. So both rank models the same way.

mod brier;
mod cross_entropy;
mod kl_divergence;
mod ranked_probability_score;

pub use brier::brier;
pub use cross_entropy::{cross_entropy, entropy};
pub use kl_divergence::kl_divergence;
pub use ranked_probability_score::{ranked_probability_score, ranked_probability_score_normalised};

use super::{check_lengths, check_sums};
use crate::{CalibrationError, Probability};

/// How far the sum of a gold distribution may be from 1.
const TOLERANCE: f64 = 1e-6;

/// The shares of counts: how many raters chose each option, over all raters.
///
/// # Errors
/// No rater at all.
pub fn shares(counts: &[u32]) -> Result<Vec<Probability>, CalibrationError> {
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    if total == 0.0 {
        return Err(CalibrationError::Empty("ratings"));
    }
    counts
        .iter()
        .map(|count| Probability::new(f64::from(*count) / total))
        .collect()
}

/// Mean over the rows of a score of prediction and gold, after checking that they belong together and the gold sums to 1.
fn mean(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
    score: impl Fn(&[Probability], &[Probability]) -> f64,
) -> Result<f64, CalibrationError> {
    check_lengths(rows.len(), gold.len())?;
    check_sums(gold, TOLERANCE)?;
    let mut total = 0.0;
    for (row, (predicted, gold)) in rows.iter().zip(gold).enumerate() {
        let (predicted, gold) = (predicted.as_ref(), gold.as_ref());
        if predicted.len() != gold.len() {
            return Err(CalibrationError::GoldOptions {
                row,
                gold: gold.len(),
                options: predicted.len(),
            });
        }
        total += score(predicted, gold);
    }
    Ok(total / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::super::{self as metrics};
    use super::*;

    fn one_hot(labels: &[usize], options: usize) -> Vec<Vec<Probability>> {
        let of_label = |label: usize| {
            (0..options)
                .map(|option| {
                    if option == label {
                        Probability::ONE
                    } else {
                        Probability::ZERO
                    }
                })
                .collect()
        };
        labels.iter().map(|label| of_label(*label)).collect()
    }

    #[test]
    fn agreed_raters_are_a_label() {
        let (rows, labels) = rows();
        let gold = one_hot(&labels, 3);
        let nll = metrics::nll(&rows, &labels).unwrap();
        close(cross_entropy(&rows, &gold).unwrap(), nll);
        close(kl_divergence(&rows, &gold).unwrap(), nll);
        close(entropy(&gold).unwrap(), 0.0);
        close(
            brier(&rows, &gold).unwrap(),
            metrics::brier_multiclass(&rows, &labels).unwrap(),
        );
        close(
            ranked_probability_score(&rows, &gold).unwrap(),
            metrics::ranked_probability_score(&rows, &labels).unwrap(),
        );
        close(
            ranked_probability_score_normalised(&rows, &gold).unwrap(),
            metrics::ranked_probability_score_normalised(&rows, &labels).unwrap(),
        );
    }

    #[test]
    fn the_mean_over_raters_differs_by_what_they_disagree() {
        let row = [probabilities(&[0.2, 0.5, 0.3])];
        let gold = [shares(&[1, 1, 2]).unwrap()];
        let over_raters = |metric: &dyn Fn(&[usize]) -> f64| -> f64 {
            [0, 1, 2, 2].iter().map(|label| metric(&[*label])).sum::<f64>() / 4.0
        };
        close(
            over_raters(&|label| metrics::nll(&row, label).unwrap()),
            cross_entropy(&row, &gold).unwrap(),
        );
        // sum q (1 - q) = 3/16 + 3/16 + 1/4; sum over inner levels of G (1 - G) = 3/16 + 1/4.
        close(
            over_raters(&|label| metrics::brier_multiclass(&row, label).unwrap()),
            brier(&row, &gold).unwrap() + 0.625,
        );
        close(
            over_raters(&|label| metrics::ranked_probability_score(&row, label).unwrap()),
            ranked_probability_score(&row, &gold).unwrap() + 0.4375,
        );
    }

    #[test]
    fn bad_gold_is_refused() {
        let rows = [probabilities(&[0.5, 0.5]), probabilities(&[0.5, 0.5])];
        let half = probabilities(&[0.5, 0.5]);
        let refused = |gold: &[Vec<Probability>]| brier(&rows, gold).unwrap_err();
        assert!(matches!(
            refused(&[half.clone(), probabilities(&[0.5, 0.4])]),
            CalibrationError::NotADistribution { row: 1, .. }
        ));
        assert!(matches!(
            refused(&[half.clone(), probabilities(&[0.5, 0.25, 0.25])]),
            CalibrationError::GoldOptions {
                row: 1,
                gold: 3,
                options: 2
            }
        ));
        assert!(matches!(
            refused(&[half.clone(), vec![]]),
            CalibrationError::NotADistribution { row: 1, .. }
        ));
        assert!(matches!(refused(&[half]), CalibrationError::Lengths { .. }));
        assert!(brier(&rows[..0], &rows[..0]).is_err());
        assert!(shares(&[]).is_err());
        assert!(shares(&[0, 0]).is_err());
    }
}
