//! Accuracy on the rows that are answered.

use super::risk_coverage::Tier;
use super::top_forecasts;
use crate::{CalibrationError, Probability};

/// Accuracy among the most confident rows: the fewest of them that make at least a share `coverage` of all
/// (`m = ceil(coverage n)`, from 1 to n); 1 less the selective risk of Geifman and El-Yaniv 2017, "Selective
/// classification for deep neural networks".
///
/// Confidence is the probability of the top label. Of rows of equal confidence where the cut falls, this takes the mean
/// over all choices. At coverage 1 it is the accuracy.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or a coverage of 0.
pub fn selective_accuracy(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    coverage: Probability,
) -> Result<f64, CalibrationError> {
    let tiers = Tier::of(top_forecasts(rows, labels)?);
    if coverage == Probability::ZERO {
        return Err(CalibrationError::Undefined {
            metric: "selective accuracy",
            needs: "a coverage above 0",
        });
    }
    let answered = fewest(coverage.get(), rows.len());
    let cut = tiers
        .iter()
        .find(|tier| tier.rows_before + tier.rows >= answered)
        .map_or(0.0, |tier| tier.wrong_among(answered - tier.rows_before));
    Ok(1.0 - cut / answered as f64)
}

/// The smallest m from 1 to n with `m / n >= coverage`.
fn fewest(coverage: f64, n: usize) -> usize {
    let enough = |m: usize| m as f64 / n as f64 >= coverage;
    let mut m = ((coverage * n as f64).ceil() as usize).clamp(1, n);
    // The product rounds (0.07 * 100 is above 7); the quotient decides.
    while m > 1 && enough(m - 1) {
        m -= 1;
    }
    while m < n && !enough(m) {
        m += 1;
    }
    m
}

#[cfg(test)]
mod tests {
    use super::super::accuracy;
    use super::super::example::{close, rows};
    use super::*;

    fn at(coverage: f64) -> f64 {
        let (rows, labels) = rows();
        selective_accuracy(&rows, &labels, Probability::new(coverage).unwrap()).unwrap()
    }

    #[test]
    fn by_hand() {
        close(at(1e-9), 1.0);
        close(at(0.5), 1.0);
        // Four rows: three right ones and one of the two at 0.5, both wrong.
        close(at(0.51), 0.75);
        close(at(4.0 / 6.0), 0.75);
        close(at(0.7), 0.6);
        let (rows, labels) = rows();
        close(at(1.0), accuracy(&rows, &labels).unwrap());
        assert!(selective_accuracy(&rows, &labels, Probability::ZERO).is_err());
    }

    #[test]
    fn rounding_takes_no_row_more() {
        assert_eq!(fewest(0.07, 100), 7);
        assert_eq!(fewest(0.29, 100), 29);
        assert_eq!(fewest(0.071, 100), 8);
        assert_eq!(fewest(1.0, 3), 3);
        assert_eq!(fewest(f64::MIN_POSITIVE, 3), 1);
    }
}
