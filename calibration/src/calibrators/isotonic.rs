//! Isotonic regression.

use serde::{Deserialize, Serialize};

use super::predicate::{margin, margins};
use crate::{CalibrationError, ScoredRow};

const WHAT: &str = "isotonic regression";

/// Isotonic regression of a predicate: the non-decreasing function of the margin `d = s_true - s_false` that is nearest
/// to the labels in least squares (Zadrozny and Elkan 2002), by pooling adjacent violators.
///
/// Rows of equal margin are one point with their mean label. Between points the function is linear in d; beyond the
/// first and the last point it stays at their values. As scikit-learn's `IsotonicRegression(y_min=0, y_max=1,
/// out_of_bounds="clip")` on d, apart from [`Isotonic::floor`].
///
/// The argmax may change: see [`Argmax`](super::Argmax).
///
/// JSON: `{"margins": [-1.0, 2.0], "probabilities": [0.1, 0.9], "floor": 0.05}`, margins strictly increasing,
/// probabilities non-decreasing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Stored")]
pub struct Isotonic {
    margins: Vec<f64>,
    probabilities: Vec<f64>,
    floor: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    margins: Vec<f64>,
    probabilities: Vec<f64>,
    floor: f64,
}

impl TryFrom<Stored> for Isotonic {
    type Error = CalibrationError;

    fn try_from(stored: Stored) -> Result<Self, CalibrationError> {
        let Stored {
            margins,
            probabilities,
            floor,
        } = stored;
        let good = !margins.is_empty()
            && margins.len() == probabilities.len()
            && margins.iter().all(|d| d.is_finite())
            && margins.windows(2).all(|pair| pair[0] < pair[1])
            && probabilities.windows(2).all(|pair| pair[0] <= pair[1])
            && probabilities.iter().all(|p| (0.0..=1.0).contains(p))
            && (0.0..=0.5).contains(&floor);
        if good {
            Ok(Self {
                margins,
                probabilities,
                floor,
            })
        } else {
            Err(CalibrationError::Stored {
                what: WHAT,
                reason: "margins must increase, probabilities must not decrease, one per margin; floor from 0 to 0.5"
                    .to_owned(),
            })
        }
    }
}

/// A run of pooled points: sum of labels, number of rows, first and last margin.
struct Block {
    sum: f64,
    rows: f64,
    first: f64,
    last: f64,
}

impl Isotonic {
    /// The fit, with probabilities kept from `1 / (n + 2)` to `1 - 1 / (n + 2)`, n the number of rows: what Laplace's rule
    /// of succession gives when all of n rows agree. Without a floor, one wrong answer of a pure block costs infinitely
    /// many nats.
    ///
    /// # Errors
    /// No rows, or rows without exactly two options.
    pub fn fit(rows: &[ScoredRow]) -> Result<Self, CalibrationError> {
        Self::fit_with_floor(rows, 1.0 / (rows.len() as f64 + 2.0))
    }

    /// The fit, with probabilities kept from `floor` to `1 - floor`; scikit-learn's has floor 0.
    ///
    /// # Errors
    /// No rows, rows without exactly two options, or a floor outside of 0 to 0.5.
    pub fn fit_with_floor(rows: &[ScoredRow], floor: f64) -> Result<Self, CalibrationError> {
        let (margins, labels) = margins(WHAT, rows)?;
        if !(0.0..=0.5).contains(&floor) {
            return Err(CalibrationError::Setting {
                name: "floor",
                value: floor,
                must: "from 0 to 0.5",
            });
        }
        let mut sorted: Vec<(f64, bool)> = margins.into_iter().zip(labels).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut blocks: Vec<Block> = Vec::new();
        for ties in sorted.chunk_by(|a, b| a.0 == b.0) {
            let Some((d, _)) = ties.first().copied() else {
                continue;
            };
            let mut block = Block {
                sum: ties.iter().filter(|(_, label)| *label).count() as f64,
                rows: ties.len() as f64,
                first: d,
                last: d,
            };
            // Both means are of whole numbers: compared crosswise they are compared exactly.
            while let Some(before) =
                blocks.pop_if(|before| before.sum * block.rows >= block.sum * before.rows)
            {
                block.sum += before.sum;
                block.rows += before.rows;
                block.first = before.first;
            }
            blocks.push(block);
        }
        let mut fitted = Self {
            margins: Vec::new(),
            probabilities: Vec::new(),
            floor,
        };
        for block in blocks {
            let p = (block.sum / block.rows).clamp(floor, 1.0 - floor);
            fitted.margins.push(block.first);
            fitted.probabilities.push(p);
            if block.last > block.first {
                fitted.margins.push(block.last);
                fitted.probabilities.push(p);
            }
        }
        Ok(fitted)
    }

