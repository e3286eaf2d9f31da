//! Class-wise expected calibration error.

use super::bins::{Binning, fill, weighted_gap};
use super::option_forecasts;
use crate::{CalibrationError, Probability};

/// Mean over the options of the expected calibration error of each option's own probability:
/// `(1 / K) sum_k sum_b (n_kb / n_k) |share of label k_kb - mean p_kb|`, from 0 to 1 (Kull et al. 2019, "Beyond
/// temperature scaling", where it is called classwise-ECE).
///
/// n_k is the number of rows that have an option k: all of them in the original, where all rows have the same options.
/// Bins of equal mass are each option's own. With many options most probabilities are near 0 and so is this.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn classwise_ece(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    binning: Binning,
) -> Result<f64, CalibrationError> {
    let errors = option_forecasts(rows, labels)?
        .map(|forecasts| Ok(weighted_gap(&fill(&forecasts, binning)?)))
        .collect::<Result<Vec<f64>, CalibrationError>>()?;
    Ok(errors.iter().sum::<f64>() / errors.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::ece_binary;
    use super::super::example::{close, probabilities};
    use super::*;

    #[test]
    fn of_a_predicate_it_is_the_binary_error() {
        let p = probabilities(&[0.15, 0.23, 0.94, 0.52]);
        let pairs: Vec<_> = p.iter().map(|p| vec![p.complement(), *p]).collect();
        let binary = ece_binary(&p, &[false, true, true, false], Binning::EqualWidth(10)).unwrap();
        close(
            classwise_ece(&pairs, &[0, 1, 1, 0], Binning::EqualWidth(10)).unwrap(),
            binary,
        );
    }

    #[test]
    fn rows_without_an_option_do_not_count_for_it() {
        let rows = [probabilities(&[0.5, 0.25, 0.25]), probabilities(&[0.75, 0.25])];
        // One bin. Option 0: |1/2 - 5/8|; 1: |1/2 - 1/4|; 2, of one row: |0 - 1/4|.
        let found = classwise_ece(&rows, &[1, 0], Binning::EqualWidth(1)).unwrap();
        close(found, (0.125 + 0.25 + 0.25) / 3.0);
    }
}
