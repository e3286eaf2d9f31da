//! Average precision: the area under the precision-recall curve.

use super::check_scores;
use crate::CalibrationError;

/// Average precision, AUPRC: `sum_t (R_t - R_(t-1)) P_t` over the distinct scores t from the highest down, with P_t and
/// R_t precision and recall of "score at least t" (as scikit-learn's `average_precision_score`). From 0 to 1; a useless
/// ranking gives the share of true rows.
///
/// No interpolation between thresholds, whose straight line promises points that no threshold reaches (Davis and
/// Goadrich 2006, "The relationship between precision-recall and ROC curves"). All true rows give 1. Without a true row
/// recall does not exist: an error here, 0 and a warning in scikit-learn.
///
/// `scores` may be probabilities or any other finite numbers.
///
/// # Errors
/// No rows, unequal lengths, a score that is not finite, or no true label.
pub fn average_precision(scores: &[f64], labels: &[bool]) -> Result<f64, CalibrationError> {
    check_scores(scores, labels)?;
    let positives = labels.iter().filter(|label| **label).count();
    if positives == 0 {
        return Err(CalibrationError::Undefined {
            metric: "average precision",
            needs: "a true label",
        });
    }
    let mut ranked: Vec<(f64, bool)> = scores.iter().copied().zip(labels.iter().copied()).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut taken, mut found) = (0, 0);
    let mut area = 0.0;
    // -0.0 and 0.0 are neighbours in the order and equal here.
    for ties in ranked.chunk_by(|a, b| a.0 == b.0) {
        let hits = ties.iter().filter(|(_, label)| *label).count();
        taken += ties.len();
        found += hits;
        area += hits as f64 * (found as f64 / taken as f64);
    }
    Ok(area / positives as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::close;
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), from its documentation
        let labels = [false, false, true, true];
        close(
            average_precision(&[0.1, 0.4, 0.35, 0.8], &labels).unwrap(),
            0.8333333333333333,
        );
        // Ties: the share of true rows.
        close(average_precision(&[0.5; 4], &labels).unwrap(), 0.5);
        close(average_precision(&[0.5, -0.0, 0.0], &[true; 3]).unwrap(), 1.0);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(matches!(
            average_precision(&[0.1, 0.2], &[false, false]),
            Err(CalibrationError::Undefined { .. })
        ));
        assert!(average_precision(&[f64::NAN], &[true]).is_err());
        assert!(average_precision(&[0.1], &[true, true]).is_err());
        assert!(average_precision(&[], &[]).is_err());
    }
}
