//! Reads a whole prediction file, of this program or of another.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use assize_calibration::evaluation::JudgedRow;
use assize_calibration::{CalibrationError, Probability, ScoredRow, Shape};
use indexmap::IndexSet;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::header::SCHEMA;
use super::line::FailedLine;
use super::{Prediction, PredictionError, PredictionHeader, foreign};
use crate::evaluation::rows::RowFault;
use crate::strict_json;

/// The predictions of a file.
#[derive(Debug, Clone)]
pub struct PredictionSet {
    /// The file.
    pub path: PathBuf,
    /// sha256 (hex) of the file.
    pub sha256: String,
    /// What made them; none where they come from elsewhere.
    pub header: Option<PredictionHeader>,
    /// The predictions, in the order of the file. Choices of the same options have them in the order of the first such row,
    /// whatever the order that they were asked in: figures and calibrations that tell options apart do so by place.
    pub rows: Vec<Prediction>,
    /// What was wrong with the other rows.
    pub faults: Vec<RowFault>,
    /// Fields of files from elsewhere that were not read.
    pub ignored: Vec<String>,
}

impl PredictionSet {
    /// Reads a file. Rows that are no predictions are in `faults`.
    ///
    /// # Errors
    /// The file cannot be read, holds nothing at all, or is of another version.
    pub fn read(path: &Path) -> Result<Self, PredictionError> {
        let file = File::open(path).map_err(PredictionError::io(path))?;
        let mut reader = BufReader::new(file);
        let mut hasher = Sha256::new();
        let mut set = Self {
            path: path.to_owned(),
            sha256: String::new(),
            header: None,
            rows: Vec::new(),
            faults: Vec::new(),
            ignored: Vec::new(),
        };
        let mut ids: IndexSet<String> = IndexSet::new();
        let mut ignored: IndexSet<String> = IndexSet::new();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            let read = reader
                .read_until(b'\n', &mut bytes)
                .map_err(PredictionError::io(path))?;
            if read == 0 {
                break;
            }
            hasher.update(&bytes);
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let value = match strict_json::parse(&bytes) {
                Ok(value) => value,
                Err(error) => {
                    set.faults
                        .push(fault(line, None, "(row)", error.about("the line")));
                    continue;
                }
            };
            if line == 1
                && let Some(schema) = value.get("schema")
            {
                set.header = Some(header(path, schema.clone(), value)?);
                continue;
            }
            let row = if set.header.is_some() {
                own(line, value)
            } else {
                foreign::read(line, value, &mut ignored)
            };
            match row.and_then(|row| match row.check() {
                Ok(()) => Ok(row),
                Err((field, message)) => Err(fault(row.row, Some(row.id), field, message)),
            }) {
                Ok(row) if ids.insert(row.id.clone()) => set.rows.push(row),
                Ok(row) => {
                    let message = format!(
                        "{:?} is the id of an earlier row as well: ids must differ",
                        row.id
                    );
                    set.faults.push(fault(row.row, Some(row.id), "id", message));
                }
                Err(fault) => set.faults.push(fault),
            }
        }
        if set.header.is_none() && set.rows.is_empty() && set.faults.is_empty() {
            return Err(PredictionError::Empty {
                path: path.to_owned(),
            });
        }
        one_order(&mut set.rows);
        set.sha256 = hex::encode(hasher.finalize());
        set.ignored = ignored.into_iter().collect();
        Ok(set)
    }

    /// The rows as figures are computed of, with the probabilities that `of` gives each.
    ///
    /// # Errors
    /// A row's numbers contradict each other.
    pub fn judged<'a>(
        &'a self,
        of: impl Fn(&'a Prediction) -> Result<Vec<Probability>, CalibrationError>,
    ) -> Result<Vec<JudgedRow>, CalibrationError> {
        self.rows.iter().map(|row| row.judged(&of(row)?)).collect()
    }

    /// The rows with a right option as calibrators take them, each with its place among [`Self::rows`].
    ///
    /// # Errors
    /// A row's scores are no scores.
    pub fn scored(&self) -> Result<Vec<(usize, ScoredRow)>, CalibrationError> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(place, row)| row.scored().transpose().map(|row| Ok((place, row?))))
            .collect()
    }
}

/// Brings choices of the same options into one order.
fn one_order(rows: &mut [Prediction]) {
    let mut orders: HashMap<Vec<String>, Vec<String>> = HashMap::new();
    for row in rows.iter_mut().filter(|row| row.shape == Shape::Choice) {
        let mut sorted = row.options.clone();
        sorted.sort_unstable();
        let order = orders.entry(sorted).or_insert_with(|| row.options.clone());
        row.reorder(order);
    }
}

pub(super) fn fault(row: usize, id: Option<String>, field: &str, message: String) -> RowFault {
    RowFault {
        row,
        id,
        field: field.to_owned(),
        message,
    }
}

fn header(path: &Path, schema: Value, value: Value) -> Result<PredictionHeader, PredictionError> {
    let broken = |reason: String| PredictionError::Broken {
        path: path.to_owned(),
        line: 1,
        reason,
    };
    if schema != SCHEMA {
        return Err(broken(format!(
            "`schema` is {schema}: this program reads {SCHEMA:?}"
        )));
    }
    let header: PredictionHeader =
        serde_json::from_value(value).map_err(|error| broken(format!("the header is damaged: {error}")))?;
    let id = header.artifact.description.id();
    if header.artifact.id != id {
        return Err(broken(format!(
            "`artifact.id` is {} and that of its description {id}: the file was changed",
            header.artifact.id
        )));
    }
    Ok(header)
}

fn own(line: usize, value: Value) -> Result<Prediction, RowFault> {
    if value.get("error").is_some() {
        return match serde_json::from_value::<FailedLine>(value) {
            Ok(failed) => Err(failed.into()),
            Err(error) => Err(fault(line, None, "(row)", format!("is no prediction: {error}"))),
        };
    }
    serde_json::from_value(value)
        .map_err(|error| fault(line, None, "(row)", format!("is no prediction: {error}")))
}
