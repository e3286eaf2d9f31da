//! The finite-sample quantile of split-conformal prediction.

use crate::CalibrationError;
use crate::thresholds::check_open;

/// The `ceil((n + 1) coverage)`-th smallest of n nonconformity scores, and none where that is more than n: then there are
/// too few rows for the wish and nothing can be left out.
///
/// `(n + 1) coverage` that is a whole number but for rounding (1e-9) counts as that number: 0.9 of 10 is the 9th, though
/// 0.9 has no exact binary form. MAPIE takes the same order statistic without that allowance, so that rounding may move it
/// one row up there.
///
/// # Errors
/// No scores, one that is not finite, or a coverage that is not between 0 and 1.
pub fn conformal_quantile(scores: &[f64], coverage: f64) -> Result<Option<f64>, CalibrationError> {
    check_open("coverage", coverage)?;
    if scores.is_empty() {
        return Err(CalibrationError::Empty("rows"));
    }
    if let Some((index, value)) = scores.iter().enumerate().find(|(_, score)| !score.is_finite()) {
        return Err(CalibrationError::NotFinite { index, value: *value });
    }
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let exact = (sorted.len() as f64 + 1.0) * coverage;
    let rank = if (exact - exact.round()).abs() < 1e-9 {
        exact.round()
    } else {
        exact.ceil()
    };
    Ok(sorted.get((rank.max(1.0) as usize) - 1).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let scores = [0.9, 0.1, 0.5, 0.3, 0.7, 0.2, 0.4, 0.6, 0.8];
        // (9 + 1) * 0.9 = 9; 0.91 wants the 10th of 9.
        assert_eq!(conformal_quantile(&scores, 0.9).unwrap(), Some(0.9));
        assert_eq!(conformal_quantile(&scores, 0.7).unwrap(), Some(0.7));
        assert_eq!(conformal_quantile(&scores, 0.71).unwrap(), Some(0.8));
        assert_eq!(conformal_quantile(&scores, 0.91).unwrap(), None);
        assert_eq!(conformal_quantile(&scores, 0.001).unwrap(), Some(0.1));
        assert_eq!(conformal_quantile(&[0.3], 0.5).unwrap(), Some(0.3));
        assert!(conformal_quantile(&[], 0.5).is_err());
        assert!(conformal_quantile(&[f64::NAN], 0.5).is_err());
        assert!(conformal_quantile(&[0.3], 1.0).is_err());
    }
}
