//! What can be wrong with a row, and with a whole file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::datasets::DatasetError;

/// What is wrong with one row. The other rows are read all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("row {row}, {field}: {message}")]
pub struct RowFault {
    /// The row: its line in a text file, its number from 1 in a Parquet file or a data set.
    pub row: usize,
    /// The row's id, where it could be read.
    pub id: Option<String>,
    /// The column that is at fault, or `(row)`.
    pub field: String,
    /// What is wrong, and the remedy.
    pub message: String,
}

/// The field of a fault that no single column has.
pub(super) const WHOLE_ROW: &str = "(row)";

/// Why rows cannot be read at all, or not any further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name of the file does not say what it is.
    #[error(
        "{path}: its name ends in none of .jsonl, .ndjson, .csv and .parquet, and no data set has that name \
         (spam-assassin, vader)"
    )]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// There are no rows.
    #[error("{path}: holds no rows")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The header line of a CSV file cannot be used.
    #[error("{path}: the header line {reason}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A column that was asked for is not in the file.
    #[error("{path}: has no column {column:?}, which --column {field}={column} names: it has {has}")]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// What the column was wanted for.
        field: &'static str,
        /// The column.
        column: String,
        /// The columns that there are.
        has: String,
    },
    /// A Parquet file is damaged, or of a kind that is not read.
    #[error("{path}: after row {row}: {reason}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The last row that was read.
        row: usize,
        /// What the reader said.
        reason: String,
    },
    /// Settings that contradict each other.
    #[error("{0}")]
    Setting(String),
    /// A data set known by name.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}

impl RowsError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
