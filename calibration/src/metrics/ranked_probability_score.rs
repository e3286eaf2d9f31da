//! Ranked probability score: for ordered levels, where a near miss is better than a far one.

use super::check;
use crate::{CalibrationError, Probability};

/// Ranked probability score: `mean_rows sum_(k < K) (F_k - [label <= k])^2`, F the running sum of the probabilities over
/// the levels in their order (Epstein 1969, "A scoring system for probability forecasts of ranked categories"; in this
/// form Murphy 1971, "A note on the ranked probability score"). From 0 to K - 1, lower is better; the binary Brier score
/// for two levels, 0 for one.
///
/// The last level is left out: F is 1 there. For levels in different numbers, and to compare scales, see
/// [`ranked_probability_score_normalised`].
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn ranked_probability_score(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    Ok(mean(rows, labels, |_| 1.0))
}

/// [`ranked_probability_score`] with every row divided by its K - 1, from 0 to 1; 0 for a row of one level.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn ranked_probability_score_normalised(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    Ok(mean(rows, labels, |levels| (levels.max(2) - 1) as f64))
}

fn mean(rows: &[impl AsRef<[Probability]>], labels: &[usize], divisor: impl Fn(usize) -> f64) -> f64 {
    let of_row = |row: &[Probability], label: usize| {
        let observed = (0..row.len()).map(|level| f64::from(u8::from(level == label)));
        of_pair(row.iter().map(|p| p.get()), observed) / divisor(row.len())
    };
    let total: f64 = rows
        .iter()
        .zip(labels)
        .map(|(row, label)| of_row(row.as_ref(), *label))
        .sum();
    total / rows.len() as f64
}

/// `sum_(k < K) (F_k - G_k)^2` of two distributions over the same levels.
pub(super) fn of_pair(
    forecast: impl ExactSizeIterator<Item = f64>,
    observed: impl Iterator<Item = f64>,
) -> f64 {
    let inner = forecast.len().saturating_sub(1);
    let (mut cumulated, mut score) = ((0.0, 0.0), 0.0);
    for (p, q) in forecast.zip(observed).take(inner) {
        cumulated = (cumulated.0 + p, cumulated.1 + q);
        score += f64::powi(cumulated.0 - cumulated.1, 2);
    }
    score
}

#[cfg(test)]
mod tests {
    use super::super::brier_binary;
    use super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn by_hand() {
        let row = [probabilities(&[0.2, 0.5, 0.3])];
        // F = 0.2, 0.7.
        close(ranked_probability_score(&row, &[0]).unwrap(), 0.64 + 0.09);
        close(ranked_probability_score(&row, &[1]).unwrap(), 0.04 + 0.09);
        close(ranked_probability_score(&row, &[2]).unwrap(), 0.04 + 0.49);
        close(
            ranked_probability_score_normalised(&row, &[2]).unwrap(),
            0.53 / 2.0,
        );
        // As wrong as can be.
        let row = [probabilities(&[1.0, 0.0, 0.0, 0.0])];
        close(ranked_probability_score(&row, &[3]).unwrap(), 3.0);
        close(ranked_probability_score_normalised(&row, &[3]).unwrap(), 1.0);
        let row = [probabilities(&[1.0])];
        close(ranked_probability_score(&row, &[0]).unwrap(), 0.0);
        close(ranked_probability_score_normalised(&row, &[0]).unwrap(), 0.0);
    }

    #[test]
    fn of_two_levels_it_is_the_brier_score() {
        let p = probabilities(&[0.1, 0.9, 0.8, 0.3]);
        let pairs: Vec<_> = p.iter().map(|p| vec![p.complement(), *p]).collect();
        close(
            ranked_probability_score(&pairs, &[0, 1, 1, 0]).unwrap(),
            brier_binary(&p, &[false, true, true, false]).unwrap(),
        );
    }
}
