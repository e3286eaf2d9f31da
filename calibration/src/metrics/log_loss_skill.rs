//! Log-loss skill score.

use std::collections::BTreeMap;

use super::{check, nll};
use crate::{CalibrationError, Probability};

/// Skill against the base rate: `1 - NLL / NLL_base`, NLL_base that of a forecast that gives every row the labels'
/// shares among these rows, which is their entropy (scikit-learn's `d2_log_loss_score`; the D squared of deviance,
/// McFadden 1974). 1 is perfect, 0 no better than knowing the shares, below 0 worse; at least -36.04 / NLL_base, since
/// [`nll`] is clipped.
///
/// The base rate has seen the labels, so it is slightly harder to beat than one from other rows. Labels are compared
/// across rows by index: rows of different questions belong into different calls.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or all labels the same: then the base rate is never wrong.
pub fn log_loss_skill(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for label in labels {
        *counts.entry(*label).or_default() += 1;
    }
    if counts.len() < 2 {
        return Err(CalibrationError::Undefined {
            metric: "log-loss skill",
            needs: "at least two labels that occur",
        });
    }
    let share = |count: &usize| *count as f64 / labels.len() as f64;
    let base: f64 = counts.values().map(share).map(|share| -share * share.ln()).sum();
    Ok(1.0 - nll(rows, labels)? / base)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn by_hand() {
        // Each label occurs twice: the base is ln 3. sklearn.metrics.log_loss(y, p) = 0.7662003360564857
        let (rows, labels) = rows();
        let expected = 1.0 - 0.7662003360564857 / 3.0_f64.ln();
        close(log_loss_skill(&rows, &labels).unwrap(), expected);
        // The base rate itself.
        let base = vec![probabilities(&[0.75, 0.25]); 4];
        close(log_loss_skill(&base, &[0, 0, 1, 0]).unwrap(), 0.0);
        assert!(matches!(
            log_loss_skill(&base, &[0; 4]),
            Err(CalibrationError::Undefined { .. })
        ));
    }
}
