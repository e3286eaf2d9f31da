//! Area under the receiver operating characteristic.

use super::check_scores;
use crate::CalibrationError;

/// Probability that a true row scores above a false one, ties counted half: the Mann-Whitney statistic
/// `(R - t (t + 1) / 2) / (t f)`, R the sum of the true rows' ranks (ties share their mean rank), t and f the numbers
/// of true and false rows (Hanley and McNeil 1982, "The meaning and use of the area under a ROC curve").
///
/// `scores` may be probabilities or any other finite numbers.
///
/// # Errors
/// No rows, unequal lengths, a score that is not finite, or labels that are all true or all false.
pub fn auroc(scores: &[f64], labels: &[bool]) -> Result<f64, CalibrationError> {
    check_scores(scores, labels)?;
    let positives = labels.iter().filter(|label| **label).count() as f64;
    let negatives = labels.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return Err(CalibrationError::OneClass(negatives == 0.0));
    }
    let mut ranked: Vec<(f64, bool)> = scores.iter().copied().zip(labels.iter().copied()).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rank_sum = 0.0;
    let mut below = 0;
    for ties in ranked.chunk_by(|a, b| a.0 == b.0) {
        let mean_rank = below as f64 + (ties.len() as f64 + 1.0) / 2.0;
        rank_sum += mean_rank * ties.iter().filter(|(_, label)| *label).count() as f64;
        below += ties.len();
    }
    Ok((rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::example::close;
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.roc_auc_score([0,0,1,1,1,0,1,0], [.1,.4,.35,.8,.4,.4,.9,.05])
        let scores = [0.1, 0.4, 0.35, 0.8, 0.4, 0.4, 0.9, 0.05];
        let labels = [false, false, true, true, true, false, true, false];
        close(auroc(&scores, &labels).unwrap(), 0.8125);
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(
            auroc(&[0.1, 0.2], &[true, true]),
            Err(CalibrationError::OneClass(true))
        );
        assert_eq!(
            auroc(&[0.1, 0.2], &[false, false]),
            Err(CalibrationError::OneClass(false))
        );
        assert!(auroc(&[f64::NAN, 0.2], &[false, true]).is_err());
        assert!(auroc(&[0.1], &[false, true]).is_err());
    }

    proptest! {
        #[test]
        fn equals_counting_pairs(rows in prop::collection::vec((0_u8..6, any::<bool>()), 2..60)) {
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let labels: Vec<bool> = rows.iter().map(|row| row.1).collect();
            let mut won = 0.0;
            let mut pairs = 0.0;
            for (a, _) in rows.iter().filter(|row| row.1) {
                for (b, _) in rows.iter().filter(|row| !row.1) {
                    pairs += 1.0;
                    won += match a.cmp(b) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
            match auroc(&scores, &labels) {
                Ok(found) => prop_assert!((found - won / pairs).abs() < 1e-12),
                Err(_) => prop_assert_eq!(pairs, 0.0),
            }
        }
    }
}
