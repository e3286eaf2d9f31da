//! Maximum calibration error.

use super::bins::{Bin, Binning, fill};
use super::top_forecasts;
use crate::{CalibrationError, Probability};

/// Maximum calibration error of the top label: `max_b |accuracy_b - mean probability_b|` over the bins that hold
/// something, from 0 to 1 (Naeini et al. 2015; Guo et al. 2017, equation 5).
///
/// A bin of one row weighs as much as one of a thousand: with few rows or many bins this is mostly noise, and bins of
/// equal mass are the better choice. Edges as in [`ece`](super::ece), where it says how torchmetrics and netcal differ.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn mce(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    binning: Binning,
) -> Result<f64, CalibrationError> {
    let bins = fill(&top_forecasts(rows, labels)?, binning)?;
    Ok(bins.iter().map(Bin::gap).map(f64::abs).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, rows};
    use super::*;

    #[test]
    fn by_hand() {
        let (rows, labels) = rows();
        // The bin of the two 0.5, both wrong.
        close(mce(&rows, &labels, Binning::EqualWidth(10)).unwrap(), 0.5);
        // The lower half: mean 7/15, all wrong.
        close(mce(&rows, &labels, Binning::EqualMass(2)).unwrap(), 1.4 / 3.0);
        assert!(mce(&rows, &labels, Binning::EqualMass(0)).is_err());
    }
}
