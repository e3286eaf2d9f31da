//! The risk-coverage curve: how the error falls when the least confident rows are left to a person.

use serde::{Deserialize, Serialize};

use super::{Forecast, top_forecasts};
use crate::{CalibrationError, Probability};

/// A point of the curve: what answering rows from `threshold` up means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskCoveragePoint {
    /// Rows whose most probable option has at least this probability are answered.
    pub threshold: f64,
    /// Their share of all rows.
    pub coverage: f64,
    /// The share of them that is wrong.
    pub risk: f64,
}

/// Selective risk by coverage (El-Yaniv and Wiener 2010, "On the foundations of noise-free selective classification"),
/// rows ordered by the probability of their top label: a point per distinct probability, from the highest down, so that
/// the last one is coverage 1 and risk 1 - accuracy.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn risk_coverage_curve(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<Vec<RiskCoveragePoint>, CalibrationError> {
    let tiers = Tier::of(top_forecasts(rows, labels)?);
    Ok(tiers
        .iter()
        .map(|tier| RiskCoveragePoint {
            threshold: tier.probability,
            coverage: (tier.rows_before + tier.rows) as f64 / rows.len() as f64,
            risk: tier.wrong_among(tier.rows) / (tier.rows_before + tier.rows) as f64,
        })
        .collect())
}

/// Rows with the same top probability, which nothing puts in order.
pub(super) struct Tier {
    pub probability: f64,
    /// Rows with a higher probability, and how many of those are wrong.
    pub rows_before: usize,
    pub wrong_before: usize,
    /// Rows with this probability, and how many of those are wrong.
    pub rows: usize,
    pub wrong: usize,
}

impl Tier {
    /// From the highest probability down.
    pub fn of(mut forecasts: Vec<Forecast>) -> Vec<Self> {
        // Rising and then reversed: resamples come in rising order.
        forecasts.sort_by(|a, b| a.0.total_cmp(&b.0));
        forecasts.reverse();
        let (mut rows_before, mut wrong_before) = (0, 0);
        let mut tiers = Vec::new();
        for ties in forecasts.chunk_by(|a, b| a.0 == b.0) {
            let tier = Self {
                probability: ties.first().map_or(0.0, |(p, _)| *p),
                rows_before,
                wrong_before,
                rows: ties.len(),
                wrong: ties.iter().filter(|(_, right)| !right).count(),
            };
            rows_before += tier.rows;
            wrong_before += tier.wrong;
            tiers.push(tier);
        }
        tiers
    }

    /// Expected number of wrong rows among those before and the first `taken` of this tier, over all orders of the tier.
    pub fn wrong_among(&self, taken: usize) -> f64 {
        self.wrong_before as f64 + self.wrong as f64 * taken as f64 / self.rows as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, rows};
    use super::*;

    #[test]
    fn by_hand() {
        let (rows, labels) = rows();
        let curve = risk_coverage_curve(&rows, &labels).unwrap();
        let expected = [
            (0.8, 1.0 / 6.0, 0.0),
            (0.7, 2.0 / 6.0, 0.0),
            (0.6, 0.5, 0.0),
            (0.5, 5.0 / 6.0, 0.4),
            (0.4, 1.0, 0.5),
        ];
        assert_eq!(curve.len(), expected.len());
        for (point, (threshold, coverage, risk)) in curve.iter().zip(expected) {
            close(point.threshold, threshold);
            close(point.coverage, coverage);
            close(point.risk, risk);
        }
    }
}
