//! Brier score: squared error of probabilities. The two forms differ by a factor of two on the same binary data, so
//! each has its own name.

use super::{check, check_lengths};
use crate::{CalibrationError, Probability};

/// Multi-class Brier score, from 0 to 2: `mean_rows sum_k (p_k - [k = label])^2` (Brier 1950, "Verification of
/// forecasts expressed in terms of probability", equation 2).
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn brier_multiclass(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    let of_row = |row: &[Probability], label: usize| -> f64 {
        let error = |(option, p): (usize, &Probability)| p.get() - f64::from(u8::from(option == label));
        row.iter().enumerate().map(|entry| error(entry).powi(2)).sum()
    };
    let total: f64 = rows
        .iter()
        .zip(labels)
        .map(|(row, label)| of_row(row.as_ref(), *label))
        .sum();
    Ok(total / rows.len() as f64)
}

/// Binary Brier score, from 0 to 1: `mean (p - y)^2` with p the probability of true and y 1 for true, else 0. Half of
/// [`brier_multiclass`] on the same rows.
///
/// # Errors
/// No rows, or unequal lengths.
pub fn brier_binary(probabilities: &[Probability], labels: &[bool]) -> Result<f64, CalibrationError> {
    check_lengths(probabilities.len(), labels.len())?;
    let total: f64 = probabilities
        .iter()
        .zip(labels)
        .map(|(p, label)| (p.get() - f64::from(u8::from(*label))).powi(2))
        .sum();
    Ok(total / probabilities.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // ((p - np.eye(3)[y]) ** 2).sum(1).mean()
        // = sklearn.metrics.brier_score_loss(y, p, scale_by_half=False)
        let (rows, labels) = rows();
        close(brier_multiclass(&rows, &labels).unwrap(), 0.45);
        // sklearn.metrics.brier_score_loss([0, 1, 1, 0], [.1, .9, .8, .3])
        let binary = probabilities(&[0.1, 0.9, 0.8, 0.3]);
        let labels = [false, true, true, false];
        close(brier_binary(&binary, &labels).unwrap(), 0.0375);
        let pairs: Vec<_> = binary.iter().map(|p| vec![p.complement(), *p]).collect();
        close(brier_multiclass(&pairs, &[0, 1, 1, 0]).unwrap(), 2.0 * 0.0375);
    }
}
