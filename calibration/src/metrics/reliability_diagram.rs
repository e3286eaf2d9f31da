//! The numbers of a reliability diagram.

use serde::{Deserialize, Serialize};

use super::bins::{Bin, Binning, fill};
use super::{Forecast, binary_forecasts, top_forecasts};
use crate::{CalibrationError, Probability};

/// The 0.975 quantile of the standard normal distribution (scipy.stats.norm.ppf(0.975)).
const NORMAL_975: f64 = 1.959963984540054;

/// A bin of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower edge; not part of the bin unless the bin is the first.
    pub lower: f64,
    /// Upper edge; part of the bin.
    pub upper: f64,
    /// Number of forecasts in it.
    pub count: usize,
    /// Their mean probability: where the point goes on the axis of promises.
    pub mean_probability: f64,
    /// The share of them that came true: where the point goes on the axis of facts.
    pub frequency: f64,
    /// Lower end of the 95 % interval of `frequency`.
    pub frequency_low: f64,
    /// Upper end of the 95 % interval of `frequency`.
    pub frequency_high: f64,
}

/// Reliability diagram of the top label: stated probability against accuracy by bin, from low to high. Bins that hold
/// nothing are left out, as by scikit-learn's `calibration_curve`.
///
/// The interval is Wilson's score interval of a binomial share (Wilson 1927, "Probable inference, the law of succession,
/// and statistical inference"; as `scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`). It takes rows as
/// independent: with rows in groups it is too narrow, and [`Bootstrap`](super::Bootstrap) is the honest one.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn reliability_diagram(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    binning: Binning,
) -> Result<Vec<ReliabilityBin>, CalibrationError> {
    diagram(&top_forecasts(rows, labels)?, binning)
}

/// Reliability diagram of a predicate: the probability of true against the share of true rows. The points are those of
/// scikit-learn's `calibration_curve`, with `strategy="uniform"` for equal width and `"quantile"` for equal mass (save
/// where a quantile is one of the probabilities: numpy rounds its position, and may put the probability above it).
///
/// # Errors
/// No rows, unequal lengths, or no bins.
pub fn reliability_diagram_binary(
    probabilities: &[Probability],
    labels: &[bool],
    binning: Binning,
) -> Result<Vec<ReliabilityBin>, CalibrationError> {
    diagram(&binary_forecasts(probabilities, labels)?, binning)
}

fn diagram(forecasts: &[Forecast], binning: Binning) -> Result<Vec<ReliabilityBin>, CalibrationError> {
    let of_bin = |bin: &Bin| {
        let (frequency_low, frequency_high) = wilson(bin.frequency(), bin.count());
        ReliabilityBin {
            lower: bin.lower,
            upper: bin.upper,
            count: bin.forecasts.len(),
            mean_probability: bin.mean_probability(),
            frequency: bin.frequency(),
            frequency_low,
            frequency_high,
        }
    };
    Ok(fill(forecasts, binning)?.iter().map(of_bin).collect())
}

/// `(f + z^2 / 2n -+ z sqrt(f (1 - f) / n + z^2 / 4n^2)) / (1 + z^2 / n)`.
fn wilson(frequency: f64, count: f64) -> (f64, f64) {
    let z2 = NORMAL_975.powi(2) / count;
    let centre = frequency + z2 / 2.0;
    let half = (z2 * (frequency * (1.0 - frequency) + z2 / 4.0)).sqrt();
    (
        ((centre - half) / (1.0 + z2)).clamp(0.0, frequency),
        ((centre + half) / (1.0 + z2)).clamp(frequency, 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn as_scipy() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        for (hits, count, low, high) in [
            (0.0, 1.0, 0.0, 0.7934506856227626),
            (7.0, 10.0, 0.39677814746114526, 0.892208732593699),
            (20.0, 20.0, 0.8388748419471808, 1.0),
        ] {
            let found = wilson(hits / count, count);
            close(found.0, low);
            close(found.1, high);
        }
    }

    #[test]
    fn bins_by_hand() {
        let (rows, labels) = rows();
        let bins = reliability_diagram(&rows, &labels, Binning::EqualWidth(2)).unwrap();
        assert_eq!(bins.len(), 2);
        let [low, high] = [bins[0], bins[1]];
        assert_eq!((low.lower, low.upper, low.count), (0.0, 0.5, 3));
        assert_eq!((high.lower, high.upper, high.count), (0.5, 1.0, 3));
        close(low.mean_probability, 1.4 / 3.0);
        close(low.frequency, 0.0);
        close(high.mean_probability, 0.7);
        close(high.frequency, 1.0);
        assert!(high.frequency_low < 1.0 && low.frequency_high > 0.0);
        let p = probabilities(&[0.1, 0.2, 0.9]);
        let bins = reliability_diagram_binary(&p, &[false, true, true], Binning::EqualWidth(10)).unwrap();
        assert_eq!(bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [1, 1, 1]);
        close(bins[1].upper, 0.2);
    }
}
