//! Ranked probability score against a distribution.

use super::super::ranked_probability_score::of_pair;
use super::mean;
use crate::{CalibrationError, Probability};

/// Ranked probability score against the raters' shares: `mean_rows sum_(k < K) (F_k - G_k)^2`, F and G the running sums
/// of prediction and shares over the levels in their order (the squared Cramer-von Mises distance of the two). From 0,
/// where they are equal, to K - 1.
///
/// [`ranked_probability_score`](crate::metrics::ranked_probability_score) averaged over the raters is this plus
/// `mean_rows sum_(k < K) G_k (1 - G_k)`.
///
/// # Errors
/// No rows, unequal lengths, gold over another number of options than its row, or gold that does not sum to 1.
pub fn ranked_probability_score(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
) -> Result<f64, CalibrationError> {
    mean(rows, gold, of_row)
}

/// [`ranked_probability_score`] with every row divided by its K - 1, from 0 to 1; 0 for a row of one level.
///
/// # Errors
/// As for [`ranked_probability_score`].
pub fn ranked_probability_score_normalised(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
) -> Result<f64, CalibrationError> {
    mean(rows, gold, |predicted, gold| {
        of_row(predicted, gold) / (gold.len().max(2) - 1) as f64
    })
}

fn of_row(predicted: &[Probability], gold: &[Probability]) -> f64 {
    of_pair(predicted.iter().map(|p| p.get()), gold.iter().map(|q| q.get()))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn by_hand() {
        let row = [probabilities(&[0.2, 0.5, 0.3])];
        let gold = [probabilities(&[0.25, 0.25, 0.5])];
        // F = 0.2, 0.7; G = 0.25, 0.5.
        close(ranked_probability_score(&row, &gold).unwrap(), 0.0425);
        close(ranked_probability_score_normalised(&row, &gold).unwrap(), 0.02125);
    }
}
