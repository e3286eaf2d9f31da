//! The error type of this crate.

use std::path::PathBuf;

/// Everything that can go wrong between a model's name and a forward pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{path}: {source}{}", remedy(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A checkpoint file is damaged, cut short or not what its format says.
    #[error("{path}: {reason}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        reason: String,
    },
    /// A checkpoint is sound but asks for something this build does not do.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The forward pass was given something it cannot run.
    #[error("invalid batch: {0}")]
    InvalidBatch(String),
    /// The engine failed.
    #[error("engine {engine}: {reason}")]
    Engine {
        /// The engine's name.
        engine: &'static str,
        /// What it said.
        reason: String,
    },
    /// The forward pass was ended because nobody waited for it any more.
    #[error("the forward pass was ended early")]
    Interrupted,
    /// Loading would need more memory than is free.
    #[error(
        "{model} needs {needed_mib} MiB, and {free_mib} MiB are free: choose precision int8 or a smaller model"
    )]
    DoesNotFit {
        /// The model.
        model: String,
        /// Estimated need.
        needed_mib: u64,
        /// Free memory.
        free_mib: u64,
    },
    /// No model of that name is in the cache or known.
    #[error("{0}")]
    NotFound(String),
    /// A download failed.
    #[error("fetching {what}: {reason}")]
    Fetch {
        /// What was fetched.
        what: String,
        /// Why it failed.
        reason: String,
    },
}

/// What a user can do about a file that the system refuses.
fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; give this user access to it, or choose another cache folder by --cache or ASSIZE_CACHE"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or choose another cache folder by --cache or ASSIZE_CACHE"
        }
        _ => "",
    }
}

impl ModelError {
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        ModelError::Io {
            path: path.to_path_buf(),
            source,
        }
    }

    pub(crate) fn corrupt(path: &std::path::Path, reason: impl Into<String>) -> Self {
        ModelError::Corrupt {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }
}
