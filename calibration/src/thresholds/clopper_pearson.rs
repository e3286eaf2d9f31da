//! Clopper and Pearson's exact bounds for a rate.

use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

use super::check_open;
use crate::CalibrationError;
use crate::calibrators::root;

/// A rate with its two-sided interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The rate that was seen.
    pub rate: f64,
    /// Its lower bound.
    pub lower: f64,
    /// Its upper bound.
    pub upper: f64,
}

/// The largest rate that `successes` of `trials` refute at `confidence`: the true rate is above it with at least that
/// confidence. The solution p of `P(Bin(trials, p) >= successes) = 1 - confidence`, which is scipy's
/// `beta.ppf(1 - confidence, successes, trials - successes + 1)`, and 0 for no successes (Clopper and Pearson 1934).
///
/// # Errors
/// No trials, more successes than trials, or a confidence that is not between 0 and 1.
pub fn lower_bound(successes: usize, trials: usize, confidence: f64) -> Result<f64, CalibrationError> {
    check(successes, trials, confidence)?;
    if successes == 0 {
        return Ok(0.0);
    }
    let alpha = 1.0 - confidence;
    if successes == trials {
        return Ok((alpha.ln() / trials as f64).exp());
    }
    root("a Clopper-Pearson bound", 0.0, 1.0, |p| {
        upper_tail(successes, trials, p) - alpha
    })
}

/// The smallest rate that `successes` of `trials` refute at `confidence`: the true rate is below it with at least that
/// confidence; scipy's `beta.ppf(confidence, successes + 1, trials - successes)`, and 1 when all succeeded.
///
/// # Errors
/// As [`lower_bound`].
pub fn upper_bound(successes: usize, trials: usize, confidence: f64) -> Result<f64, CalibrationError> {
    check(successes, trials, confidence)?;
    Ok(1.0 - lower_bound(trials - successes, trials, confidence)?)
}

/// The two-sided interval: both bounds at half of `1 - confidence`.
///
/// # Errors
/// As [`lower_bound`].
pub fn clopper_pearson(
    successes: usize,
    trials: usize,
    confidence: f64,
) -> Result<Interval, CalibrationError> {
    check(successes, trials, confidence)?;
    let one_sided = 1.0 - (1.0 - confidence) / 2.0;
    Ok(Interval {
        rate: successes as f64 / trials as f64,
        lower: lower_bound(successes, trials, one_sided)?,
        upper: upper_bound(successes, trials, one_sided)?,
    })
}

fn check(successes: usize, trials: usize, confidence: f64) -> Result<(), CalibrationError> {
    check_open("confidence", confidence)?;
    if trials == 0 {
        return Err(CalibrationError::Empty("trials"));
    }
    if successes > trials {
        return Err(CalibrationError::Setting {
            name: "successes",
            value: successes as f64,
            must: "at most the number of trials",
        });
    }
    Ok(())
}

/// `P(Bin(n, p) >= k)`, the regularised incomplete beta function `I_p(k, n - k + 1)`.
///
/// Summed from k outward to the side where the terms fall, which takes a few standard deviations' worth of terms. statrs'
/// own `beta_reg` is a continued fraction that is cut after 140 steps: bounds by it are within 1e-11 of scipy's up to
/// 100,000 trials, but 1e-6 off at a million.
pub(crate) fn upper_tail(k: usize, n: usize, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    let (k, n) = (k as f64, n as f64);
    let term = |i: f64| {
        let choose = ln_gamma(n + 1.0) - ln_gamma(i + 1.0) - ln_gamma(n - i + 1.0);
        (choose + i * p.ln() + (n - i) * (-p).ln_1p()).exp()
    };
    let odds = p / (1.0 - p);
    let mut total = 0.0;
    if k >= n * p {
        let (mut i, mut current) = (k, term(k));
        while i <= n && current > total * 1e-18 {
            total += current;
            current *= (n - i) / (i + 1.0) * odds;
            i += 1.0;
        }
        total.min(1.0)
    } else {
        let (mut i, mut current) = (k - 1.0, term(k - 1.0));
        while i >= 0.0 && current > total * 1e-18 {
            total += current;
            current *= i / (n - i + 1.0) / odds;
            i -= 1.0;
        }
        (1.0 - total).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn by_hand() {
        // All of n: p^n = 0.05. One of n: 1 - (1 - p)^n = 0.05.
        close(lower_bound(10, 10, 0.95).unwrap(), 0.05_f64.powf(0.1));
        close(lower_bound(1, 10, 0.95).unwrap(), 1.0 - 0.95_f64.powf(0.1));
        close(upper_bound(0, 10, 0.95).unwrap(), 1.0 - 0.05_f64.powf(0.1));
        close(
            upper_tail(2, 3, 0.25),
            3.0 * 0.25 * 0.25 * 0.75 + 0.25_f64.powi(3),
        );
        close(upper_tail(1, 3, 0.9), 1.0 - 0.1_f64.powi(3));
        assert_eq!(lower_bound(0, 5, 0.9).unwrap(), 0.0);
        assert_eq!(upper_bound(5, 5, 0.9).unwrap(), 1.0);
        let interval = clopper_pearson(3, 4, 0.95).unwrap();
        assert!(interval.lower < interval.rate && interval.rate < interval.upper);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(lower_bound(0, 0, 0.95).is_err());
        assert!(lower_bound(3, 2, 0.95).is_err());
        for confidence in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(lower_bound(1, 2, confidence).is_err());
        }
    }
}
