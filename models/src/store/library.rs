//! The engine's shared library, taken from the Python package that carries it.

use std::path::{Path, PathBuf};

use super::{Store, lock, pip, wheel};
use crate::ModelError;
use crate::engines::onnx::{is_library, library_in};

/// The release that answers were proven with.
const REQUIREMENT: &str = "onnxruntime==1.32.0";
const OTHER_WAY: &str = "fetch its wheel elsewhere and run `assize engine pull --from FILE`";

/// Fetches the library, or takes it from a wheel or from the library itself; returns where it lies.
///
/// # Errors
/// See [`Store::pull_library`].
pub(super) fn pull(store: &Store, from: Option<&Path>) -> Result<PathBuf, ModelError> {
    let folder = store.library_dir();
    std::fs::create_dir_all(&folder).map_err(|source| ModelError::io(&folder, source))?;
    let _lock = lock::exclusive(store.root())?;
    if from.is_none()
        && let Some(found) = library_in(&folder)
    {
        tracing::info!(library = %found.display(), "already in the cache");
        return Ok(found);
    }
    let scratch = tempfile::tempdir_in(&folder).map_err(|source| ModelError::io(&folder, source))?;
    let unpacked = match from {
        Some(path) if path.extension().is_some_and(|extension| extension == "whl") => {
            unpack(path, scratch.path())?
        }
        Some(path) => {
            let name = path
                .file_name()
                .filter(|name| name.to_str().is_some_and(is_library))
                .ok_or_else(|| {
                    ModelError::Unsupported(format!(
                        "{}: neither a .whl file nor an ONNX Runtime library",
                        path.display()
                    ))
                })?;
            let copy = scratch.path().join(name);
            std::fs::copy(path, &copy).map_err(|source| ModelError::io(path, source))?;
            copy
        }
        None => unpack(
            &pip::download(REQUIREMENT, scratch.path(), OTHER_WAY)?,
            scratch.path(),
        )?,
    };
    let target = folder.join(unpacked.file_name().unwrap_or_default());
    std::fs::rename(&unpacked, &target).map_err(|source| ModelError::io(&target, source))?;
    Ok(target)
}

fn unpack(path: &Path, folder: &Path) -> Result<PathBuf, ModelError> {
    let member = |name: &str| name.rsplit('/').next().is_some_and(is_library);
    Ok(wheel::unpack(path, folder, "ONNX Runtime library", member)?.0)
}
