//! Negative log-likelihood.

use super::check;
use crate::{CalibrationError, Probability};

/// Mean negative log-likelihood of the labels, in nats: `-mean ln p_label`, known as log loss.
///
/// A probability below the smallest step of a double at 1 (2.2e-16), 0 above all, counts as that step, as in
/// scikit-learn's `log_loss`: the exact value would be infinite, which JSON cannot hold and no mean can absorb. Such a
/// row costs 36.04; [`nll_clipped_rows`] counts them, so that a report can say that the figure is a floor. scikit-learn
/// also clips at 1 - 2.2e-16, which changes nothing above 1e-15.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn nll(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    let total: f64 = rows
        .iter()
        .zip(labels)
        .filter_map(|(row, label)| row.as_ref().get(*label))
        .map(|p| -p.get().max(f64::EPSILON).ln())
        .sum();
    Ok(total / rows.len() as f64)
}

/// How many rows [`nll`] clips: those that give their label a probability below 2.2e-16.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn nll_clipped_rows(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<usize, CalibrationError> {
    check(rows, labels)?;
    let clipped = rows
        .iter()
        .zip(labels)
        .filter_map(|(row, label)| row.as_ref().get(*label))
        .filter(|p| p.get() < f64::EPSILON);
    Ok(clipped.count())
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

    #[test]
    fn clipped_rows_are_counted() {
        let rows = [
            probabilities(&[1.0, 0.0]),
            probabilities(&[1.0, 1e-300]),
            probabilities(&[0.5, 0.5]),
        ];
        assert_eq!(nll_clipped_rows(&rows, &[1, 1, 1]), Ok(2));
        assert_eq!(nll_clipped_rows(&rows, &[0, 0, 0]), Ok(0));
        let expected = (2.0 * 36.04365338911715 + 2.0_f64.ln()) / 3.0;
        close(nll(&rows, &[1, 1, 1]).unwrap(), expected);
    }
}
