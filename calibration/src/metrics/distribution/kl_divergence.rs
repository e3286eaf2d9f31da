//! Kullback-Leibler divergence.

use super::mean;
use crate::{CalibrationError, Probability};

/// Kullback-Leibler divergence of the raters' shares q from the prediction p, in nats:
/// `mean_rows sum_k q_k ln(q_k / p_k)` with `0 ln 0 = 0` (Kullback and Leibler 1951, "On information and sufficiency");
/// torchmetrics' `kl_divergence(q, p)`. From 0, where p = q.
///
/// A probability below 2.2e-16 counts as that where an option was chosen by a rater: torchmetrics gives infinity there,
/// which JSON cannot hold. torchmetrics also divides both by their sums first, which nothing here does.
///
/// # Errors
/// No rows, unequal lengths, gold over another number of options than its row, or gold that does not sum to 1.
pub fn kl_divergence(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
) -> Result<f64, CalibrationError> {
    mean(rows, gold, |predicted, gold| {
        predicted
            .iter()
            .zip(gold)
            .filter(|(_, q)| q.get() > 0.0)
            .map(|(p, q)| q.get() * (q.get().ln() - p.get().max(f64::EPSILON).ln()))
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{close, probabilities};
    use super::super::{cross_entropy, entropy};
    use super::*;

    #[test]
    fn by_hand() {
        let row = [probabilities(&[0.5, 0.25, 0.25, 0.0])];
        let gold = [probabilities(&[0.25, 0.5, 0.25, 0.0])];
        close(kl_divergence(&row, &gold).unwrap(), 0.25 * 2.0_f64.ln());
        close(
            kl_divergence(&row, &gold).unwrap(),
            cross_entropy(&row, &gold).unwrap() - entropy(&gold).unwrap(),
        );
        close(kl_divergence(&row, &row).unwrap(), 0.0);
        assert!(kl_divergence(&gold, &[probabilities(&[0.0, 0.0, 0.0, 1.0])]).unwrap() > 36.0);
    }
}
