//! Histogram binning.

use serde::{Deserialize, Serialize};

use super::predicate::{margin, margins};
use super::softmax::sigmoid;
use crate::{CalibrationError, ScoredRow};

const WHAT: &str = "histogram binning";

/// Histogram binning of a predicate: each bin of the raw probability of true gives the rate of true rows in it (Zadrozny
/// and Elkan 2001).
///
/// Bin b holds `(edge_b, edge_(b+1)]`, the first one 0 as well, as in [`crate::metrics::ece`]. Probabilities within a bin
/// become equal, and the argmax may change: see [`Argmax`](super::Argmax).
///
/// JSON: `{"edges": [0.0, 0.5, 1.0], "probabilities": [0.1, 0.8]}`: edges strictly increasing from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Histogram {
    edges: Vec<f64>,
    probabilities: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    edges: Vec<f64>,
    probabilities: Vec<f64>,
}

impl TryFrom<Stored> for Histogram {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        let Stored { edges, probabilities } = stored;
        let good = edges.len() == probabilities.len() + 1
            && edges.first() == Some(&0.0)
            && edges.last() == Some(&1.0)
            && edges.windows(2).all(|pair| pair[0] < pair[1])
            && probabilities.iter().all(|p| (0.0..=1.0).contains(p));
        if good {
            Ok(Self { edges, probabilities })
        } else {
            Err(CalibrationError::Stored {
                what: WHAT,
                reason: "edges must increase from 0 to 1 and there must be one probability per bin"
                    .to_owned(),
            })
        }
    }
}

/// How the bins are laid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bins {
    /// Of equal width from 0 to 1.
    EqualWidth,
    /// Of equal numbers of rows: inner edges are the raw probabilities at equal steps of rank; equal edges are merged.
    #[default]
    EqualMass,
}

/// The most bins that can be asked for.
const MOST_BINS: usize = 1000;

impl Histogram {
    /// The rate of true rows in each of `count` bins, drawn to the bin's middle by `prior` rows there:
    /// `(true + prior * middle) / (rows + prior)`. A bin without rows gives its middle.
    ///
    /// With `prior` 0 a bin whose rows agree gives 0 or 1, and one wrong answer costs infinitely many nats; 1 is a good
    /// choice. netcal's `HistogramBinning` is equal width with `prior` 0, save that it fits on bins closed below and applies
    /// bins closed above, which differs on rows that lie on an edge.
    ///
    /// # Errors
    /// No rows, rows without exactly two options, no bins or more than 1000, or a prior that is negative or not finite.
    pub fn fit(rows: &[ScoredRow], count: usize, bins: Bins, prior: f64) -> Result<Self, CalibrationError> {
        let (margins, labels) = margins(WHAT, rows)?;
        if count == 0 {
            return Err(CalibrationError::NoBins);
        }
        if count > MOST_BINS {
            return Err(CalibrationError::Setting {
                name: "bins",
                value: count as f64,
                must: "from 1 to 1000",
            });
        }
        if !(prior >= 0.0 && prior.is_finite()) {
            return Err(CalibrationError::Setting {
                name: "prior",
                value: prior,
                must: "0 or more",
            });
        }
        let raw: Vec<f64> = margins.iter().map(|d| sigmoid(*d)).collect();
        let mut edges = vec![0.0];
        let mut sorted = raw.clone();
        sorted.sort_by(f64::total_cmp);
        for bin in 1..count {
            let edge = match bins {
                Bins::EqualWidth => bin as f64 / count as f64,
                Bins::EqualMass => sorted
                    .get((bin * sorted.len() / count).saturating_sub(1))
                    .copied()
                    .unwrap_or(1.0),
            };
            if edges.last().is_some_and(|last| edge > *last) && edge < 1.0 {
                edges.push(edge);
            }
        }
        edges.push(1.0);
        let mut counts = vec![(0.0, 0.0); edges.len() - 1];
        for (p, label) in raw.iter().zip(labels) {
            if let Some((rows, yes)) = counts.get_mut(bin_of(*p, &edges)) {
                *rows += 1.0;
                *yes += f64::from(u8::from(label));
            }
        }
        let probabilities = counts
            .iter()
            .zip(edges.windows(2))
            .map(|((rows, yes), edge)| {
                let middle = (edge[0] + edge[1]) / 2.0;
                if rows + prior > 0.0 {
                    (yes + prior * middle) / (rows + prior)
                } else {
                    middle
                }
            })
            .collect();
        Ok(Self { edges, probabilities })
    }

