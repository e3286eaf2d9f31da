//! Area under the risk-coverage curve.

use super::risk_coverage::Tier;
use super::top_forecasts;
use crate::{CalibrationError, Probability};

/// Area under the risk-coverage curve: `(1 / n) sum_i r_i` with r_i the share of wrong rows among the i most confident
/// (Geifman, Uziel and El-Yaniv 2019, "Bias-reduced uncertainty estimation for deep neural classifiers"). From 0 to 1,
/// lower is better; a confidence that knows nothing gives the error rate.
///
/// Confidence is the probability of the top label. Rows of equal confidence have no order: this is the mean over all
/// their orders, where implementations that sort give a figure that depends on the order of the rows.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn aurc(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<f64, CalibrationError> {
    let tiers = Tier::of(top_forecasts(rows, labels)?);
    let risks = tiers.iter().flat_map(|tier| {
        (1..=tier.rows).map(|taken| tier.wrong_among(taken) / (tier.rows_before + taken) as f64)
    });
    Ok(risks.sum::<f64>() / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::accuracy;
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn by_hand() {
        let (rows, labels) = rows();
        // Right, right, right, then 0.5 twice and 0.4, all wrong.
        close(
            aurc(&rows, &labels).unwrap(),
            (1.0 / 4.0 + 2.0 / 5.0 + 3.0 / 6.0) / 6.0,
        );
        // One of a tie of two is wrong: the mean of (1 + 1/2) / 2 and (0 + 1/2) / 2.
        let pair = [probabilities(&[0.75, 0.25]), probabilities(&[0.25, 0.75])];
        close(aurc(&pair, &[0, 0]).unwrap(), 0.5);
    }

    proptest! {
        #[test]
        fn without_confidence_it_is_the_error_rate(labels in prop::collection::vec(0_usize..2, 1..60)) {
            let rows = vec![probabilities(&[0.75, 0.25]); labels.len()];
            let error = 1.0 - accuracy(&rows, &labels).unwrap();
            prop_assert!((aurc(&rows, &labels).unwrap() - error).abs() < 1e-12);
        }
    }
}
