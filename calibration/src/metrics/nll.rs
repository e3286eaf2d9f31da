//! Negative log-likelihood.

use super::check;
use crate::{CalibrationError, Probability};

/// Mean negative log-likelihood of the labels, in nats: `-mean ln p_label`, known as log loss.
///
/// A probability of exactly 0 counts as the smallest step of a double at 1 (2.2e-16), as scikit-learn's `log_loss`
/// does, so that the result stays finite.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn nll(rows: &[Vec<Probability>], labels: &[usize]) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    let total: f64 = rows
        .iter()
        .zip(labels)
        .filter_map(|(row, label)| row.get(*label))
        .map(|p| -p.get().max(f64::EPSILON).ln())
        .sum();
    Ok(total / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.log_loss(y, p)
        let (rows, labels) = rows();
        close(nll(&rows, &labels).unwrap(), 0.7662003360564857);
        // log_loss([1], [[1, 0]], labels=[0, 1])
        close(
            nll(&[probabilities(&[1.0, 0.0])], &[1]).unwrap(),
            36.04365338911715,
        );
    }
}
