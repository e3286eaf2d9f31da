//! Three-way routing: approve, review, reject.

use serde::{Deserialize, Serialize};

use super::clopper_pearson::{Interval, clopper_pearson};
use super::precision::{PrecisionThreshold, Search, keep_precision};
use super::{check_lengths, check_open};
use crate::{CalibrationError, FormatVersion, Probability};

/// Where a row goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Surely enough true.
    Approve,
    /// A person looks.
    Review,
    /// Surely enough false.
    Reject,
}

/// Two thresholds on the probability of true, and the promises that they keep.
///
/// JSON, version 1: the fields of this struct.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The version of this form.
    pub version: FormatVersion<1>,
    /// Of the approved rows at least this share is true.
    pub approve_precision: f64,
    /// Of the rejected rows at least this share is false.
    pub reject_precision: f64,
    /// The confidence with which both hold at once.
    pub confidence: f64,
    /// Approve probabilities of at least this; none when nothing can be approved.
    pub approve: Option<f64>,
    /// Reject probabilities of at most this; none when nothing can be rejected.
    pub reject: Option<f64>,
    /// How many rows laid out the thresholds, and tested nothing.
    pub designing_rows: usize,
    /// How many rows tested them.
    pub testing_rows: usize,
}

/// How many rows took one route.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// How many.
    pub rows: usize,
    /// Their share of all rows, with a 95 % Clopper-Pearson interval.
    pub share: Interval,
    /// How many of them are true.
    pub true_rows: usize,
}

/// How many rows take each route.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volumes {
    /// Approved.
    pub approve: Volume,
    /// Left to a person.
    pub review: Volume,
    /// Rejected.
    pub reject: Volume,
}

/// Finds the two thresholds that leave the fewest rows to review while approved rows are true at `approve_precision` and
/// rejected ones false at `reject_precision`, both at once with `confidence`.
///
/// Each side is searched as by [`super::precision_threshold`] at half of `1 - confidence`, so that together they break a
/// promise with probability at most `1 - confidence`. The search is [`Search::Designed`] by the rows marked in `design`.
/// Where the two would overlap, the pair of thresholds is taken, among all that passed, that decides the most rows
/// without overlap; the promise covers all that passed.
///
/// # Errors
/// As [`super::precision_threshold`].
pub fn routing(
    probabilities: &[Probability],
    labels: &[bool],
    approve_precision: f64,
    reject_precision: f64,
    confidence: f64,
    design: &[bool],
) -> Result<Routing, CalibrationError> {
    check_open("confidence", confidence)?;
    let each = 1.0 - (1.0 - confidence) / 2.0;
    let up: Vec<f64> = probabilities.iter().map(|p| p.get()).collect();
    // The same numbers with their sign turned, not 1 - p, which would round.
    let down: Vec<f64> = up.iter().map(|p| -p).collect();
    let wrong: Vec<bool> = labels.iter().map(|label| !label).collect();
    let search = Search::Designed(design);
    let approving = keep_precision(&up, labels, approve_precision, each, search)?;
    let rejecting = keep_precision(&down, &wrong, reject_precision, each, search)?;
    let (approve, reject) = pair(&up, &passed(&approving, 1.0), &passed(&rejecting, -1.0));
    Ok(Routing {
        version: FormatVersion,
        approve_precision,
        reject_precision,
        confidence,
        approve,
        reject,
        designing_rows: approving.designing_rows,
        testing_rows: approving.testing_rows,
    })
}

/// The thresholds that passed, on the probability of true.
fn passed(search: &PrecisionThreshold, sign: f64) -> Vec<f64> {
    let passed = search.tested.iter().filter(|test| test.passed);
    // The sum with 0 makes -0 a 0.
    passed.map(|test| sign * test.threshold + 0.0).collect()
}

/// The pair that decides the most rows, approving ones strictly above rejecting ones; both lists hold thresholds that
/// passed, in the order of testing: approving ones fall, rejecting ones rise.
fn pair(p: &[f64], approving: &[f64], rejecting: &[f64]) -> (Option<f64>, Option<f64>) {
    let mut sorted = p.to_vec();
    sorted.sort_by(f64::total_cmp);
    let approved = |a: &f64| sorted.len() - sorted.partition_point(|p| p < a);
    let rejected = |r: &f64| sorted.partition_point(|p| p <= r);
    let alone = [
        (approving.last().map_or(0, approved), approving.last(), None),
        (rejecting.last().map_or(0, rejected), None, rejecting.last()),
    ];
    let both = approving.iter().filter_map(|a| {
        let below = rejecting.partition_point(|r| r < a).checked_sub(1)?;
        let r = rejecting.get(below)?;
        Some((approved(a) + rejected(r), Some(a), Some(r)))
    });
    let best = both.chain(alone).fold(None, |best: Option<(usize, _, _)>, next| {
        if best.is_some_and(|best| best.0 >= next.0) {
            best
        } else {
            Some(next)
        }
    });
    best.map_or((None, None), |(_, a, r)| (a.copied(), r.copied()))
}

