//! Rows of a JSONL file: one object a line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::RowFault;
use super::RowsError;
use super::cell::{Cell, Record};
use super::labelled::whole_row;
use crate::strict_json;

/// Longest line that is read; no model has a context for more.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a JSONL file line by line.
pub(super) struct JsonlFile {
    path: PathBuf,
    reader: BufReader<File>,
    line: usize,
}

impl JsonlFile {
    pub(super) fn open(path: &Path) -> Result<Self, RowsError> {
        let file = File::open(path).map_err(RowsError::io(path))?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::new(file),
            line: 0,
        })
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Result<Option<Result<Vec<u8>, RowFault>>, RowsError> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.reader)
                .take(MOST_BYTES + 1)
                .read_until(b'\n', &mut bytes);
            if read.map_err(RowsError::io(&self.path))? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if bytes.len() as u64 > MOST_BYTES && bytes.last() != Some(&b'\n') {
                self.reader.skip_until(b'\n').map_err(RowsError::io(&self.path))?;
                let message = format!("has more than {MOST_BYTES} bytes: give a part of the state");
                return Ok(Some(Err(whole_row(self.line, message))));
            }
            if self.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            if !bytes.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Ok(bytes)));
            }
        }
    }
}

impl Iterator for JsonlFile {
    type Item = Result<Result<Record, RowFault>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.next_line() {
            Ok(None) => return None,
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(fault))) => return Some(Ok(Err(fault))),
            Err(error) => return Some(Err(error)),
        };
        let row = self.line;
        Some(Ok(match strict_json::parse(&line) {
            Ok(Value::Object(fields)) => Ok(Record {
                row,
                cells: fields
                    .into_iter()
                    .map(|(column, value)| (column.into(), Cell::from(value)))
                    .collect(),
                empty_may_be_missing: false,
            }),
            Ok(_) => Err(whole_row(
                row,
                "is no JSON object: write {\"state\": ...} on one line".into(),
            )),
            Err(error) => Err(whole_row(row, error.about("the line"))),
        }))
    }
}
