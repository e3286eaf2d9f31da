//! Rows of a CSV file with a header line. Every cell is text.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cell::{Cell, Record};
use super::labelled::whole_row;
use super::{RowFault, RowsError};
use crate::strict_json::excerpt;

/// Reads a CSV file record by record.
pub(super) struct CsvFile {
    path: PathBuf,
    reader: csv::Reader<File>,
    columns: Vec<Arc<str>>,
    record: csv::ByteRecord,
    row: usize,
}

impl CsvFile {
    pub(super) fn open(path: &Path) -> Result<Self, RowsError> {
        let file = File::open(path).map_err(RowsError::io(path))?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(true)
            .flexible(true)
            .from_reader(file);
        let header = |reason: String| RowsError::Header {
            path: path.to_owned(),
            reason,
        };
        let read = reader.byte_headers().map_err(|error| failed(path, &error))?;
        let mut columns: Vec<Arc<str>> = Vec::new();
        for (index, name) in read.iter().enumerate() {
            let name = name
                .strip_prefix(b"\xef\xbb\xbf")
                .filter(|_| index == 0)
                .unwrap_or(name);
            let name = std::str::from_utf8(name)
                .map_err(|_| header(format!("is not UTF-8 in column {}", index + 1)))?;
            if columns.iter().any(|other| **other == *name) {
                return Err(header(format!(
                    "has the column {:?} twice: name each once",
                    excerpt(name)
                )));
            }
            columns.push(name.into());
        }
        if columns.is_empty() {
            return Err(RowsError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            reader,
            columns,
            record: csv::ByteRecord::new(),
            row: 1,
        })
    }

    /// The names in the header line.
    pub(super) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }

    fn record(&mut self) -> Result<Record, RowFault> {
        let line = self.record.position().map_or(0, |place| place.line());
        // The line of the file; where line ends are bare carriage returns, which are not counted, the one behind the last.
        let row = usize::try_from(line)
            .unwrap_or(usize::MAX)
            .max(self.row.saturating_add(1));
        self.row = row;
        if self.record.len() != self.columns.len() {
            return Err(whole_row(
                row,
                format!(
                    "has {} cells and the header {}: quote cells that hold commas, quotes or line ends",
                    self.record.len(),
                    self.columns.len()
                ),
            ));
        }
        let cells = self.columns.iter().zip(&self.record).map(|(column, cell)| {
            let cell = match std::str::from_utf8(cell) {
                Ok(text) => Cell::Text(text.to_owned()),
                Err(error) => {
                    Cell::Unreadable(format!("no UTF-8 (byte {} of the cell)", error.valid_up_to()))
                }
            };
            (column.clone(), cell)
        });
        Ok(Record {
            row,
            cells: cells.collect(),
            empty_may_be_missing: true,
        })
    }
}

fn failed(path: &Path, error: &csv::Error) -> RowsError {
    RowsError::Io {
        path: path.to_owned(),
        source: std::io::Error::other(error.to_string()),
    }
}

impl Iterator for CsvFile {
    type Item = Result<Result<Record, RowFault>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(false) => None,
            Ok(true) => Some(Ok(self.record())),
            Err(error) => Some(Err(failed(&self.path, &error))),
        }
    }
}
