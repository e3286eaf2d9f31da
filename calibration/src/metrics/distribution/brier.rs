//! Squared distance of distributions.

use super::mean;
use crate::{CalibrationError, Probability};

/// Multi-class Brier score against the raters' shares q: `mean_rows sum_k (p_k - q_k)^2`, from 0 to 2, 0 where p = q.
///
/// [`brier_multiclass`](crate::metrics::brier_multiclass) averaged over the raters is this plus
/// `mean_rows sum_k q_k (1 - q_k)`.
///
/// # Errors
/// No rows, unequal lengths, gold over another number of options than its row, or gold that does not sum to 1.
pub fn brier(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
) -> Result<f64, CalibrationError> {
    mean(rows, gold, |predicted, gold| {
        predicted
            .iter()
            .zip(gold)
            .map(|(p, q)| (p.get() - q.get()).powi(2))
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn by_hand() {
        let row = [probabilities(&[0.2, 0.5, 0.3])];
        close(brier(&row, &[probabilities(&[0.25, 0.25, 0.5])]).unwrap(), 0.105);
        close(brier(&row, &row).unwrap(), 0.0);
    }
}
