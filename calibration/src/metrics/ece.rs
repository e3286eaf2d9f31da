//! Expected calibration error.

use super::bins::{Binning, fill, weighted_gap};
use super::{binary_forecasts, top_forecasts};
use crate::{CalibrationError, Probability};

/// Expected calibration error of the top label over `bins` bins of equal width:
/// `sum_b (n_b / n) |accuracy_b - mean probability_b|`, from 0 to 1 (Naeini et al. 2015, "Obtaining well calibrated
/// probabilities using Bayesian binning"; Guo et al. 2017, equation 3).
///
/// Bins are [`Binning::EqualWidth`]: an edge belongs to the bin below it, as in scikit-learn's `calibration_curve`.
/// torchmetrics puts an edge into the bin above, and a probability of exactly 1 into a bin of its own; netcal puts edges
/// above too, save that 1 stays in the last bin. Where no probability is on an edge they agree (torchmetrics to 7
/// digits: it rounds to float32). Where at most two labels occur, netcal measures [`ece_binary`] instead.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn ece(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    bins: usize,
) -> Result<f64, CalibrationError> {
    let forecasts = top_forecasts(rows, labels)?;
    Ok(weighted_gap(&fill(&forecasts, Binning::EqualWidth(bins))?))
}

/// [`ece`] over `bins` bins of equal mass ([`Binning::EqualMass`]), which leave no bin nearly empty (Nguyen and O'Connor
/// 2015, "Posterior calibration and exploratory analysis for natural language processing models"); called adaptive ECE
/// by Mukhoti et al. 2020, "Calibrating deep neural networks using focal loss". For the form over all options see
/// [`adaptive_calibration_error`](super::adaptive_calibration_error).
///
/// netcal's `ECE(equal_intervals=False)` agrees where all probabilities differ, and refuses those that make two edges
/// fall together.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn ece_equal_mass(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    bins: usize,
) -> Result<f64, CalibrationError> {
    let forecasts = top_forecasts(rows, labels)?;
    Ok(weighted_gap(&fill(&forecasts, Binning::EqualMass(bins))?))
}

/// Expected calibration error of a predicate's probability of true: `sum_b (n_b / n) |share of true_b - mean p_b|`.
///
/// It is another number than [`ece`] of the same rows as pairs, which folds probabilities below one half over.
///
/// # Errors
/// No rows, unequal lengths, or no bins.
pub fn ece_binary(
    probabilities: &[Probability],
    labels: &[bool],
    binning: Binning,
) -> Result<f64, CalibrationError> {
    let forecasts = binary_forecasts(probabilities, labels)?;
    Ok(weighted_gap(&fill(&forecasts, binning)?))
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn as_the_definition() {
        // c = p.max(1); r = (p.argmax(1) == y).astype(float); e = np.linspace(0, 1, 11)
        // i = np.digitize(c, e, right=True)
        // sum(abs(r[i == k].mean() - c[i == k].mean()) * (i == k).mean() for k in set(i))
        let (rows, labels) = rows();
        close(ece(&rows, &labels, 10).unwrap(), 0.3833333333333333);
        close(ece(&rows, &labels, 15).unwrap(), 0.3833333333333333);
        // By hand: one bin of ten holds both rows, |0.38 - 0.68| / 2; of fifteen they have one each.
        let pair = [probabilities(&[0.62, 0.38]), probabilities(&[0.68, 0.32])];
        close(ece(&pair, &[0, 1], 10).unwrap(), 0.15);
        close(ece(&pair, &[0, 1], 15).unwrap(), 0.53);
        assert_eq!(ece(&rows, &labels, 0), Err(CalibrationError::NoBins));
    }

    #[test]
    fn equal_mass_by_hand() {
        // Tops 0.7 r, 0.6 r, 0.4 w, 0.5 w, 0.8 r, 0.5 w; halves split at 0.55: three rows at mean 7/15 and all wrong,
        // three at mean 0.7 and all right.
        let (rows, labels) = rows();
        let expected = 0.5 * (1.4 / 3.0) + 0.5 * 0.3;
        close(ece_equal_mass(&rows, &labels, 2).unwrap(), expected);
        assert_eq!(ece_equal_mass(&rows, &labels, 0), Err(CalibrationError::NoBins));
    }

    #[test]
    fn binary_by_hand() {
        let p = probabilities(&[0.1, 0.2, 0.9]);
        let found = ece_binary(&p, &[false, true, true], Binning::EqualWidth(2)).unwrap();
        close(found, (2.0 * 0.35 + 0.1) / 3.0);
    }
}
