//! A judged row: what was answered, and what is right.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::metrics::check_sums;
use crate::{CalibrationError, Probability, Shape};

/// How far a row's probabilities may sum from 1: files round them.
const ANSWER_TOLERANCE: f64 = 0.01;
/// How far ratings may sum from 1.
const RATINGS_TOLERANCE: f64 = 1e-6;

/// What is right about a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Gold {
    /// The right option.
    Option(usize),
    /// The share of raters who chose each option; they sum to 1.
    /// [`shares`](crate::metrics::distribution::shares) makes them from counts.
    Ratings(Vec<f64>),
}

/// The probabilities of one question's options, and its gold answer.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRow {
    id: String,
    group: Option<String>,
    shape: Shape,
    probabilities: Vec<Probability>,
    gold: Gold,
    ratings: Option<Vec<Probability>>,
    gold_option: Option<usize>,
    list: Option<u64>,
}

impl JudgedRow {
    /// Checks a row; it belongs to no group.
    ///
    /// # Errors
    /// No probabilities, a sum of them more than 0.01 from 1, a gold option out of range, ratings over another number of
    /// options or that are no distribution (to 1e-6), or a predicate without exactly two options. The error names the
    /// row by its id.
    pub fn new(
        id: impl Into<String>,
        shape: Shape,
        probabilities: Vec<Probability>,
        gold: Gold,
    ) -> Result<Self, CalibrationError> {
        let id = id.into();
        let refused = |reason: String| CalibrationError::JudgedRow {
            id: excerpt(&id),
            reason,
        };
        let options = probabilities.len();
        if options == 0 {
            return Err(refused("it has no probabilities".to_owned()));
        }
        if shape == Shape::Predicate && options != 2 {
            return Err(refused(format!(
                "a predicate has two options, false and true, and this one {options}"
            )));
        }
        if check_sums(&[&probabilities], ANSWER_TOLERANCE).is_err() {
            let sum: f64 = probabilities.iter().map(|p| p.get()).sum();
            return Err(refused(format!("its probabilities sum to {sum}, not to 1")));
        }
        let mut ratings = None;
        let gold_option = match &gold {
            Gold::Option(option) if *option < options => Some(*option),
            Gold::Option(option) => {
                return Err(refused(format!("gold option {option} of {options} options")));
            }
            Gold::Ratings(shares) => {
                let shares = check_ratings(shares, options).map_err(refused)?;
                let winner = winner(&shares);
                ratings = Some(shares);
                winner
            }
        };
        Ok(Self {
            id,
            group: None,
            shape,
            probabilities,
            gold,
            ratings,
            gold_option,
            list: None,
        })
    }

    /// The same row with the names of its options: metrics that compare options by their place are of rows with the same ones.
    #[must_use]
    pub fn with_options(mut self, names: &[impl AsRef<str>]) -> Self {
        let mut hasher = DefaultHasher::new();
        for name in names {
            name.as_ref().hash(&mut hasher);
        }
        self.list = Some(hasher.finish());
        self
    }

    /// Stands for the names of the options, where they are known.
    pub(crate) fn list(&self) -> Option<u64> {
        self.list
    }

    /// The same row in a group, such as a document, a user or a scenario. Rows of one group are resampled together, and
    /// figures are given by group.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// What the caller calls the row.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The group, if the row has one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The shape of the question.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The probabilities, in the caller's order of options.
    pub fn probabilities(&self) -> &[Probability] {
        &self.probabilities
    }

    /// What is right.
    pub fn gold(&self) -> &Gold {
        &self.gold
    }

    /// The right option: of ratings, the one that most raters chose; none where several share the lead.
    pub fn gold_option(&self) -> Option<usize> {
        self.gold_option
    }

    /// The most probable option (the first of equals) and its probability.
    pub fn answer(&self) -> (usize, Probability) {
        let mut best = (0, Probability::ZERO);
        for (option, p) in self.probabilities.iter().enumerate() {
            if *p > best.1 {
                best = (option, *p);
            }
        }
        best
    }

