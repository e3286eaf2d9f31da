//! Prediction files: what a model answered, row by row, with everything that the answers depend on.
//!
//! A prediction file is JSONL. Its first line is a [`PredictionHeader`]; each further line is a [`Prediction`], or
//! `{"row", "id", "error": {"field", "message"}}` for a row that could not be asked. It is only ever appended to, so that a
//! run which was stopped goes on where it was: [`PredictionWriter`].
//!
//! [`PredictionSet`] reads such files, and also JSONL of others: one object a line with
//!
//! | field | meaning |
//! |---|---|
//! | `probabilities` | one per option, as a list or as an object by option; they sum to 1 within 1e-6 |
//! | `probability` | in place of it, of a predicate: the probability of true |
//! | `gold`, `gold_index`, `ratings` | as in [`super::rows`]; without `options`, `gold` may be an index |
//! | `id`, `group`, `type`, `options`, `state`, `question` | optional, as in [`super::rows`] |
//! | `scores` | optional: what the probabilities are the softmax of, for calibration |

mod foreign;
mod header;
mod line;
mod set;
mod writer;

pub use header::{PredictedRows, PredictionHeader, PredictionSettings};
pub use line::{Prediction, PromptTokens};
pub use set::PredictionSet;
pub use writer::{PredictionWriter, Progress};

use std::path::PathBuf;

/// Why a prediction file cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionError {
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process writes the file.
    #[error("{path}: another run is writing this file: wait for it, or give another --out")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another run.
    #[error(
        "{path}: was begun by another command; it differs in {differences}. Give another --out, or begin anew with \
         --restart, which removes what is there"
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The fields of the header that differ, with both values.
        differences: String,
    },
    /// A line is not what it should be.
    #[error("{path}, line {line}: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong, and the remedy.
        reason: String,
    },
    /// There are no rows.
    #[error("{path}: holds no rows")]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl PredictionError {
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
