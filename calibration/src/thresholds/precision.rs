//! The lowest threshold that keeps precision.

use serde::{Deserialize, Serialize};

use super::clopper_pearson::{lower_bound, upper_tail};
use super::{check_lengths, check_open};
use crate::{CalibrationError, FormatVersion, Probability};

/// Which thresholds are tried, and on which rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Search<'a> {
    /// These, in this order, on all rows. They must not have been chosen by looking at the rows.
    Fixed(&'a [f64]),
    /// Rows that are marked true lay out the thresholds: the distinct probabilities among them, downward from the one at
    /// which they speak most clearly for the wish. The other rows test them. [`crate::calibrators::split`] marks rows; a
    /// quarter is a good share.
    Designed(&'a [bool]),
}

/// One threshold that was tested.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Accepted are probabilities of at least this.
    pub threshold: f64,
    /// Number of testing rows that were accepted.
    pub accepted: usize,
    /// How many of those were right.
    pub right: usize,
    /// The Clopper-Pearson lower bound of the precision, at the search's confidence; 0 where nothing was accepted.
    pub lower_bound: f64,
    /// Whether that bound reaches the wish.
    pub passed: bool,
}

/// The threshold that was found and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionThreshold {
    /// The version of this form.
    pub version: FormatVersion<1>,
    /// The precision wished for.
    pub wish: f64,
    /// The confidence with which it is kept.
    pub confidence: f64,
    /// Accept probabilities of at least this; none when no threshold passed.
    pub threshold: Option<f64>,
    /// The tests, in order; all but the last passed, and the last one too where thresholds ran out.
    pub tested: Vec<Test>,
    /// How many rows laid out the thresholds, and tested nothing.
    pub designing_rows: usize,
    /// How many rows tested them.
    pub testing_rows: usize,
    /// How many accepted rows it takes at least, all of them right, for any threshold to pass:
    /// `ln(1 - confidence) / ln wish`, rounded up.
    pub least_accepted: usize,
}

/// The lowest threshold at which the precision of "accept when p is at least the threshold" is `wish` or more with
/// `confidence`: for the probability of a predicate or of one option and whether it was the right one, or for the
/// probability of the top option and whether the answer was right.
///
/// Searching many thresholds and keeping the best-looking one would break the promise. Here they are tested in a fixed
/// sequence that does not depend on the testing rows, each at the full `1 - confidence`, until the first one fails; the
/// last that passed is returned. A promise is broken only if the first threshold of too low a precision passes its test,
/// which has probability at most `1 - confidence`: fixed-sequence testing (Bauer 1991), the "split fixed sequence" of Learn
/// then Test (Angelopoulos et al. 2021, section 2.3 and appendix). So the precision is kept at *all* thresholds that passed,
/// at once, and nothing is assumed about the probabilities, not even that higher ones are right more often.
///
/// A test asks whether the accepted rows would be this good with probability at most `1 - confidence` if the precision
/// were below the wish, `P(Bin(accepted, wish) >= right) <= 1 - confidence`, which says that the Clopper-Pearson lower bound
/// is at least `wish`.
///
/// # Errors
/// No rows, unequal lengths, a wish or confidence that is not between 0 and 1, no or unordered thresholds, or a design that
/// leaves no rows for one of the two uses.
pub fn precision_threshold(
    probabilities: &[Probability],
    labels: &[bool],
    wish: f64,
    confidence: f64,
    search: Search<'_>,
) -> Result<PrecisionThreshold, CalibrationError> {
    let keys: Vec<f64> = probabilities.iter().map(|p| p.get()).collect();
    keep_precision(&keys, labels, wish, confidence, search)
}

/// The same for any finite numbers of which higher ones are accepted.
pub(super) fn keep_precision(
    keys: &[f64],
    labels: &[bool],
    wish: f64,
    confidence: f64,
    search: Search<'_>,
) -> Result<PrecisionThreshold, CalibrationError> {
    check_lengths(keys.len(), labels.len())?;
    check_open("wish", wish)?;
    check_open("confidence", confidence)?;
    let rows = || keys.iter().copied().zip(labels.iter().copied());
    let (candidates, testing, designing_rows) = match search {
        Search::Fixed(thresholds) => {
            check_thresholds(thresholds)?;
            (thresholds.to_vec(), Ranked::new(rows()), 0)
        }
        Search::Designed(design) => {
            check_lengths(keys.len(), design.len())?;
            let part = |wanted: bool| {
                Ranked::new(
                    rows()
                        .zip(design)
                        .filter(move |(_, of)| **of == wanted)
                        .map(|(row, _)| row),
                )
            };
            let (designing, testing) = (part(true), part(false));
            if designing.keys.is_empty() || testing.keys.is_empty() {
                return Err(CalibrationError::Empty(
                    "rows for one of the two parts of the search",
                ));
            }
            (laid_out(&designing, wish), testing, designing.keys.len())
        }
    };
    let alpha = 1.0 - confidence;
    let mut tested = Vec::new();
    let mut threshold = None;
    for candidate in candidates {
        let (accepted, right) = testing.at_least(candidate);
        let passed = accepted > 0 && upper_tail(right, accepted, wish) <= alpha;
        tested.push(Test {
            threshold: candidate,
            accepted,
            right,
            lower_bound: if accepted == 0 {
                0.0
            } else {
                lower_bound(right, accepted, confidence)?
            },
            passed,
        });
        if !passed {
            break;
        }
        threshold = Some(candidate);
    }
    Ok(PrecisionThreshold {
        version: FormatVersion,
        wish,
        confidence,
        threshold,
        tested,
        designing_rows,
        testing_rows: testing.keys.len(),
        least_accepted: (alpha.ln() / wish.ln()).ceil() as usize,
    })
}