    /// The margins where the function bends and its probabilities there.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.margins
            .iter()
            .copied()
            .zip(self.probabilities.iter().copied())
    }

    /// The lowest probability that it gives.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// P(true) at a margin.
    fn at(&self, d: f64) -> f64 {
        let after = self.margins.partition_point(|margin| *margin <= d);
        let point = |index: usize| Some((*self.margins.get(index)?, *self.probabilities.get(index)?));
        match (after.checked_sub(1).and_then(point), point(after)) {
            (Some((low, p)), Some((high, q))) => {
                // Halves, so that the distance of two extreme margins does not overflow.
                let share = (d / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
                (p + share.clamp(0.0, 1.0) * (q - p)).clamp(p, q)
            }
            (Some((_, p)), None) | (None, Some((_, p))) => p,
            (None, None) => 0.5,
        }
    }

    pub(crate) fn map(&self, scores: &[f32]) -> Result<Vec<f64>, CalibrationError> {
        let p = self.at(margin(WHAT, scores)?);
        Ok(vec![1.0 - p, p])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::row::example::predicates as rows;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn by_hand() {
        // 0, then 1 0 pooled to 1/2, then 1; two rows tie at 4.
        let data = rows(&[4.0, 1.0, 3.0, 2.0, 4.0], &[1, 0, 0, 1, 1]);
        let fitted = Isotonic::fit_with_floor(&data, 0.0).unwrap();
        let points: Vec<_> = fitted.points().collect();
        assert_eq!(points, [(1.0, 0.0), (2.0, 0.5), (3.0, 0.5), (4.0, 1.0)]);
        for (d, p) in [
            (-9.0, 0.0),
            (1.0, 0.0),
            (1.5, 0.25),
            (2.7, 0.5),
            (3.5, 0.75),
            (4.0, 1.0),
            (1e30, 1.0),
        ] {
            close(fitted.at(d), p);
        }
        let floored = Isotonic::fit(&data).unwrap();
        close(floored.at(0.0), 1.0 / 7.0);
        close(floored.at(9.0), 6.0 / 7.0);
    }

    #[test]
    fn degenerate_rows() {
        let one = Isotonic::fit(&rows(&[2.0], &[1])).unwrap();
        close(one.at(-5.0), 2.0 / 3.0);
        close(one.at(5.0), 2.0 / 3.0);
        let constant = Isotonic::fit(&rows(&[1.0, 2.0, 3.0], &[0, 0, 0])).unwrap();
        close(constant.at(2.0), 0.2);
        let equal = Isotonic::fit(&rows(&[1.0; 4], &[0, 1, 1, 1])).unwrap();
        assert_eq!(equal.at(-1.0), 0.75);
        let wide = Isotonic::fit_with_floor(&rows(&[f32::MIN, f32::MAX], &[0, 1]), 0.0).unwrap();
        assert_eq!(wide.at(0.0), 0.5);
        assert!(Isotonic::fit(&[]).is_err());
        assert!(Isotonic::fit_with_floor(&rows(&[1.0], &[1]), 0.6).is_err());
        for bad in [
            r#"{"margins":[],"probabilities":[],"floor":0}"#,
            r#"{"margins":[1,1],"probabilities":[0,1],"floor":0}"#,
            r#"{"margins":[1,2],"probabilities":[0.9,0.1],"floor":0}"#,
            r#"{"margins":[1,2],"probabilities":[0.9],"floor":0}"#,
            r#"{"margins":[1],"probabilities":[1.1],"floor":0}"#,
        ] {
            assert!(serde_json::from_str::<Isotonic>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_decreases_and_keeps_the_sum(data in prop::collection::vec((-8_i8..8, 0_usize..2), 1..60)) {
            let (d, y): (Vec<f32>, Vec<usize>) = data.iter().map(|(d, y)| (f32::from(*d), *y)).unzip();
            let fitted = Isotonic::fit_with_floor(&rows(&d, &y), 0.0).unwrap();
            let grid: Vec<f64> = (-40..=40).map(|x| fitted.at(f64::from(x) / 4.0)).collect();
            prop_assert!(grid.windows(2).all(|pair| pair[0] <= pair[1]));
            // Least squares keep the sum of the labels.
            let sum: f64 = d.iter().map(|d| fitted.at(f64::from(*d))).sum();
            prop_assert!((sum - y.iter().sum::<usize>() as f64).abs() < 1e-9);
        }
    }
}