    /// Whether the most probable option is the gold one, if there is one.
    pub fn is_right(&self) -> Option<bool> {
        self.gold_option.map(|gold| gold == self.answer().0)
    }

    /// The error that names this row.
    pub(crate) fn refused(&self, reason: &str) -> CalibrationError {
        CalibrationError::JudgedRow {
            id: excerpt(&self.id),
            reason: reason.to_owned(),
        }
    }

    /// The ratings, if gold is that.
    pub fn ratings(&self) -> Option<&[Probability]> {
        self.ratings.as_deref()
    }
}

fn check_ratings(shares: &[f64], options: usize) -> Result<Vec<Probability>, String> {
    if shares.len() != options {
        return Err(format!("{} ratings for {options} options", shares.len()));
    }
    let checked: Vec<Probability> = shares
        .iter()
        .map(|share| Probability::new(*share))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("rating {error}"))?;
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() > RATINGS_TOLERANCE {
        return Err(format!(
            "its ratings sum to {sum}, not to 1: divide counts by the number of raters"
        ));
    }
    Ok(checked)
}

/// The option with the largest share, if there is one.
fn winner(shares: &[Probability]) -> Option<usize> {
    let most = shares.iter().fold(0.0_f64, |most, share| most.max(share.get()));
    // Shares are quotients of counts: equal counts give equal shares up to rounding.
    let mut leaders = shares
        .iter()
        .enumerate()
        .filter(|(_, share)| share.get() >= most - 1e-9);
    match (leaders.next(), leaders.next()) {
        (Some((option, _)), None) => Some(option),
        _ => None,
    }
}

/// The beginning of a name, for an error message.
fn excerpt(id: &str) -> String {
    let mut shown: String = id.chars().take(80).collect();
    if shown.len() < id.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example::probabilities;

    fn row(p: &[f64], gold: Gold) -> Result<JudgedRow, CalibrationError> {
        JudgedRow::new("r1", Shape::Choice, probabilities(p), gold)
    }

    #[test]
    fn bad_rows_are_refused_by_name() {
        let says = |found: Result<JudgedRow, CalibrationError>| found.unwrap_err().to_string();
        assert_eq!(
            says(row(&[0.5, 0.5], Gold::Option(2))),
            "row \"r1\": gold option 2 of 2 options"
        );
        assert!(says(row(&[], Gold::Option(0))).contains("no probabilities"));
        assert!(says(row(&[0.5, 0.4], Gold::Option(0))).contains("sum to 0.9"));
        assert!(row(&[0.33, 0.33, 0.333], Gold::Option(0)).is_ok());
        let pair = |gold: &[f64]| row(&[0.5, 0.5], Gold::Ratings(gold.to_vec()));
        assert!(says(pair(&[1.0])).contains("1 ratings for 2 options"));
        assert!(says(pair(&[3.0, 1.0])).contains("no probability"));
        assert!(says(pair(&[0.5, 0.25])).contains("sum to 0.75"));
        assert!(says(pair(&[f64::NAN, 1.0])).contains("no probability"));
        let three = JudgedRow::new(
            "p",
            Shape::Predicate,
            probabilities(&[0.5, 0.25, 0.25]),
            Gold::Option(0),
        );
        assert!(says(three).contains("a predicate has two options"));
        let long = JudgedRow::new("x".repeat(1 << 20), Shape::Choice, vec![], Gold::Option(0));
        assert!(says(long).len() < 200);
    }

    #[test]
    fn a_tied_lead_is_no_gold_option() {
        let gold = |gold: &[f64]| {
            row(&[0.25, 0.25, 0.5], Gold::Ratings(gold.to_vec()))
                .unwrap()
                .gold_option()
        };
        assert_eq!(gold(&[0.2, 0.5, 0.3]), Some(1));
        assert_eq!(gold(&[0.4, 0.2, 0.4]), None);
        // Three of ten and a sum that rounds.
        assert_eq!(gold(&[0.1 + 0.2, 0.3, 0.4]), Some(2));
        assert_eq!(gold(&[0.4, 0.3 + 0.1 + 1e-16, 0.2]), None);
    }
}
