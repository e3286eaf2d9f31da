//! Expected calibration error, split by direction.

use serde::{Deserialize, Serialize};

use super::bins::{Bin, Binning, fill};
use super::top_forecasts;
use crate::{CalibrationError, Probability};

/// The two parts of a calibration error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OverUnderConfidence {
    /// `sum_b (n_b / n) max(0, mean probability_b - accuracy_b)`: more was promised than kept.
    pub over: f64,
    /// `sum_b (n_b / n) max(0, accuracy_b - mean probability_b)`: more was kept than promised.
    pub under: f64,
}

/// Splits the expected calibration error of the top label over the bins that promise too much and those that promise too
/// little. Both from 0 to 1; `over + under` is the expected calibration error with these bins, and `over - under` is the
/// mean top probability less the accuracy, whatever the bins.
///
/// Not the overconfidence error of Thulasidasan et al. 2019 ("On mixup training"), which weights each bin's excess by
/// its mean probability once more.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn over_under_confidence(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    binning: Binning,
) -> Result<OverUnderConfidence, CalibrationError> {
    let bins = fill(&top_forecasts(rows, labels)?, binning)?;
    let of_sign = |sign: f64| {
        let gaps = bins.iter().map(|bin| bin.count() * (sign * bin.gap()).max(0.0));
        gaps.sum::<f64>() / rows.len() as f64
    };
    debug_assert_eq!(bins.iter().map(Bin::count).sum::<f64>(), rows.len() as f64);
    Ok(OverUnderConfidence {
        over: of_sign(-1.0),
        under: of_sign(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, rows};
    use super::super::{accuracy, ece, ece_equal_mass, top};
    use super::*;

    #[test]
    fn parts_of_the_whole() {
        let (rows, labels) = rows();
        let mean_top = rows.iter().map(|row| top(row).1).sum::<f64>() / rows.len() as f64;
        let excess = mean_top - accuracy(&rows, &labels).unwrap();
        for bins in [1, 2, 10, 15] {
            let wide = over_under_confidence(&rows, &labels, Binning::EqualWidth(bins)).unwrap();
            close(wide.over + wide.under, ece(&rows, &labels, bins).unwrap());
            close(wide.over - wide.under, excess);
            let mass = over_under_confidence(&rows, &labels, Binning::EqualMass(bins)).unwrap();
            close(
                mass.over + mass.under,
                ece_equal_mass(&rows, &labels, bins).unwrap(),
            );
            close(mass.over - mass.under, excess);
        }
        // By hand: wrong at 0.4, 0.5 and 0.5; right at 0.6, 0.7 and 0.8.
        let split = over_under_confidence(&rows, &labels, Binning::EqualWidth(10)).unwrap();
        close(split.over, 1.4 / 6.0);
        close(split.under, 0.9 / 6.0);
    }
}
