//! Softmax: scores to probabilities.

use crate::{CalibrationError, Probability};

/// `p_i = exp(s_i - m) / sum_j exp(s_j - m)` with `m` the largest score, in f64: stable for any finite scores.
///
/// # Errors
/// No scores, or one that is not finite.
pub fn softmax(scores: &[f32]) -> Result<Vec<Probability>, CalibrationError> {
    if scores.is_empty() {
        return Err(CalibrationError::Empty("scores"));
    }
    if let Some((index, value)) = scores.iter().enumerate().find(|(_, score)| !score.is_finite()) {
        return Err(CalibrationError::NotFinite {
            index,
            value: f64::from(*value),
        });
    }
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials: Vec<f64> = scores
        .iter()
        .map(|score| (f64::from(*score) - f64::from(largest)).exp())
        .collect();
    // At least 1: the largest score contributes exp(0).
    let total: f64 = exponentials.iter().sum();
    exponentials
        .into_iter()
        .map(|exponential| Probability::new(exponential / total))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values() {
        // scipy.special.softmax([1.0, 2.0, 3.0])
        let expected = [0.09003057317038046, 0.24472847105479764, 0.6652409557748218];
        for (found, expected) in softmax(&[1.0, 2.0, 3.0]).unwrap().iter().zip(expected) {
            assert!((found.get() - expected).abs() < 1e-15);
        }
        assert_eq!(softmax(&[5.0]).unwrap(), [Probability::ONE]);
        assert_eq!(
            softmax(&[f32::MAX, f32::MIN]).unwrap(),
            [Probability::ONE, Probability::ZERO]
        );
    }

    #[test]
    fn bad_scores_are_refused() {
        assert_eq!(softmax(&[]), Err(CalibrationError::Empty("scores")));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(matches!(
                softmax(&[0.0, bad]),
                Err(CalibrationError::NotFinite { index: 1, .. })
            ));
        }
    }

    proptest! {
        #[test]
        fn sums_to_one_and_ignores_a_shift(scores in prop::collection::vec(-1e3_f32..1e3, 1..256)) {
            let probabilities = softmax(&scores).unwrap();
            let total: f64 = probabilities.iter().map(|p| p.get()).sum();
            prop_assert!((total - 1.0).abs() < 1e-12);
            let shifted: Vec<f32> = scores.iter().map(|score| score + 1024.0).collect();
            for (a, b) in probabilities.iter().zip(softmax(&shifted).unwrap()) {
                prop_assert!((a.get() - b.get()).abs() < 1e-3);
            }
        }
    }
}
