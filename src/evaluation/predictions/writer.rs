//! Writes a prediction file, and takes up one that was left unfinished.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::header::SCHEMA;
use super::line::FailedLine;
use super::{Prediction, PredictionError, PredictionHeader};
use crate::evaluation::rows::RowFault;

/// What a file held when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that are in it, failed ones among them.
    pub rows: usize,
    /// Whether its last line was torn and was dropped.
    pub torn: bool,
}

/// A prediction file that this process alone writes.
pub struct PredictionWriter {
    path: PathBuf,
    file: File,
    header: PredictionHeader,
    done: HashSet<usize>,
    progress: Progress,
}

impl PredictionWriter {
    /// Opens the file for `header`: one of the same run is taken up behind its last whole line, and where there is none, one
    /// is begun. With `restart` whatever is there goes.
    ///
    /// # Errors
    /// Another process writes it, another run began it, a line in its middle is broken, or the system refuses.
    pub fn open(path: &Path, header: PredictionHeader, restart: bool) -> Result<Self, PredictionError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(PredictionError::io(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(PredictionError::Locked {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(PredictionError::io(path)(source)),
        }
        let found = if restart { None } else { read(path, &file)? };
        let mut writer = Self {
            path: path.to_owned(),
            done: HashSet::new(),
            progress: Progress { rows: 0, torn: false },
            header,
            file: file.try_clone().map_err(PredictionError::io(path))?,
        };
        match found {
            Some(found) => {
                let differences = found.header.differences(&writer.header);
                if !differences.is_empty() {
                    return Err(PredictionError::OtherRun {
                        path: path.to_owned(),
                        differences: differences.join(", "),
                    });
                }
                writer.header = found.header;
                writer.progress = Progress {
                    rows: found.done.len(),
                    torn: found.torn,
                };
                writer.done = found.done;
                file.set_len(found.whole).map_err(PredictionError::io(path))?;
                file.seek(SeekFrom::Start(found.whole))
                    .map_err(PredictionError::io(path))?;
            }
            None => {
                file.set_len(0).map_err(PredictionError::io(path))?;
                file.seek(SeekFrom::Start(0)).map_err(PredictionError::io(path))?;
                let header = writer.header.clone();
                writer.append(&[&header])?;
            }
        }
        Ok(writer)
    }

    /// The header as it stands in the file: that of the run which began it.
    pub fn header(&self) -> &PredictionHeader {
        &self.header
    }

    /// What the file held when it was opened.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Whether the file has a row.
    pub fn has(&self, row: usize) -> bool {
        self.done.contains(&row)
    }

    /// Appends rows in one write, each a prediction or what was wrong with it.
    ///
    /// # Errors
    /// The system refuses: the disk is full, for example.
    pub fn write(&mut self, rows: &[Result<Prediction, RowFault>]) -> Result<(), PredictionError> {
        let lines: Vec<Value> = rows
            .iter()
            .map(|row| match row {
                Ok(prediction) => serde_json::to_value(prediction),
                Err(fault) => serde_json::to_value(FailedLine::from(fault)),
            })
            .collect::<Result<_, _>>()
            .map_err(|error| PredictionError::io(&self.path)(error.into()))?;
        self.append(&lines.iter().collect::<Vec<_>>())
    }

    fn append<T: Serialize>(&mut self, lines: &[&T]) -> Result<(), PredictionError> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line)
                .map_err(|error| PredictionError::io(&self.path)(error.into()))?;
            bytes.push(b'\n');
        }
        self.file
            .write_all(&bytes)
            .map_err(PredictionError::io(&self.path))?;
        self.file.flush().map_err(PredictionError::io(&self.path))
    }
}

/// How every header begins; one that was torn may be shorter.
const BEGINNING: &[u8] = b"{\"schema\":\"assize.predictions/";

/// A file that was begun.
struct Found {
    header: PredictionHeader,
    done: HashSet<usize>,
    /// Bytes up to the end of the last whole line.
    whole: u64,
    torn: bool,
}

/// Reads what is there; `None` where not even the header was written whole.
fn read(path: &Path, file: &File) -> Result<Option<Found>, PredictionError> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        row: usize,
    }
    let broken = |line: usize, reason: String| PredictionError::Broken {
        path: path.to_owned(),
        line,
        reason: format!("{reason}; begin anew with --restart, or give another --out"),
    };
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    let mut next = |bytes: &mut Vec<u8>| {
        bytes.clear();
        let read = reader
            .read_until(b'\n', bytes)
            .map_err(PredictionError::io(path))?;
        Ok((read as u64, bytes.last() == Some(&b'\n')))
    };
    let (mut whole, is_line) = next(&mut bytes)?;
    if !is_line {
        // A file of something else is not overwritten for having no line end.
        return if bytes.starts_with(BEGINNING) || BEGINNING.starts_with(&bytes) {
            Ok(None)
        } else {
            Err(broken(1, "is no header of predictions".into()))
        };
    }
    let header: PredictionHeader = serde_json::from_slice(&bytes)
        .map_err(|error| broken(1, format!("is no header of predictions ({error})")))?;
    if header.schema != SCHEMA {
        return Err(broken(
            1,
            format!("`schema` is {:?}, not {SCHEMA:?}", header.schema),
        ));
    }
    let mut done = HashSet::new();
    for line in 2.. {
        let (read, is_line) = next(&mut bytes)?;
        if read == 0 || !is_line {
            return Ok(Some(Found {
                header,
                done,
                whole,
                torn: read > 0,
            }));
        }
        let numbered: Numbered = serde_json::from_slice(&bytes)
            .map_err(|error| broken(line, format!("is no prediction ({error})")))?;
        done.insert(numbered.row);
        whole += read;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::header::example;
    use super::*;

    fn fault(row: usize) -> Result<Prediction, RowFault> {
        Err(RowFault {
            row,
            id: Some("é".repeat(40)),
            field: "gold".into(),
            message: "is missing".into(),
        })
    }

    #[test]
    fn a_file_cut_anywhere_is_taken_up_without_loss_or_repetition() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let rows: Vec<_> = (1..=5).map(fault).collect();
        PredictionWriter::open(&path, example(), false)
            .unwrap()
            .write(&rows)
            .unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut again = example();
            again.started = 2;
            let mut writer = PredictionWriter::open(&path, again, false).unwrap();
            let missing: Vec<_> = (1..=5).filter(|row| !writer.has(*row)).map(fault).collect();
            assert_eq!(writer.progress().rows + missing.len(), 5);
            writer.write(&missing).unwrap();
            drop(writer);
            let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
            let restored = text.replacen("\"started\":2", "\"started\":1", 1);
            assert_eq!(restored.as_bytes(), whole, "cut at {length}");
        }
    }

    #[test]
    fn another_run_a_second_writer_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let first = PredictionWriter::open(&path, example(), false).unwrap();
        assert!(matches!(
            PredictionWriter::open(&path, example(), true),
            Err(PredictionError::Locked { .. })
        ));
        drop(first);
        let mut other = example();
        other.model = "n".into();
        let error = PredictionWriter::open(&path, other.clone(), false)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("model (\"m\" there, \"n\" now)") && error.contains("--restart"),
            "{error}"
        );
        assert!(PredictionWriter::open(&path, other, true).is_ok());
        for text in ["notes", "notes\n", "{}\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(
                PredictionWriter::open(&path, example(), false).is_err(),
                "{text:?}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(
            &path,
            format!(
                "{}\nx\n{{\"row\":1}}\n",
                serde_json::to_string(&example()).unwrap()
            ),
        )
        .unwrap();
        let error = PredictionWriter::open(&path, example(), false)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
