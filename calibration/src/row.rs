//! A labelled row: what calibrators are fitted on.

use serde::{Deserialize, Serialize};

use crate::CalibrationError;

/// The shape of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// One of N options.
    Choice,
    /// False (option 0) or true (option 1).
    Predicate,
    /// One of N ordered levels.
    Score,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Shape::Choice => "choice",
            Shape::Predicate => "predicate",
            Shape::Score => "score",
        })
    }
}

/// The raw scores of one question, one per option, and its gold option.
///
/// Scores are in log space: softmax over them gives the raw probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredRow {
    scores: Vec<f32>,
    label: usize,
    shape: Shape,
    group: Option<String>,
}

impl ScoredRow {
    /// Checks a row; it belongs to no group.
    ///
    /// # Errors
    /// No scores, one that is not finite, a label out of range (the error calls this row 0), or a predicate without exactly
    /// two options.
    pub fn new(scores: Vec<f32>, label: usize, shape: Shape) -> Result<Self, CalibrationError> {
        check_scores(&scores, shape)?;
        if label >= scores.len() {
            return Err(CalibrationError::Label {
                row: 0,
                label,
                options: scores.len(),
            });
        }
        Ok(Self {
            scores,
            label,
            shape,
            group: None,
        })
    }

    /// The same row in a group: rows of one group (one document, one user) are never split between folds.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// The raw scores, in the caller's order.
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// The gold option.
    pub fn label(&self) -> usize {
        self.label
    }

    /// The shape of the question.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The group, if the row has one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }
}

/// Checks the scores of one question.
pub(crate) fn check_scores(scores: &[f32], shape: Shape) -> Result<(), CalibrationError> {
    if scores.is_empty() {
        return Err(CalibrationError::Empty("scores"));
    }
    if let Some((index, value)) = scores.iter().enumerate().find(|(_, score)| !score.is_finite()) {
        return Err(CalibrationError::NotFinite {
            index,
            value: f64::from(*value),
        });
    }
    if shape == Shape::Predicate && scores.len() != 2 {
        return Err(CalibrationError::NotApplicable {
            what: "a predicate",
            needs: "two options, false and true".to_owned(),
            found: format!("{} options", scores.len()),
        });
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod example {
    use super::{ScoredRow, Shape};

    /// Predicates of these margins (score of true less score of false).
    pub(crate) fn predicates(margins: &[f32], labels: &[usize]) -> Vec<ScoredRow> {
        margins
            .iter()
            .zip(labels)
            .map(|(d, label)| ScoredRow::new(vec![0.0, *d], *label, Shape::Predicate).unwrap())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_rows_are_refused() {
        let row = ScoredRow::new(vec![0.5, 1.0, -3.0], 2, Shape::Choice)
            .unwrap()
            .in_group("a");
        assert_eq!((row.label(), row.group()), (2, Some("a")));
        assert!(ScoredRow::new(vec![], 0, Shape::Choice).is_err());
        assert!(ScoredRow::new(vec![0.5, 1.0], 2, Shape::Choice).is_err());
        assert!(ScoredRow::new(vec![0.5, f32::NAN], 0, Shape::Choice).is_err());
        assert!(ScoredRow::new(vec![0.5, f32::INFINITY], 0, Shape::Score).is_err());
        assert!(ScoredRow::new(vec![0.5, 1.0, 2.0], 0, Shape::Predicate).is_err());
        assert!(ScoredRow::new(vec![0.5], 0, Shape::Predicate).is_err());
    }
}
