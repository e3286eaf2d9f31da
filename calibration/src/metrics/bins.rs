//! Bins of probabilities, shared by every metric that compares stated with observed frequencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Forecast;
use super::quantile::quantile;
use crate::CalibrationError;

/// How probabilities are put into bins. Figures with different bins do not compare: say which ones were used. 10 and 15
/// are usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Binning {
    /// This many bins of equal width: bin b of B holds `(b / B, (b + 1) / B]`, the first one 0 as well (Guo et al.
    /// 2017, "On calibration of modern neural networks", section 2).
    EqualWidth(usize),
    /// This many bins of equal mass: bin b of B holds `(q(b / B), q((b + 1) / B)]`, q the quantiles of the probabilities
    /// themselves (linear interpolation), the first one the smallest probability as well. Equal probabilities are never
    /// parted, so the result does not depend on the order of the rows, and many ties make fewer bins.
    EqualMass(usize),
}

/// Bins whose edges are worth computing beforehand.
const FEW: usize = 64;

/// A bin that holds something.
pub(super) struct Bin {
    /// Its lower edge.
    pub lower: f64,
    /// Its upper edge.
    pub upper: f64,
    /// What it holds, in the order of the input.
    pub forecasts: Vec<Forecast>,
}

impl Bin {
    pub fn count(&self) -> f64 {
        self.forecasts.len() as f64
    }

    /// How many of its events happened.
    pub fn events(&self) -> usize {
        self.forecasts.iter().filter(|(_, event)| *event).count()
    }

    pub fn frequency(&self) -> f64 {
        self.events() as f64 / self.count()
    }

    pub fn mean_probability(&self) -> f64 {
        self.forecasts.iter().map(|(p, _)| p).sum::<f64>() / self.count()
    }

    /// Observed frequency less mean probability: above 0 where the probabilities are too low. Summed as differences,
    /// so that a bin of certain and right forecasts gives exactly 0.
    pub fn gap(&self) -> f64 {
        let gaps = self
            .forecasts
            .iter()
            .map(|(p, event)| f64::from(u8::from(*event)) - p);
        gaps.sum::<f64>() / self.count()
    }
}

/// The bins that hold something, by rising probability.
pub(super) fn fill(forecasts: &[Forecast], binning: Binning) -> Result<Vec<Bin>, CalibrationError> {
    let edges = Edges::new(forecasts, binning)?;
    let bin = |(bin, forecasts): (usize, Vec<Forecast>)| Bin {
        lower: edges.edge(bin),
        upper: edges.edge(bin + 1),
        forecasts,
    };
    if edges.bins() > FEW {
        let mut bins: BTreeMap<usize, Vec<Forecast>> = BTreeMap::new();
        for (p, event) in forecasts {
            bins.entry(edges.bin_of(*p)).or_default().push((*p, *event));
        }
        return Ok(bins.into_iter().map(bin).collect());
    }
    // The same, for as many bins as are usual: resampling does this millions of times.
    let inner: Vec<f64> = (1..edges.bins()).map(|bin| edges.edge(bin)).collect();
    let mut bins: Vec<Vec<Forecast>> = vec![Vec::new(); edges.bins()];
    for (p, event) in forecasts {
        if let Some(bin) = bins.get_mut(inner.partition_point(|edge| edge < p)) {
            bin.push((*p, *event));
        }
    }
    let filled = bins
        .into_iter()
        .enumerate()
        .filter(|(_, forecasts)| !forecasts.is_empty());
    Ok(filled.map(bin).collect())
}

/// `sum_b (n_b / n) |frequency_b - mean probability_b|`.
pub(super) fn weighted_gap(bins: &[Bin]) -> f64 {
    let count: f64 = bins.iter().map(Bin::count).sum();
    bins.iter().map(|bin| bin.count() * bin.gap().abs()).sum::<f64>() / count
}

enum Edges {
    Width { bins: usize },
    Mass { bins: usize, sorted: Vec<f64> },
}

impl Edges {
    fn new(forecasts: &[Forecast], binning: Binning) -> Result<Self, CalibrationError> {
        match binning {
            Binning::EqualWidth(0) | Binning::EqualMass(0) => Err(CalibrationError::NoBins),
            Binning::EqualWidth(bins) => Ok(Self::Width { bins }),
            Binning::EqualMass(bins) => {
                let mut sorted: Vec<f64> = forecasts.iter().map(|(p, _)| *p).collect();
                sorted.sort_unstable_by(f64::total_cmp);
                Ok(Self::Mass { bins, sorted })
            }
        }
    }

