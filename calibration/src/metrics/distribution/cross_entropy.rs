//! Cross-entropy.

use super::mean;
use crate::{CalibrationError, Probability};

/// Cross-entropy of the raters' shares q and the prediction, in nats: `mean_rows -sum_k q_k ln p_k`; the mean over the
/// raters of [`nll`](crate::metrics::nll). At best the raters' own [`entropy`]; [`kl_divergence`](super::kl_divergence)
/// is what is left above it.
///
/// A probability below 2.2e-16 counts as that, as in [`nll`](crate::metrics::nll), where an option was chosen by a rater.
///
/// # Errors
/// No rows, unequal lengths, gold over another number of options than its row, or gold that does not sum to 1.
pub fn cross_entropy(
    rows: &[impl AsRef<[Probability]>],
    gold: &[impl AsRef<[Probability]>],
) -> Result<f64, CalibrationError> {
    mean(rows, gold, |predicted, gold| {
        predicted
            .iter()
            .zip(gold)
            .map(|(p, q)| -q.get() * p.get().max(f64::EPSILON).ln())
            .sum()
    })
}

/// Mean entropy of the raters' shares, in nats: `mean_rows -sum_k q_k ln q_k` with `0 ln 0 = 0`. What no prediction can
/// get below in [`cross_entropy`].
///
/// # Errors
/// No rows, or gold that does not sum to 1.
pub fn entropy(gold: &[impl AsRef<[Probability]>]) -> Result<f64, CalibrationError> {
    mean(gold, gold, |_, gold| {
        gold.iter()
            .map(|q| q.get())
            .filter(|q| *q > 0.0)
            .map(|q| -q * q.ln())
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn by_hand() {
        let row = [probabilities(&[0.5, 0.25, 0.25, 0.0])];
        let gold = [probabilities(&[0.25, 0.5, 0.25, 0.0])];
        close(cross_entropy(&row, &gold).unwrap(), 1.75 * 2.0_f64.ln());
        close(entropy(&gold).unwrap(), 1.5 * 2.0_f64.ln());
        // A rater's choice that was held impossible.
        let gold = [probabilities(&[0.5, 0.0, 0.0, 0.5])];
        let expected = 0.5 * 2.0_f64.ln() + 0.5 * 36.04365338911715;
        close(cross_entropy(&row, &gold).unwrap(), expected);
    }
}
