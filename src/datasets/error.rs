//! The error type of the data sets.

use std::path::PathBuf;

/// Everything that can go wrong between a data set's name and its rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// No data set has that name.
    #[error("unknown data set {0:?}: use spam-assassin or vader")]
    Unknown(String),
    /// The data set is not in the folder.
    #[error("{folder} holds no data set {name}: run `assize datasets get {name}` first")]
    NotFetched {
        /// The data set.
        name: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The package client could not be run or refused.
    #[error("{command}: {reason}")]
    Client {
        /// The command line.
        command: String,
        /// What the system or the client said.
        reason: String,
    },
    /// A package is not the one whose layout this reader knows.
    #[error(
        "{file}: sha256 is {found}, not {expected}: the package was changed or cut short; remove it and fetch it again"
    )]
    WrongHash {
        /// The file as the client named it.
        file: String,
        /// The pinned hash.
        expected: &'static str,
        /// The hash of what came.
        found: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not laid out as the reader expects.
    #[error("{path}, line {line}: {reason}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// More rows were asked for than there are.
    #[error("{wanted} rows asked for, {reason}: ask for at most {available}")]
    TooFew {
        /// Rows asked for.
        wanted: usize,
        /// Most rows that can be given.
        available: usize,
        /// What limits them.
        reason: String,
    },
    /// The system names no cache folder.
    #[error("no cache folder is known for this user: name one with --dir")]
    NoCacheFolder,
}

impl DatasetError {
    /// Wraps a system error with the path it is about.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
