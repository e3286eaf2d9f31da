//! Rows of a file or a data set, one after another.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexSet;
use sha2::{Digest, Sha256};

use super::cell::Record;
use super::csv_file::CsvFile;
use super::jsonl::JsonlFile;
use super::labelled;
use super::parquet_file::ParquetFile;
use super::{
    DatasetQuestion, DatasetRows, LabelledRow, RowFault, RowField, RowOptions, RowSelection, RowsError,
};
use crate::datasets::{DatasetFolder, DatasetName};

/// Where rows come from.
#[derive(Debug, Clone)]
pub enum RowSource {
    /// A JSONL, CSV or Parquet file, told apart by its name.
    File(PathBuf),
    /// A data set that is known by name.
    Dataset {
        /// The folder of the data sets.
        folder: DatasetFolder,
        /// Which.
        name: DatasetName,
        /// How its question is put.
        question: DatasetQuestion,
    },
}

impl RowSource {
    /// The name of a file or of a data set; a file of that name goes first.
    pub fn named(text: &str, folder: &DatasetFolder, question: DatasetQuestion) -> Self {
        match text.parse() {
            Ok(name) if !Path::new(text).exists() => Self::Dataset {
                folder: folder.clone(),
                name,
                question,
            },
            _ => Self::File(text.into()),
        }
    }

    /// The path or the name.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Dataset { name, .. } => name.to_string(),
        }
    }

    /// sha256 (hex) of the file, or of the package that the data set came in.
    ///
    /// # Errors
    /// The file cannot be read, or the data set was not fetched.
    pub fn sha256(&self) -> Result<String, RowsError> {
        match self {
            Self::File(path) => {
                let mut file = File::open(path).map_err(RowsError::io(path))?;
                let mut hasher = Sha256::new();
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let read = file.read(&mut buffer).map_err(RowsError::io(path))?;
                    match buffer.get(..read) {
                        Some(bytes) if read > 0 => hasher.update(bytes),
                        _ => return Ok(hex::encode(hasher.finalize())),
                    }
                }
            }
            Self::Dataset { folder, name, .. } => {
                folder.require(*name)?;
                Ok(folder
                    .record(*name)?
                    .map(|record| record.sha256)
                    .unwrap_or_default())
            }
        }
    }
}

type Records = Box<dyn Iterator<Item = Result<Result<Record, RowFault>, RowsError>> + Send>;

enum Inner {
    File {
        first: Option<Result<Record, RowFault>>,
        records: Records,
        folder: PathBuf,
    },
    Dataset(Box<DatasetRows>),
}

/// Rows, read as they are asked for.
///
/// The outer error ends the reading; the inner one is about one row.
pub struct Rows {
    inner: Inner,
    options: RowOptions,
    selection: RowSelection,
    taken: usize,
    ignored: IndexSet<String>,
    // 16 bytes a row, so that millions of ids fit the memory.
    seen: HashSet<u128>,
}

impl Rows {
    /// Opens a file or a data set and reads its first row.
    ///
    /// # Errors
    /// It cannot be read, holds no rows, or lacks a column that the options name.
    pub fn open(
        source: &RowSource,
        options: &RowOptions,
        selection: RowSelection,
    ) -> Result<Self, RowsError> {
        options.check().map_err(RowsError::Setting)?;
        let mut ignored = IndexSet::new();
        let inner = match source {
            RowSource::Dataset {
                folder,
                name,
                question,
            } => Inner::Dataset(Box::new(DatasetRows::read(folder, *name, *question, options)?)),
            RowSource::File(path) => {
                let mut records = records(path, options, &mut ignored)?;
                let first = records
                    .next()
                    .ok_or_else(|| RowsError::Empty { path: path.clone() })??;
                Inner::File {
                    first: Some(first),
                    records,
                    folder: path.parent().map(Path::to_owned).unwrap_or_default(),
                }
            }
        };
        Ok(Self {
            inner,
            options: options.clone(),
            selection,
            taken: 0,
            ignored,
            seen: HashSet::new(),
        })
    }

    /// Columns that were seen so far and hold nothing that is read.
    pub fn ignored(&self) -> impl Iterator<Item = &str> {
        self.ignored.iter().map(String::as_str)
    }

    fn next_of_all(&mut self) -> Option<Result<Result<LabelledRow, RowFault>, RowsError>> {
        match &mut self.inner {
            Inner::Dataset(rows) => rows.next().map(|row| Ok(Ok(row))),
            Inner::File {
                first,
                records,
                folder,
            } => {
                let record = match first.take().map(Ok).or_else(|| records.next())? {
                    Ok(Ok(record)) => record,
                    Ok(Err(fault)) => return Some(Ok(Err(fault))),
                    Err(error) => return Some(Err(error)),
                };
                let ignored = &mut self.ignored;
                let hear = |column: &str| {
                    if !ignored.contains(column) {
                        ignored.insert(column.to_owned());
                    }
                };
                Some(Ok(labelled::read(record, &self.options, folder, hear)))
            }
        }
    }

    /// Whether this id comes for the first time.
    fn is_new(&mut self, id: &str) -> bool {
        let digest = Sha256::digest(id.as_bytes());
        let short = digest
            .iter()
            .take(16)
            .fold(0, |all, byte| (all << 8) | u128::from(*byte));
        self.seen.insert(short)
    }
}

impl Iterator for Rows {
    type Item = Result<Result<LabelledRow, RowFault>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.selection.most.is_some_and(|most| self.taken >= most) {
                return None;
            }
            let row = match self.next_of_all()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            let (id, number) = match &row {
                Ok(row) => (Some(row.id.clone()), row.row),
                Err(fault) => (fault.id.clone(), fault.row),
            };
            let Some(id) = id else {
                return Some(Ok(row));
            };
            let is_new = self.is_new(&id);
            if !self.selection.split.holds(&id) {
                continue;
            }
            if !is_new {
                return Some(Ok(Err(RowFault {
                    row: number,
                    field: self.options.column(RowField::Id).to_owned(),
                    message: format!("{id:?} is the id of an earlier row as well: ids must differ"),
                    id: Some(id),
                })));
            }
            self.taken += usize::from(row.is_ok());
            return Some(Ok(row));
        }
    }
}

fn records(path: &Path, options: &RowOptions, ignored: &mut IndexSet<String>) -> Result<Records, RowsError> {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("jsonl" | "ndjson") => Ok(Box::new(JsonlFile::open(path)?)),
        Some("csv") => {
            let file = CsvFile::open(path)?;
            check_columns(path, file.columns(), options, ignored)?;
            Ok(Box::new(file))
        }
        Some("parquet") => {
            let file = ParquetFile::open(path)?;
            check_columns(path, file.columns(), options, ignored)?;
            Ok(Box::new(file))
        }
        _ => Err(RowsError::UnknownKind {
            path: path.to_owned(),
        }),
    }
}

/// Notes the columns that are not read, and refuses a file that lacks one that was named.
fn check_columns(
    path: &Path,
    columns: &[Arc<str>],
    options: &RowOptions,
    ignored: &mut IndexSet<String>,
) -> Result<(), RowsError> {
    for (field, column) in &options.columns {
        if !columns.iter().any(|found| **found == **column) {
            return Err(RowsError::NoColumn {
                path: path.to_owned(),
                field: field.name(),
                column: column.clone(),
                has: columns.join(", "),
            });
        }
    }
    let not_read = columns.iter().filter(|column| options.field(column).is_none());
    ignored.extend(not_read.map(|column| column.to_string()));
    Ok(())
}