    fn bins(&self) -> usize {
        match self {
            Self::Width { bins } | Self::Mass { bins, .. } => *bins,
        }
    }

    /// The lower edge of a bin, or the upper edge of the one before.
    fn edge(&self, bin: usize) -> f64 {
        match self {
            Self::Width { bins } => bin as f64 / *bins as f64,
            Self::Mass { bins, sorted } => quantile(sorted, bin, *bins),
        }
    }

    /// The first bin whose upper edge is not below p.
    fn bin_of(&self, p: f64) -> usize {
        // Edges rise, and the last upper edge is 1 or the largest probability: the answer is in low..=high throughout.
        let (mut low, mut high) = (0, self.bins() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if p <= self.edge(middle + 1) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn width(p: f64, bins: usize) -> usize {
        Edges::Width { bins }.bin_of(p)
    }

    #[test]
    fn edges_belong_to_the_lower_bin() {
        for (p, bin) in [
            (0.0, 0),
            (0.1, 0),
            (0.10000001, 1),
            (0.3, 2),
            (0.6, 5),
            (0.7, 6),
            (0.9, 8),
            (1.0, 9),
        ] {
            assert_eq!(width(p, 10), bin, "{p}");
        }
        assert_eq!(width(1.0, 15), 14);
        assert_eq!(width(0.2, 15), 2);
        assert_eq!(width(0.5, 1), 0);
        // Where the product of probability and bins rounds to the wrong side of an edge.
        assert_eq!(width(7.0 / 25.0, 25), 6);
        assert_eq!(width((1.0_f64 / 3.0).next_up(), 3), 1);
        // Absurd numbers of bins cost nothing.
        assert!(width(1.0, usize::MAX) > usize::MAX / 2);
    }

    fn masses(probabilities: &[f64], bins: usize) -> Vec<usize> {
        let forecasts: Vec<Forecast> = probabilities.iter().map(|p| (*p, true)).collect();
        let filled = fill(&forecasts, Binning::EqualMass(bins)).unwrap();
        filled.iter().map(|bin| bin.forecasts.len()).collect()
    }

    #[test]
    fn equal_mass_parts_no_ties() {
        assert_eq!(masses(&[0.9, 0.1, 0.5, 0.3, 0.7, 0.2], 3), [2, 2, 2]);
        assert_eq!(masses(&[0.9, 0.1, 0.5, 0.3, 0.7, 0.2], 1), [6]);
        // q(1/2) = 0.5: all four of them.
        assert_eq!(masses(&[0.5, 0.1, 0.5, 0.5, 0.5, 0.9], 2), [5, 1]);
        assert_eq!(masses(&[0.5; 7], 15), [7]);
        assert_eq!(masses(&[0.25], 15), [1]);
        // More bins than rows: one each.
        assert_eq!(masses(&[0.1, 0.2, 0.3], 1000), [1, 1, 1]);
        assert_eq!(masses(&[0.1, 0.2, 0.3], usize::MAX), [1, 1, 1]);
    }

    proptest! {
        #[test]
        fn bins_are_filled_alike_few_or_many(
            p in prop::collection::vec(0_u32..40, 1..60),
            count in 1_usize..=FEW,
            mass in any::<bool>(),
        ) {
            let forecasts: Vec<Forecast> = p.iter().map(|p| (f64::from(*p) / 39.0, p % 3 == 0)).collect();
            let binning = if mass { Binning::EqualMass(count) } else { Binning::EqualWidth(count) };
            let edges = Edges::new(&forecasts, binning).unwrap();
            let bins = fill(&forecasts, binning).unwrap();
            prop_assert_eq!(bins.iter().map(|bin| bin.forecasts.len()).sum::<usize>(), forecasts.len());
            for bin in &bins {
                for (p, _) in &bin.forecasts {
                    let expected = edges.bin_of(*p);
                    prop_assert_eq!((bin.lower, bin.upper), (edges.edge(expected), edges.edge(expected + 1)));
                }
            }
        }
    }

    #[test]
    fn no_bins_are_refused() {
        for binning in [Binning::EqualWidth(0), Binning::EqualMass(0)] {
            assert!(matches!(
                fill(&[(0.5, true)], binning),
                Err(CalibrationError::NoBins)
            ));
        }
    }
}
