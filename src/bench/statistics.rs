//! Mean, standard deviation and median of repeated measurements.

/// A summary of samples; every field is 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n - 1 in the denominator), 0 for fewer than two samples.
    pub stddev: f64,
    /// Middle value, or the mean of the two in the middle.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// Summarises `samples`.
    pub fn of(samples: &[f64]) -> Self {
        if samples.is_empty() {
            return Self::default();
        }
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            stddev: if samples.len() < 2 {
                0.0
            } else {
                (squares / (n - 1.0)).sqrt()
            },
            median: quantile(samples, 0.5),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The `q`-quantile (0 to 1) with linear interpolation between the two nearest order statistics; 0 without samples.
pub fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let low = sorted.get(place.floor() as usize).copied().unwrap_or(0.0);
    let high = sorted.get(place.ceil() as usize).copied().unwrap_or(low);
    low + (high - low) * place.fract()
}

/// Median of the pairwise ratios `a[i] / b[i]`: drift between rounds divides out. 0 without pairs.
pub fn paired_ratio(a: &[f64], b: &[f64]) -> f64 {
    let ratios: Vec<f64> = a
        .iter()
        .zip(b)
        .filter(|(_, b)| **b > 0.0)
        .map(|(a, b)| a / b)
        .collect();
    quantile(&ratios, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_known_samples() {
        let found = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(found.mean, 5.0);
        assert_eq!(found.median, 4.5);
        assert!((found.stddev - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((found.min, found.max), (2.0, 9.0));
    }

    #[test]
    fn few_samples_are_not_an_error() {
        assert_eq!(Summary::of(&[]), Summary::default());
        let one = Summary::of(&[3.0]);
        assert_eq!((one.mean, one.stddev, one.median), (3.0, 0.0, 3.0));
    }

    #[test]
    fn quantiles_interpolate_and_do_not_need_sorted_samples() {
        let samples = [30.0, 10.0, 20.0, 40.0];
        assert_eq!(quantile(&samples, 0.0), 10.0);
        assert_eq!(quantile(&samples, 1.0), 40.0);
        assert_eq!(quantile(&samples, 0.5), 25.0);
        assert!((quantile(&samples, 0.9) - 37.0).abs() < 1e-12);
    }

    #[test]
    fn paired_ratios_cancel_drift() {
        // The second round ran at half speed for both.
        assert_eq!(paired_ratio(&[2.0, 4.0, 2.0], &[1.0, 2.0, 1.0]), 2.0);
        assert_eq!(paired_ratio(&[1.0], &[0.0]), 0.0);
    }
}
