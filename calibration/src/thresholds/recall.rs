//! The highest threshold that keeps recall.

use serde::{Deserialize, Serialize};

use super::clopper_pearson::{lower_bound, upper_tail};
use super::{check_lengths, check_open};
use crate::{CalibrationError, FormatVersion, Probability};

/// The threshold that was found and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecallThreshold {
    /// The version of this form.
    pub version: FormatVersion<1>,
    /// The recall wished for.
    pub wish: f64,
    /// The confidence with which it is kept.
    pub confidence: f64,
    /// Accept probabilities of at least this; 0, which accepts everything, when there are too few true rows for more.
    pub threshold: f64,
    /// Number of true rows; the others play no part.
    pub true_rows: usize,
    /// How many of them are accepted.
    pub accepted: usize,
    /// The Clopper-Pearson lower bound of the recall by rank: ties at the threshold count as one row only, so that it
    /// holds whatever the ties. 1 when everything is accepted.
    pub lower_bound: f64,
    /// How many true rows it takes for a threshold above 0: `ln(1 - confidence) / ln wish`, rounded up.
    pub least_true_rows: usize,
}

/// The highest threshold at which the recall of "accept when p is at least the threshold" is `wish` or more with
/// `confidence`. (The lowest one is 0, at which recall is 1.)
///
/// The threshold is the k-th lowest probability among the n true rows, with the largest k for which the Clopper-Pearson
/// lower bound of `n - k + 1` of n is at least the wish. Searching costs nothing here: k follows from n, the wish and the
/// confidence before a probability is looked at, and the share of true rows at or above the k-th lowest of n has the
/// distribution `Beta(n - k + 1, k)`, for which that bound is exact (Wilks 1941, tolerance limits); ties only make the recall
/// higher.
///
/// # Errors
/// No rows, unequal lengths, no true row, or a wish or confidence that is not between 0 and 1.
pub fn recall_threshold(
    probabilities: &[Probability],
    labels: &[bool],
    wish: f64,
    confidence: f64,
) -> Result<RecallThreshold, CalibrationError> {
    check_lengths(probabilities.len(), labels.len())?;
    check_open("wish", wish)?;
    check_open("confidence", confidence)?;
    let mut of_true: Vec<f64> = probabilities
        .iter()
        .zip(labels)
        .filter(|(_, label)| **label)
        .map(|(p, _)| p.get())
        .collect();
    if of_true.is_empty() {
        return Err(CalibrationError::Empty("true rows"));
    }
    of_true.sort_by(f64::total_cmp);
    let n = of_true.len();
    let alpha = 1.0 - confidence;
    // The bound falls with the number kept: the smallest number that still passes.
    let (mut fails, mut passes) = (0, n + 1);
    while passes - fails > 1 {
        let kept = fails + (passes - fails) / 2;
        if upper_tail(kept, n, wish) <= alpha {
            passes = kept;
        } else {
            fails = kept;
        }
    }
    let (threshold, bound) = if passes > n {
        (0.0, 1.0)
    } else {
        (
            of_true.get(n - passes).copied().unwrap_or(0.0),
            lower_bound(passes, n, confidence)?,
        )
    };
    Ok(RecallThreshold {
        version: FormatVersion,
        wish,
        confidence,
        threshold,
        true_rows: n,
        accepted: of_true.iter().filter(|p| **p >= threshold).count(),
        lower_bound: bound,
        least_true_rows: (alpha.ln() / wish.ln()).ceil() as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 0.9^29 <= 0.05 < 0.9^28: 29 true rows allow the lowest of them, 28 allow none.
        let rows = |n: usize| -> Vec<Probability> {
            (0..n)
                .map(|row| Probability::new(0.2 + row as f64 / 100.0).unwrap())
                .collect()
        };
        let found = recall_threshold(&rows(29), &[true; 29], 0.9, 0.95).unwrap();
        assert_eq!(
            (found.threshold, found.accepted, found.least_true_rows),
            (0.2, 29, 29)
        );
        let found = recall_threshold(&rows(28), &[true; 28], 0.9, 0.95).unwrap();
        assert_eq!((found.threshold, found.lower_bound), (0.0, 1.0));
        // 46 rows allow the second lowest (the table of tolerance limits for 95 % and 90 %).
        let found = recall_threshold(&rows(46), &[true; 46], 0.9, 0.95).unwrap();
        assert_eq!((found.threshold, found.accepted), (0.2 + 1.0 / 100.0, 45));
        assert!(found.lower_bound >= 0.9);
        let found = recall_threshold(&rows(45), &[true; 45], 0.9, 0.95).unwrap();
        assert_eq!(found.threshold, 0.2);
    }

    #[test]
    fn bad_input_is_refused() {
        let p = [Probability::ONE; 2];
        assert!(recall_threshold(&p, &[false, false], 0.9, 0.95).is_err());
        assert!(recall_threshold(&p, &[true], 0.9, 0.95).is_err());
        assert!(recall_threshold(&p, &[true; 2], 0.0, 0.95).is_err());
        assert!(recall_threshold(&p, &[true; 2], 0.9, 1.0).is_err());
        assert!(recall_threshold(&[], &[], 0.9, 0.95).is_err());
        let ties = recall_threshold(&[Probability::ONE; 100], &[true; 100], 0.9, 0.95).unwrap();
        assert_eq!((ties.threshold, ties.accepted), (1.0, 100));
    }
}