impl Routing {
    /// Where a row of this probability of true goes.
    pub fn route(&self, p: Probability) -> Route {
        if self.approve.is_some_and(|threshold| p.get() >= threshold) {
            Route::Approve
        } else if self.reject.is_some_and(|threshold| p.get() <= threshold) {
            Route::Reject
        } else {
            Route::Review
        }
    }

    /// How many of these rows take each route: the volumes to expect from rows like them.
    ///
    /// The shares of rows that the thresholds were chosen on are a little too good; those of other rows are not.
    ///
    /// # Errors
    /// No rows or unequal lengths.
    pub fn volumes(
        &self,
        probabilities: &[Probability],
        labels: &[bool],
    ) -> Result<Volumes, CalibrationError> {
        check_lengths(probabilities.len(), labels.len())?;
        let volume = |wanted: Route| {
            let taken: Vec<bool> = probabilities
                .iter()
                .zip(labels)
                .filter(|(p, _)| self.route(**p) == wanted)
                .map(|(_, label)| *label)
                .collect();
            Ok(Volume {
                rows: taken.len(),
                share: clopper_pearson(taken.len(), labels.len(), 0.95)?,
                true_rows: taken.iter().filter(|label| **label).count(),
            })
        };
        Ok(Volumes {
            approve: volume(Route::Approve)?,
            review: volume(Route::Review)?,
            reject: volume(Route::Reject)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(n: usize) -> (Vec<Probability>, Vec<bool>, Vec<bool>) {
        // p runs from 0 to 1; rows below 0.3 are false, above 0.7 true, between they alternate.
        let p: Vec<f64> = (0..n).map(|row| row as f64 / (n - 1) as f64).collect();
        let labels = p
            .iter()
            .enumerate()
            .map(|(row, p)| *p > 0.7 || (*p > 0.3 && row % 2 == 0));
        (
            p.iter().map(|p| Probability::new(*p).unwrap()).collect(),
            labels.collect(),
            (0..n).map(|row| row % 8 == 0 || row % 8 == 3).collect(),
        )
    }

    #[test]
    fn three_ways() {
        let (p, labels, design) = data(801);
        let found = routing(&p, &labels, 0.95, 0.95, 0.9, &design).unwrap();
        let (approve, reject) = (found.approve.unwrap(), found.reject.unwrap());
        assert!(approve > 0.6 && approve < 0.75, "{approve}");
        assert!(reject > 0.25 && reject < 0.4, "{reject}");
        assert_eq!(found.route(Probability::new(approve).unwrap()), Route::Approve);
        assert_eq!(found.route(Probability::new(reject).unwrap()), Route::Reject);
        assert_eq!(found.route(Probability::new(0.5).unwrap()), Route::Review);
        let volumes = found.volumes(&p, &labels).unwrap();
        assert_eq!(
            volumes.approve.rows + volumes.review.rows + volumes.reject.rows,
            801
        );
        assert!(volumes.approve.true_rows as f64 >= 0.95 * volumes.approve.rows as f64);
        assert!(volumes.reject.true_rows as f64 <= 0.05 * volumes.reject.rows as f64);
        assert!(volumes.review.rows > 200);
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Routing>(&json).unwrap(), found);
    }

    #[test]
    fn low_wishes_never_overlap() {
        let (p, labels, design) = data(801);
        // Either side alone could take nearly all rows.
        let found = routing(&p, &labels, 0.55, 0.55, 0.9, &design).unwrap();
        assert!(found.approve.unwrap() > found.reject.unwrap());
        let volumes = found.volumes(&p, &labels).unwrap();
        assert!(volumes.review.rows < 10, "{volumes:?}");
    }

    #[test]
    fn what_cannot_be_kept_is_left_to_review() {
        let (p, labels, design) = data(40);
        let found = routing(&p, &labels, 0.99, 0.99, 0.99, &design).unwrap();
        assert_eq!((found.approve, found.reject), (None, None));
        assert_eq!(found.volumes(&p, &labels).unwrap().review.rows, 40);
        assert!(routing(&p, &labels, 0.9, 0.9, 0.9, &design[1..]).is_err());
        assert!(routing(&[], &[], 0.9, 0.9, 0.9, &[]).is_err());
    }
}
