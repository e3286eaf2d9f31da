//! One HTML file about one evaluation.

use crate::CalibrationError;
use crate::evaluation::{Evaluation, JudgedRow};

/// A row as a report shows it.
#[derive(Debug, Clone, Copy)]
pub struct ShownRow<'a> {
    /// The answer and what is right.
    pub row: &'a JudgedRow,
    /// What was judged, or a text about it; shown cut.
    pub state: &'a str,
    /// The question; shown cut.
    pub question: &'a str,
    /// The names of the options, in the order of the probabilities.
    pub options: &'a [String],
}

/// A part of the provenance: a heading, and what is said under it, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceSection {
    /// The heading.
    pub name: String,
    /// Names and values.
    pub entries: Vec<(String, String)>,
}

/// What a report is made of. All text may come from anywhere: it is escaped, and long text is cut.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The title.
    pub title: &'a str,
    /// Where the figures come from: model, data, calibration, settings.
    pub provenance: &'a [ProvenanceSection],
    /// The figures.
    pub evaluation: &'a Evaluation,
    /// The rows that they are of.
    pub rows: &'a [ShownRow<'a>],
    /// Figures of the same rows before calibration, shown beside.
    pub before: Option<&'a Evaluation>,
    /// Notes, a paragraph each.
    pub notes: &'a [String],
}

impl Report<'_> {
    /// The file: one HTML page that needs nothing outside itself.
    ///
    /// # Errors
    /// A row whose option names are not one per probability, or rows that are not those of the evaluation.
    pub fn html(&self) -> Result<String, CalibrationError> {
        Err(CalibrationError::Empty("rows"))
    }
}
