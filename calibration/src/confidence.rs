//! Confidence: how peaked an answer is, 1 on one option and 0 uniform; and a score's expected level.
//!
//! The formulas are those of the System One API, as its published clients compute them.

use crate::Probability;

/// Confidence of a choice over n options: `(p_max - 1/n) / (1 - 1/n)`, and 1 when n = 1.
///
/// From 0 to 1 for probabilities that sum to 1; clamped for rounding. 0 for no options.
pub fn choice_confidence(probabilities: &[Probability]) -> f64 {
    let n = probabilities.len() as f64;
    match probabilities {
        [] => 0.0,
        [_] => 1.0,
        _ => {
            let largest = probabilities
                .iter()
                .fold(0.0_f64, |largest, p| largest.max(p.get()));
            ((largest - 1.0 / n) / (1.0 - 1.0 / n)).clamp(0.0, 1.0)
        }
    }
}

/// Confidence of a score over n levels: `max(0, 1 - sum_i p_i |i - m| / U)` with m the first most probable level and
/// `U = mean_i |i - (n - 1)/2|`, the mean distance from the middle under a uniform distribution; 1 when n = 1.
///
/// 0 for no levels.
pub fn score_confidence(probabilities: &[Probability]) -> f64 {
    let n = probabilities.len() as f64;
    match probabilities {
        [] => 0.0,
        [_] => 1.0,
        [first, ..] => {
            let mut mode = (0, *first);
            for (level, p) in probabilities.iter().enumerate() {
                if *p > mode.1 {
                    mode = (level, *p);
                }
            }
            let levels = || (0..probabilities.len()).map(|level| level as f64);
            let uniform = levels().map(|level| (level - (n - 1.0) / 2.0).abs()).sum::<f64>() / n;
            let spread: f64 = levels()
                .zip(probabilities)
                .map(|(level, p)| p.get() * (level - mode.0 as f64).abs())
                .sum();
            (1.0 - spread / uniform).clamp(0.0, 1.0)
        }
    }
}

/// Expected level of a score: `sum_i i p_i`, levels counted from 0.
pub fn expected_level(probabilities: &[Probability]) -> f64 {
    probabilities
        .iter()
        .enumerate()
        .map(|(level, p)| level as f64 * p.get())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example::probabilities;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn choice() {
        close(
            choice_confidence(&probabilities(&[0.7, 0.2, 0.1])),
            (0.7 - 1.0 / 3.0) / (2.0 / 3.0),
        );
        close(choice_confidence(&probabilities(&[0.25; 4])), 0.0);
        close(choice_confidence(&probabilities(&[0.0, 1.0])), 1.0);
        close(choice_confidence(&probabilities(&[1.0])), 1.0);
        close(choice_confidence(&[]), 0.0);
    }

    #[test]
    fn score() {
        // By hand: m = 1, sum p|i - 1| = 0.2 + 0.1 = 0.3; U = (1 + 0 + 1) / 3.
        close(
            score_confidence(&probabilities(&[0.2, 0.7, 0.1])),
            1.0 - 0.3 / (2.0 / 3.0),
        );
        // The first of two most probable levels counts: m = 0, so the spread is 0.65 here and not 0.55; below 0 it is 0.
        close(score_confidence(&probabilities(&[0.5, 0.0, 0.0, 0.5])), 0.0);
        close(
            score_confidence(&probabilities(&[0.45, 0.45, 0.1])),
            1.0 - 0.65 / (2.0 / 3.0),
        );
        close(score_confidence(&probabilities(&[0.0, 0.0, 1.0])), 1.0);
        close(score_confidence(&probabilities(&[1.0])), 1.0);
        // For two levels it equals the choice formula.
        for p in [0.5, 0.6, 0.93] {
            let pair = probabilities(&[p, 1.0 - p]);
            close(score_confidence(&pair), choice_confidence(&pair));
        }
    }

    #[test]
    fn level() {
        close(expected_level(&probabilities(&[0.2, 0.7, 0.1])), 0.9);
        close(expected_level(&probabilities(&[1.0])), 0.0);
    }
}
