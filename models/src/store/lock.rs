//! One pull or removal at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::ModelError;

/// Held until dropped.
pub(super) struct Lock {
    _file: File,
}

/// Waits until no other process changes the cache at `root`.
///
/// # Errors
/// The lock file cannot be made or locked.
pub(super) fn exclusive(root: &Path) -> Result<Lock, ModelError> {
    let path = root.join("models").join(".lock");
    let file = File::create(&path).map_err(|source| ModelError::io(&path, source))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            tracing::info!(lock = %path.display(), "another process is changing the cache; waiting for it");
            file.lock().map_err(|source| ModelError::io(&path, source))?;
        }
        Err(TryLockError::Error(source)) => return Err(ModelError::io(&path, source)),
    }
    Ok(Lock { _file: file })
}
