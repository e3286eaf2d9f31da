//! Whether a calibrator may change which option is the most probable.

use serde::{Deserialize, Serialize};

use crate::{CalibrationError, Probability};

/// Whether a calibrator may change which option is the most probable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argmax {
    /// The first option with the highest raw score stays the first most probable one.
    #[default]
    Kept,
    /// The calibrator's own probabilities are given as they are.
    MayChange,
}

/// By how much the kept option is lifted above the others that it would be equal to.
const LIFT: f64 = 1e-12;

/// The first option with the highest score.
pub(crate) fn first_highest<T: PartialOrd + Copy>(values: &[T]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if values.get(best).is_some_and(|highest| value > highest) {
            best = index;
        }
    }
    best
}

/// The probabilities nearest to `probabilities` (least squares, on the simplex) for which `option` is at least as
/// probable as every other one, and is the first of the most probable ones.
///
/// Nothing changes when that is so already. Otherwise the option and all those above the common mean share that mean,
/// and the option is lifted by 1e-12 above the others so that it is the only most probable one.
pub(crate) fn keep(probabilities: Vec<f64>, option: usize) -> Vec<f64> {
    let Some(own) = probabilities.get(option).copied() else {
        return probabilities;
    };
    if first_highest(&probabilities) == option {
        return probabilities;
    }
    let mut others: Vec<f64> = probabilities
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != option)
        .map(|(_, p)| *p)
        .collect();
    others.sort_by(|a, b| b.total_cmp(a));
    // Pool from the most probable down while the next one is above the mean so far.
    let (mut total, mut count) = (own, 1.0);
    for other in others {
        if other <= total / count {
            break;
        }
        total += other;
        count += 1.0;
    }
    let mean = total / count;
    let lowered = mean * (1.0 - LIFT);
    let mut kept: Vec<f64> = probabilities.iter().map(|p| p.min(lowered)).collect();
    let rest: f64 = kept
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != option)
        .map(|(_, p)| p)
        .sum();
    if let Some(p) = kept.get_mut(option) {
        *p = 1.0 - rest;
    }
    kept
}

/// Checks numbers that were computed to be probabilities; rounding just outside of 0 to 1 is cut off.
pub(crate) fn probabilities(values: Vec<f64>) -> Result<Vec<Probability>, CalibrationError> {
    values
        .into_iter()
        .map(|value| {
            Probability::new(if value.is_nan() {
                value
            } else {
                value.clamp(0.0, 1.0)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(keep(vec![0.2, 0.5, 0.3], 1), [0.2, 0.5, 0.3]);
        for (found, expected) in keep(vec![0.2, 0.5, 0.3], 0).iter().zip([0.35, 0.35, 0.3]) {
            assert!((found - expected).abs() < 1e-11, "{found}");
        }
        for (found, expected) in keep(vec![0.1, 0.3, 0.6], 1).iter().zip([0.1, 0.45, 0.45]) {
            assert!((found - expected).abs() < 1e-11, "{found}");
        }
        // The first of equals is the argmax already; a later one is lifted.
        assert_eq!(keep(vec![0.5, 0.5], 0), [0.5, 0.5]);
        let lifted = keep(vec![0.5, 0.5], 1);
        assert!(lifted[1] > lifted[0] && lifted[1] - lifted[0] < 1e-11);
    }

    proptest! {
        #[test]
        fn the_option_wins_and_the_sum_stays(
            weights in prop::collection::vec(0.0_f64..1.0, 1..256),
            chosen in any::<prop::sample::Index>(),
        ) {
            let total: f64 = weights.iter().sum::<f64>() + 1e-9 * weights.len() as f64;
            let p: Vec<f64> = weights.iter().map(|w| (w + 1e-9) / total).collect();
            let option = chosen.index(p.len());
            let kept = keep(p.clone(), option);
            prop_assert_eq!(first_highest(&kept), option);
            prop_assert!((kept.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(kept.iter().all(|p| (0.0..=1.0).contains(p)));
            // No other option gains.
            for (index, (before, after)) in p.iter().zip(&kept).enumerate() {
                prop_assert!(index == option || after <= before);
            }
        }
    }
}
