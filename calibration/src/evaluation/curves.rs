//! What the plots of an evaluation show, in numbers: reliability by bin, rows by confidence, risk by coverage.

use serde::{Deserialize, Serialize};

use super::EvaluationOptions;
use super::population::{Population, percentiles};
use super::sample::Sample;
use crate::metrics::{self, Binning, RiskCoveragePoint};
use crate::thresholds::clopper_pearson;
use crate::{CalibrationError, Probability};

/// Bins of a reliability diagram.
const BINS: usize = 10;
/// Bars of a confidence histogram.
const BARS: usize = 20;
/// Points that a risk-coverage curve keeps.
const POINTS: usize = 200;

/// A bin of a reliability diagram of the top label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReliabilityPoint {
    /// Lower edge; not part of the bin unless the bin is the first.
    pub lower: f64,
    /// Upper edge; part of the bin.
    pub upper: f64,
    /// Number of rows in it.
    pub rows: usize,
    /// How many of them are right.
    pub right: usize,
    /// Their mean top probability: what was promised.
    pub mean_probability: f64,
    /// The share of them that is right: what was kept.
    pub accuracy: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// A bar of a confidence histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceBar {
    /// Rows whose most probable option is the gold one.
    pub right: usize,
    /// The other rows that have a gold option.
    pub wrong: usize,
}

/// The numbers of the plots; empty where no row has a gold option.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// Reliability of the top label over 10 bins of equal width; bins that hold nothing are left out.
    ///
    /// Intervals are Clopper and Pearson's exact ones. Where rows are in groups they are widened to hold the bootstrap
    /// interval over groups: exact ones take rows as independent, and a bootstrap of few rows is too narrow.
    pub reliability: Vec<ReliabilityPoint>,
    /// Rows by top probability: 20 bars of equal width from 0 to 1, an edge in the bar below it.
    pub confidence: Vec<ConfidenceBar>,
    /// Risk by coverage, thinned to at most 200 points of about even coverage, the first and the last one among them.
    pub risk_coverage: Vec<RiskCoveragePoint>,
}

impl Curves {
    pub(super) fn of(
        population: &Population<'_>,
        options: &EvaluationOptions,
    ) -> Result<Self, CalibrationError> {
        let sample = population.sample();
        if sample.labels.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self {
            reliability: reliability(population, &sample, options)?,
            confidence: confidence(&sample),
            risk_coverage: thinned(&metrics::risk_coverage_curve(&sample.tops, &sample.wrongs)?),
        })
    }
}

fn reliability(
    population: &Population<'_>,
    sample: &Sample<'_>,
    options: &EvaluationOptions,
) -> Result<Vec<ReliabilityPoint>, CalibrationError> {
    let bins = metrics::reliability_diagram(&sample.tops, &sample.wrongs, Binning::EqualWidth(BINS))?;
    let mut points = Vec::with_capacity(bins.len());
    for bin in bins {
        let right = (bin.frequency * bin.count as f64).round() as usize;
        let exact = clopper_pearson(right, bin.count, options.confidence)?;
        points.push(ReliabilityPoint {
            lower: bin.lower,
            upper: bin.upper,
            rows: bin.count,
            right,
            mean_probability: bin.mean_probability,
            accuracy: bin.frequency,
            low: exact.lower,
            high: exact.upper,
        });
    }
    if population.is_grouped() && population.units() > 1 {
        let mut accuracies = vec![Vec::new(); points.len()];
        population.resample(options, |drawn| {
            let mut counts = vec![(0_usize, 0_usize); points.len()];
            for ([top, _], wrong) in drawn.tops.iter().zip(&drawn.wrongs) {
                let bin = points.partition_point(|point| point.upper < top.get());
                if let Some((right, rows)) = counts.get_mut(bin) {
                    *right += 1 - wrong;
                    *rows += 1;
                }
            }
            for (all, (right, rows)) in accuracies.iter_mut().zip(counts) {
                all.push((rows > 0).then(|| right as f64 / rows as f64));
            }
            Ok(())
        })?;
        for (point, all) in points.iter_mut().zip(accuracies) {
            if let Some(interval) = percentiles(all, options.confidence) {
                point.low = point.low.min(interval.low);
                point.high = point.high.max(interval.high);
            }
        }
    }
    Ok(points)
}

fn confidence(sample: &Sample<'_>) -> Vec<ConfidenceBar> {
    let mut bars = vec![ConfidenceBar { right: 0, wrong: 0 }; BARS];
    let edges: Vec<f64> = (1..BARS).map(|bar| bar as f64 / BARS as f64).collect();
    for ([top, _], wrong) in sample.tops.iter().zip(&sample.wrongs) {
        let bar = edges.partition_point(|edge| *edge < Probability::get(*top));
        if let Some(bar) = bars.get_mut(bar) {
            bar.wrong += wrong;
            bar.right += 1 - wrong;
        }
    }
    bars
}

fn thinned(curve: &[RiskCoveragePoint]) -> Vec<RiskCoveragePoint> {
    if curve.len() <= POINTS {
        return curve.to_vec();
    }
    let mut kept: Vec<RiskCoveragePoint> = curve.first().copied().into_iter().collect();
    // The first point at or above every further step; the last step is coverage 1, the last point.
    for step in 1..POINTS {
        let coverage = step as f64 / (POINTS - 1) as f64;
        let at = curve.partition_point(|point| point.coverage < coverage);
        if let Some(point) = curve.get(at).or(curve.last())
            && kept.last() != Some(point)
        {
            kept.push(*point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_curve_keeps_its_ends() {
        let curve: Vec<RiskCoveragePoint> = (1..=5000)
            .map(|rows| RiskCoveragePoint {
                threshold: 1.0 - f64::from(rows) / 10_000.0,
                coverage: f64::from(rows) / 5000.0,
                risk: f64::from(rows) / 9000.0,
            })
            .collect();
        let kept = thinned(&curve);
        assert_eq!(kept.len(), POINTS);
        assert_eq!((kept.first(), kept.last()), (curve.first(), curve.last()));
        assert!(kept.windows(2).all(|pair| pair[0].coverage < pair[1].coverage));
        assert_eq!(thinned(&curve[..200]), curve[..200]);
    }
}