fn check_thresholds(thresholds: &[f64]) -> Result<(), CalibrationError> {
    if thresholds.is_empty() {
        return Err(CalibrationError::Empty("thresholds"));
    }
    let ordered = thresholds.windows(2).all(|pair| pair[0] > pair[1]);
    match thresholds.iter().find(|t| !t.is_finite() || !ordered) {
        None => Ok(()),
        Some(value) => Err(CalibrationError::Setting {
            name: "a threshold",
            value: *value,
            must: "finite, and each below the one before",
        }),
    }
}

/// Rows from the highest down, with the number of right ones among the first i.
struct Ranked {
    keys: Vec<f64>,
    right: Vec<usize>,
}

impl Ranked {
    fn new(rows: impl Iterator<Item = (f64, bool)>) -> Self {
        let mut rows: Vec<(f64, bool)> = rows.collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut right = vec![0];
        let mut sum = 0;
        for (_, label) in &rows {
            sum += usize::from(*label);
            right.push(sum);
        }
        Self {
            keys: rows.into_iter().map(|(key, _)| key).collect(),
            right,
        }
    }

    /// How many rows are at least `threshold`, and how many of those are right.
    fn at_least(&self, threshold: f64) -> (usize, usize) {
        let accepted = self.keys.partition_point(|key| *key >= threshold);
        (accepted, self.right.get(accepted).copied().unwrap_or_default())
    }
}

/// The distinct keys of the designing rows, downward from the first one of lowest p-value.
fn laid_out(designing: &Ranked, wish: f64) -> Vec<f64> {
    let mut distinct = designing.keys.clone();
    distinct.dedup();
    let p_value = |threshold: f64| {
        let (accepted, right) = designing.at_least(threshold);
        upper_tail(right, accepted, wish)
    };
    let mut start = (0, f64::INFINITY);
    for (place, threshold) in distinct.iter().enumerate() {
        let p = p_value(*threshold);
        if p < start.1 {
            start = (place, p);
        }
    }
    distinct.split_off(start.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example::probabilities;

    #[test]
    fn by_hand() {
        // 30 right ones at 0.9; at 0.5 ten more of which none is right. 0.9^29 = 0.047: 29 rows are enough.
        let p = probabilities(&[[0.9; 30].as_slice(), &[0.5; 10]].concat());
        let labels: Vec<bool> = (0..40).map(|row| row < 30).collect();
        let found =
            precision_threshold(&p, &labels, 0.9, 0.95, Search::Fixed(&[0.9, 0.7, 0.5, 0.1])).unwrap();
        assert_eq!(found.threshold, Some(0.7));
        assert_eq!(
            (found.least_accepted, found.testing_rows, found.tested.len()),
            (29, 40, 3)
        );
        let last = found.tested[2];
        assert_eq!((last.accepted, last.right, last.passed), (40, 30, false));
        assert!((found.tested[0].lower_bound - 0.05_f64.powf(1.0 / 30.0)).abs() < 1e-12);
        // A failing first threshold ends the search, though a lower one would pass.
        let found = precision_threshold(&p, &labels, 0.9, 0.95, Search::Fixed(&[0.95, 0.9])).unwrap();
        assert_eq!((found.threshold, found.tested.len()), (None, 1));
        // Rows of the design test nothing.
        let design: Vec<bool> = (0..40).map(|row| row % 4 == 0).collect();
        let found = precision_threshold(&p, &labels, 0.8, 0.95, Search::Designed(&design)).unwrap();
        assert_eq!((found.designing_rows, found.testing_rows), (10, 30));
        assert_eq!(found.threshold, Some(0.9));
        assert_eq!(found.tested[0].accepted, 22);
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<PrecisionThreshold>(&json).unwrap(), found);
    }

    #[test]
    fn a_passed_test_is_a_lower_bound_at_the_wish() {
        for accepted in 1..80 {
            for right in 0..=accepted {
                let bound = lower_bound(right, accepted, 0.9).unwrap();
                let passed = upper_tail(right, accepted, 0.85) <= 1.0 - 0.9;
                assert_eq!(passed, bound >= 0.85, "{right} of {accepted}: {bound}");
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let p = probabilities(&[0.5, 0.6]);
        let labels = [true, false];
        let fails =
            |wish, confidence, search| precision_threshold(&p, &labels, wish, confidence, search).is_err();
        assert!(!fails(0.9, 0.9, Search::Fixed(&[0.5])));
        assert!(fails(1.0, 0.9, Search::Fixed(&[0.5])));
        assert!(fails(0.9, f64::NAN, Search::Fixed(&[0.5])));
        assert!(fails(0.9, 0.9, Search::Fixed(&[])));
        assert!(fails(0.9, 0.9, Search::Fixed(&[0.5, 0.6])));
        assert!(fails(0.9, 0.9, Search::Fixed(&[f64::NAN])));
        assert!(fails(0.9, 0.9, Search::Designed(&[true])));
        assert!(fails(0.9, 0.9, Search::Designed(&[true, true])));
        assert!(fails(0.9, 0.9, Search::Designed(&[false, false])));
        assert!(precision_threshold(&p, &labels[..1], 0.9, 0.9, Search::Fixed(&[0.5])).is_err());
        assert!(precision_threshold(&[], &[], 0.9, 0.9, Search::Fixed(&[0.5])).is_err());
        // Nobody is right, or everybody equal: an answer, not a crash.
        let none =
            precision_threshold(&p, &[false, false], 0.9, 0.9, Search::Designed(&[true, false])).unwrap();
        assert_eq!(none.threshold, None);
    }
}
