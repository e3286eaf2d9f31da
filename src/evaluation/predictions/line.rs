//! One predicted row.

use std::collections::HashSet;

use assize_calibration::evaluation::{Gold, JudgedRow};
use assize_calibration::{CalibrationError, Probability, ScoredRow, Shape};
use serde::{Deserialize, Serialize};

use super::super::rows::RowFault;
use crate::service::Asked;
use crate::strict_json::excerpt;

/// The prompt of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptTokens {
    /// Tokens that the forward pass computed.
    pub count: usize,
    /// sha256 over the token ids and where they branch: equal prompts have equal hashes.
    pub sha256: String,
    /// Tokens of the state that were dropped because it was too long.
    pub truncated: usize,
}

/// What was answered about one row, and what is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The row's number in its file.
    pub row: usize,
    /// The row's id.
    pub id: String,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The shape of its question.
    pub shape: Shape,
    /// The options, in the caller's order; of a predicate false, then true.
    pub options: Vec<String>,
    /// The beginning of the state.
    pub state: String,
    /// The beginning of the question.
    pub question: String,
    /// The prompt; absent where the prediction comes from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<PromptTokens>,
    /// Scores before the softmax, one per option; absent where the prediction comes from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<f32>>,
    /// Probabilities before calibration; absent where no calibration was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_probabilities: Option<Vec<Probability>>,
    /// The probabilities, one per option.
    pub probabilities: Vec<Probability>,
    /// The right option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<usize>,
    /// How people answered: a weight per option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratings: Option<Vec<f64>>,
}

/// A line for a row that has no prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailedLine {
    pub row: usize,
    pub id: Option<String>,
    pub error: FailedField,
}

/// What was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailedField {
    pub field: String,
    pub message: String,
}

impl From<&RowFault> for FailedLine {
    fn from(fault: &RowFault) -> Self {
        Self {
            row: fault.row,
            id: fault.id.clone(),
            error: FailedField {
                field: fault.field.clone(),
                message: fault.message.clone(),
            },
        }
    }
}

impl From<FailedLine> for RowFault {
    fn from(line: FailedLine) -> Self {
        Self {
            row: line.row,
            id: line.id,
            field: line.error.field,
            message: line.error.message,
        }
    }
}

/// How far probabilities may sum from 1.
const TOLERANCE: f64 = 1e-6;

impl Prediction {
    /// Refuses numbers that contradict each other; the error names the field.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let options = self.options.len();
        let mut names = HashSet::new();
        if let Some(twice) = self.options.iter().find(|name| !names.insert(*name)) {
            return Err((
                "options",
                format!("have {:?} twice: options must differ", excerpt(twice)),
            ));
        }
        for (field, count) in [
            ("probabilities", Some(self.probabilities.len())),
            ("raw_probabilities", self.raw_probabilities.as_ref().map(Vec::len)),
            ("scores", self.scores.as_ref().map(Vec::len)),
            ("ratings", self.ratings.as_ref().map(Vec::len)),
        ] {
            if let Some(count) = count.filter(|count| *count != options) {
                return Err((
                    field,
                    format!("has {count} numbers for {options} options: give one per option"),
                ));
            }
        }
        for (field, list) in [
            ("probabilities", Some(&self.probabilities)),
            ("raw_probabilities", self.raw_probabilities.as_ref()),
        ] {
            let sum: f64 = list.into_iter().flatten().map(|p| p.get()).sum();
            if list.is_some() && (sum - 1.0).abs() > TOLERANCE {
                return Err((
                    field,
                    format!("sum to {sum}: they must sum to 1 within {TOLERANCE}"),
                ));
            }
        }
        if let Some(scores) = &self.scores
            && scores.iter().any(|score| !score.is_finite())
        {
            return Err(("scores", "are not all finite".into()));
        }
        if let Some(gold) = self.gold.filter(|gold| *gold >= options) {
            return Err(("gold", format!("is {gold}: use an index below {options}")));
        }
        if self.gold.is_none() && self.ratings.is_none() {
            return Err(("gold", "is missing: give gold, gold_index or ratings".into()));
        }
        self.judged(&self.probabilities)
            .map(|_| ())
            .map_err(|error| ("(row)", error.to_string()))
    }

    /// Puts the options, and everything that goes by them, into the order of `names`, which are the same ones. Gives whether
    /// they are.
    pub(crate) fn reorder(&mut self, names: &[String]) -> bool {
        if self.options == names {
            return true;
        }
        let place = |name: &String| self.options.iter().position(|option| option == name);
        let places: Option<Vec<usize>> = names.iter().map(place).collect();
        let Some(places) = places.filter(|places| places.len() == self.options.len()) else {
            return false;
        };
        fn taken<T: Clone>(list: &[T], places: &[usize]) -> Vec<T> {
            places
                .iter()
                .filter_map(|place| list.get(*place).cloned())
                .collect()
        }
        self.options = names.to_vec();
        self.probabilities = taken(&self.probabilities, &places);
        for list in [&mut self.raw_probabilities].into_iter().flatten() {
            *list = taken(list, &places);
        }
        for list in [&mut self.scores].into_iter().flatten() {
            *list = taken(list, &places);
        }
        for list in [&mut self.ratings].into_iter().flatten() {
            *list = taken(list, &places);
        }
        self.gold = self
            .gold
            .and_then(|gold| places.iter().position(|place| *place == gold));
        true
    }

    /// The row with these probabilities in place of its own, for the figures.
    pub(crate) fn judged(&self, probabilities: &[Probability]) -> Result<JudgedRow, CalibrationError> {
        let gold = match (&self.ratings, self.gold) {
            (Some(ratings), _) => Gold::Ratings(shares(ratings)),
            (None, Some(gold)) => Gold::Option(gold),
            (None, None) => return Err(CalibrationError::Empty("gold answers")),
        };
        let row = JudgedRow::new(self.id.clone(), self.shape, probabilities.to_vec(), gold)?
            .with_options(&self.options);
        Ok(match &self.group {
            Some(group) => row.in_group(group.clone()),
            None => row,
        })
    }

    /// The scores; where a prediction has none, logarithms of its probabilities, whose softmax they are.
    pub fn log_scores(&self) -> Vec<f32> {
        match &self.scores {
            Some(scores) => scores.clone(),
            None => self
                .raw()
                .iter()
                .map(|p| p.get().max(f64::MIN_POSITIVE).ln() as f32)
                .collect(),
        }
    }

    /// The question as a calibration sees it.
    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            shape: self.shape,
            options: &self.options,
            text: &self.question,
        }
    }

    /// The probabilities before calibration.
    pub fn raw(&self) -> &[Probability] {
        self.raw_probabilities.as_deref().unwrap_or(&self.probabilities)
    }

    /// The right option, where people agree on one.
    pub fn label(&self) -> Option<usize> {
        self.judged(&self.probabilities).ok()?.gold_option()
    }

    /// The row as calibrators take it; none where no option is right.
    pub(crate) fn scored(&self) -> Result<Option<ScoredRow>, CalibrationError> {
        let Some(label) = self.label() else {
            return Ok(None);
        };
        let row = ScoredRow::new(self.log_scores(), label, self.shape)?;
        Ok(Some(match &self.group {
            Some(group) => row.in_group(group.clone()),
            None => row,
        }))
    }
}

fn shares(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}
