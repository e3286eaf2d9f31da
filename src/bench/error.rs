//! The error type of the benchmarks.

/// Everything that can go wrong in a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The model could not be opened or run.
    #[error(transparent)]
    Model(#[from] assize_models::ModelError),
    /// A readout failed.
    #[error(transparent)]
    Head(#[from] assize_heads::HeadError),
    /// A prompt could not be built.
    #[error(transparent)]
    Prompt(#[from] assize_preprocess::PromptError),
    /// Scores or probabilities are unusable.
    #[error(transparent)]
    Calibration(#[from] assize_calibration::CalibrationError),
    /// A data set is missing or damaged.
    #[error(transparent)]
    Dataset(#[from] crate::datasets::DatasetError),
    /// An argument cannot be used.
    #[error("{field} is {value}: {remedy}")]
    Argument {
        /// The option's name.
        field: &'static str,
        /// What was given.
        value: String,
        /// What to give instead.
        remedy: String,
    },
    /// The records could not be written.
    #[error("writing the records: {0}")]
    Record(String),
    /// The server under test failed.
    #[error("server {address}: {reason}")]
    Server {
        /// Its address.
        address: String,
        /// What went wrong.
        reason: String,
    },
    /// The peer failed.
    #[error("peer {what}: {reason}")]
    Peer {
        /// The file or call.
        what: String,
        /// What it said.
        reason: String,
    },
    /// A medium cannot be used.
    #[error(transparent)]
    Medium(#[from] crate::service::MediumError),
    /// Another program that a measurement needs is missing or failed.
    #[error("{tool}: {reason}")]
    Tool {
        /// The program.
        tool: String,
        /// What went wrong, and the remedy.
        reason: String,
    },
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl BenchError {
    pub(super) fn record(reason: impl std::fmt::Display) -> Self {
        Self::Record(reason.to_string())
    }
}
