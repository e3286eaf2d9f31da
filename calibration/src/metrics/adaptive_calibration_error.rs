//! Adaptive calibration error.

use super::bins::{Bin, Binning, fill};
use super::option_forecasts;
use crate::{CalibrationError, Probability};

/// Adaptive calibration error: `(1 / (K R)) sum_k sum_r |share of label k_kr - mean p_kr|` over `ranges` ranges of equal
/// mass of each option's probabilities, from 0 to 1 (Nixon et al. 2019, "Measuring calibration in deep learning", where
/// it is ACE).
///
/// R counts the ranges that hold something. Ranges are [`Binning::EqualMass`], which part no ties; the original cuts the
/// sorted rows by count, so that its figure depends on the order of tied rows. Without ties, and with a number of rows
/// that the ranges divide, the two agree. netcal's `ACE` is something else: the *average* calibration error, the
/// unweighted mean over top-label bins of equal width (Neumann et al. 2018).
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no ranges.
pub fn adaptive_calibration_error(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    ranges: usize,
) -> Result<f64, CalibrationError> {
    let errors = option_forecasts(rows, labels)?
        .map(|forecasts| {
            let bins = fill(&forecasts, Binning::EqualMass(ranges))?;
            Ok(bins.iter().map(Bin::gap).map(f64::abs).sum::<f64>() / bins.len() as f64)
        })
        .collect::<Result<Vec<f64>, CalibrationError>>()?;
    Ok(errors.iter().sum::<f64>() / errors.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::classwise_ece;
    use super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn bins_weigh_the_same() {
        let p = probabilities(&[0.1, 0.25, 0.35, 0.6, 0.7, 0.95]);
        let pairs: Vec<_> = p.iter().map(|p| vec![p.complement(), *p]).collect();
        let labels = [0, 0, 1, 0, 1, 1];
        // Full ranges: the class-wise error with bins of equal mass.
        let classwise = classwise_ece(&pairs, &labels, Binning::EqualMass(3)).unwrap();
        close(adaptive_calibration_error(&pairs, &labels, 3).unwrap(), classwise);
        // Ties make ranges of five rows and one, which weigh the same: |3/5 - 1/2| and |1 - 3/4| for the second option.
        let p = probabilities(&[0.5, 0.5, 0.5, 0.5, 0.5, 0.75]);
        let pairs: Vec<_> = p.iter().map(|p| vec![p.complement(), *p]).collect();
        let found = adaptive_calibration_error(&pairs, &[1, 1, 1, 0, 0, 1], 2).unwrap();
        // For the first, q(1/2) = 0.5 is the largest: one range, |2/6 - 2.75/6|.
        close(found, (0.175 + 0.75 / 6.0) / 2.0);
        assert!(adaptive_calibration_error(&pairs, &[0; 6], 0).is_err());
    }
}