    /// The bins' edges, from 0 to 1.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// What each bin gives.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    pub(crate) fn map(&self, scores: &[f32]) -> Result<Vec<f64>, CalibrationError> {
        let raw = sigmoid(margin(WHAT, scores)?);
        let p = self
            .probabilities
            .get(bin_of(raw, &self.edges))
            .copied()
            .unwrap_or(raw);
        Ok(vec![1.0 - p, p])
    }
}

/// The bin whose edges enclose p: above its lower one, at most its upper one.
fn bin_of(p: f64, edges: &[f64]) -> usize {
    edges
        .partition_point(|edge| *edge < p)
        .clamp(1, edges.len().saturating_sub(1).max(1))
        - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn rows(raw: &[f64], labels: &[usize]) -> Vec<ScoredRow> {
        raw.iter()
            .zip(labels)
            .map(|(p, label)| {
                let d = (p / (1.0 - p)).ln() as f32;
                ScoredRow::new(vec![0.0, d], *label, Shape::Predicate).unwrap()
            })
            .collect()
    }

    #[test]
    fn by_hand() {
        let data = rows(&[0.05, 0.1, 0.3, 0.31, 0.32, 0.9], &[0, 1, 0, 0, 0, 1]);
        let plain = Histogram::fit(&data, 4, Bins::EqualWidth, 0.0).unwrap();
        assert_eq!(plain.edges(), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(plain.probabilities(), [0.5, 0.0, 0.625, 1.0]);
        let drawn = Histogram::fit(&data, 4, Bins::EqualWidth, 1.0).unwrap();
        assert_eq!(
            drawn.probabilities(),
            [1.125 / 3.0, 0.375 / 4.0, 0.625, 1.875 / 2.0]
        );
        let mass = Histogram::fit(&data, 2, Bins::EqualMass, 0.0).unwrap();
        assert!((mass.edges()[1] - 0.3).abs() < 1e-7);
        assert_eq!(mass.probabilities(), [1.0 / 3.0, 1.0 / 3.0]);
        // Exactly on an edge: the lower bin.
        let half = ScoredRow::new(vec![1.0, 1.0], 1, Shape::Predicate).unwrap();
        let on_edge = Histogram::fit(&[half], 2, Bins::EqualWidth, 0.0).unwrap();
        assert_eq!(on_edge.probabilities(), [1.0, 0.75]);
        assert_eq!(on_edge.map(&[0.0, -800.0]).unwrap(), [0.0, 1.0]);
        assert_eq!(on_edge.map(&[0.0, 800.0]).unwrap(), [0.25, 0.75]);
    }

    #[test]
    fn degenerate_input() {
        let data = rows(&[0.5; 5], &[1; 5]);
        for bins in [Bins::EqualWidth, Bins::EqualMass] {
            for count in [1, 7, 1000] {
                let fitted = Histogram::fit(&data, count, bins, 1.0).unwrap();
                assert!(fitted.edges().windows(2).all(|pair| pair[0] < pair[1]));
                assert!(fitted.probabilities().iter().all(|p| *p > 0.0 && *p < 1.0));
            }
        }
        assert!(Histogram::fit(&data, 0, Bins::EqualMass, 1.0).is_err());
        assert!(Histogram::fit(&data, 1001, Bins::EqualMass, 1.0).is_err());
        assert!(Histogram::fit(&data, 10, Bins::EqualMass, -1.0).is_err());
        assert!(Histogram::fit(&data, 10, Bins::EqualMass, f64::NAN).is_err());
        for bad in [
            r#"{"edges":[0,1],"probabilities":[]}"#,
            r#"{"edges":[0,0,1],"probabilities":[0,1]}"#,
            r#"{"edges":[0.1,1],"probabilities":[0.5]}"#,
            r#"{"edges":[0,1],"probabilities":[1.5]}"#,
            r#"{"edges":[],"probabilities":[]}"#,
        ] {
            assert!(serde_json::from_str::<Histogram>(bad).is_err(), "{bad}");
        }
    }
}
