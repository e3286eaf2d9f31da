//! The Brier score in parts.

use serde::{Deserialize, Serialize};

use super::bins::{Bin, Binning, fill};
use super::{Forecast, binary_forecasts, option_forecasts};
use crate::{CalibrationError, Probability};

/// The parts of a Brier score over bins b of n_b forecasts, with p the forecasts, o the events as 0 or 1, `p_b` and `o_b`
/// their means in a bin and `o_all` the mean of all events:
///
/// `Brier = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance`, exactly.
///
/// Three parts alone (Murphy 1973, "A new vector partition of the probability score") are
/// exact only where the forecasts in a bin are all equal. For bins of a range, the two within-bin terms close the gap
/// (Stephenson, Coelho and Jolliffe 2008, "Two extra components in the Brier score decomposition"); both are 0 when the
/// forecasts in each bin are equal, and their difference shrinks with finer bins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct BrierDecomposition {
    /// `sum_b (n_b / n) (p_b - o_b)^2`: how far promises are from facts; lower is better.
    pub reliability: f64,
    /// `sum_b (n_b / n) (o_b - o_all)^2`: how much the bins tell apart; higher is better. In sample it grows with the
    /// number of bins, for useless forecasts as well.
    pub resolution: f64,
    /// `o_all (1 - o_all)`: what the events are like, whatever the forecasts.
    pub uncertainty: f64,
    /// `(1 / n) sum_b sum_j (p_j - p_b)^2`: forecasts of a bin that differ from each other.
    pub within_bin_variance: f64,
    /// `(2 / n) sum_b sum_j (p_j - p_b) (o_j - o_b)`: how well they differ, within their bin. May be below 0.
    pub within_bin_covariance: f64,
}

impl BrierDecomposition {
    /// The Brier score that these are the parts of.
    pub fn brier(&self) -> f64 {
        self.reliability - self.resolution
            + self.uncertainty
            + (self.within_bin_variance - self.within_bin_covariance)
    }

    fn of(forecasts: &[Forecast], binning: Binning) -> Result<Self, CalibrationError> {
        let bins = fill(forecasts, binning)?;
        let n = forecasts.len() as f64;
        let overall = bins.iter().map(Bin::events).sum::<usize>() as f64 / n;
        let mut parts = Self {
            uncertainty: overall * (1.0 - overall),
            ..Self::default()
        };
        for bin in &bins {
            let weight = bin.count() / n;
            let (promised, kept) = (bin.mean_probability(), bin.frequency());
            parts.reliability += weight * bin.gap().powi(2);
            parts.resolution += weight * (kept - overall).powi(2);
            for (p, event) in &bin.forecasts {
                let (forecast, outcome) = (p - promised, f64::from(u8::from(*event)) - kept);
                parts.within_bin_variance += forecast * forecast / n;
                parts.within_bin_covariance += 2.0 * forecast * outcome / n;
            }
        }
        Ok(parts)
    }

    fn add(&mut self, other: &Self, weight: f64) {
        self.reliability += weight * other.reliability;
        self.resolution += weight * other.resolution;
        self.uncertainty += weight * other.uncertainty;
        self.within_bin_variance += weight * other.within_bin_variance;
        self.within_bin_covariance += weight * other.within_bin_covariance;
    }
}

/// The parts of [`brier_binary`](super::brier_binary), forecasts being the probabilities of true.
///
/// # Errors
/// No rows, unequal lengths, or no bins.
pub fn brier_decomposition_binary(
    probabilities: &[Probability],
    labels: &[bool],
    binning: Binning,
) -> Result<BrierDecomposition, CalibrationError> {
    BrierDecomposition::of(&binary_forecasts(probabilities, labels)?, binning)
}

/// The parts of [`brier_multiclass`](super::brier_multiclass): each option's probability is decomposed on its own, over
/// bins of that option, and the parts are summed over the options (weighted by the share of rows that have the option,
/// 1 where all rows have the same). Murphy's vector form, which bins whole rows of probabilities, would leave almost
/// every row in a bin of its own.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn brier_decomposition_multiclass(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    binning: Binning,
) -> Result<BrierDecomposition, CalibrationError> {
    let mut parts = BrierDecomposition::default();
    for forecasts in option_forecasts(rows, labels)? {
        let weight = forecasts.len() as f64 / rows.len() as f64;
        parts.add(&BrierDecomposition::of(&forecasts, binning)?, weight);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::example::{close, probabilities};
    use super::super::{brier_binary, brier_multiclass};
    use super::*;

    #[test]
    fn by_hand() {
        // Equal forecasts in each bin: 0.25 twice, one true; 0.75 twice, both true.
        let p = probabilities(&[0.25, 0.25, 0.75, 0.75]);
        let labels = [false, true, true, true];
        let parts = brier_decomposition_binary(&p, &labels, Binning::EqualWidth(2)).unwrap();
        close(parts.reliability, 0.0625);
        close(parts.resolution, 0.0625);
        close(parts.uncertainty, 0.1875);
        close(parts.within_bin_variance, 0.0);
        close(parts.within_bin_covariance, 0.0);
        // One bin: p_b = 0.5, o_b = 0.75; d = -+0.25, e = -0.75, 0.25, 0.25, 0.25.
        let parts = brier_decomposition_binary(&p, &labels, Binning::EqualWidth(1)).unwrap();
        close(parts.reliability, 0.0625);
        close(parts.resolution, 0.0);
        close(parts.uncertainty, 0.1875);
        close(parts.within_bin_variance, 0.0625);
        close(parts.within_bin_covariance, 0.125);
    }

    proptest! {
        #[test]
        fn parts_make_the_whole(
            drawn in prop::collection::vec((prop::collection::vec(0_u32..20, 1..6), any::<prop::sample::Index>()), 1..40),
            count in 1_usize..20,
            mass in any::<bool>(),
        ) {
            let binning = if mass { Binning::EqualMass(count) } else { Binning::EqualWidth(count) };
            let mut rows = Vec::new();
            let mut labels = Vec::new();
            for (counts, label) in &drawn {
                let total = f64::from(counts.iter().sum::<u32>().max(1));
                let row: Vec<f64> = counts.iter().map(|count| f64::from(*count) / total).collect();
                rows.push(probabilities(&row));
                labels.push(label.index(row.len()));
            }
            let parts = brier_decomposition_multiclass(&rows, &labels, binning).unwrap();
            prop_assert!((parts.brier() - brier_multiclass(&rows, &labels).unwrap()).abs() < 1e-12);
            let p: Vec<Probability> = rows.iter().map(|row| row[0]).collect();
            let hits: Vec<bool> = labels.iter().map(|label| *label == 0).collect();
            let parts = brier_decomposition_binary(&p, &hits, binning).unwrap();
            prop_assert!((parts.brier() - brier_binary(&p, &hits).unwrap()).abs() < 1e-12);
        }
    }
}
