//! A labelled row, as a head is fitted on it.

use assize_preprocess::decision::Decision;

/// One question about one state, with its gold option.
#[derive(Debug, Clone, PartialEq)]
pub struct FitRow {
    /// Names the row in messages.
    pub id: String,
    /// A state and exactly one question.
    pub decision: Decision,
    /// Index of the gold option; of a predicate 0 is false and 1 is true.
    pub gold: usize,
    /// Rows of one group are never divided between folds. Without one, rows with the same prompt are a group.
    pub group: Option<String>,
}
