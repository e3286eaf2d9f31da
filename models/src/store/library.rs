//! The engine's shared library, taken from the Python package that carries it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Store, lock, pip, wheel};
use crate::ModelError;
use crate::checkpoint::{HashCache, hash_file};
use crate::engines::onnx::{is_library, library_in};

/// The release that answers were proven with.
const REQUIREMENT: &str = "onnxruntime==1.32.0";
/// What was fetched into the folder.
const RECORD: &str = "fetched.json";
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
        match check(&found) {
            Ok(Checked::Sound) => {
                tracing::info!(library = %found.display(), "already in the cache");
                return Ok(found);
            }
            Ok(Checked::Unknown) => {
                tracing::info!(library = %found.display(), "of unknown origin; fetched anew")
            }
            Err(error) => tracing::warn!(%error, "fetched anew"),
        }
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
    let sha256 = hash_file(&unpacked, |_| ())?;
    std::fs::rename(&unpacked, &target).map_err(|source| ModelError::io(&target, source))?;
    let mut record = read_record(&folder)?.unwrap_or_default();
    record.insert(file_name(&target), sha256.clone());
    let text = serde_json::to_vec_pretty(&record)
        .map_err(|error| ModelError::corrupt(&folder.join(RECORD), error.to_string()))?;
    let mut file =
        tempfile::NamedTempFile::new_in(&folder).map_err(|source| ModelError::io(&folder, source))?;
    file.write_all(&text)
        .map_err(|source| ModelError::io(&folder, source))?;
    file.persist(folder.join(RECORD))
        .map_err(|error| ModelError::io(&folder, error.error))?;
    HashCache::new(Some(store.root())).remember(&target, &sha256)?;
    Ok(target)
}

/// What is known of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is what was fetched.
    Sound,
    /// It was not put there by [`pull`].
    Unknown,
}

/// Compares a library with what was fetched: a damaged one would end the process with a signal once it is loaded.
///
/// # Errors
/// It is not what was fetched, or cannot be read.
pub(crate) fn check(library: &Path) -> Result<Checked, ModelError> {
    let folder = library.parent().unwrap_or(Path::new("."));
    let Some(expected) = read_record(folder)?.and_then(|mut record| record.remove(&file_name(library)))
    else {
        return Ok(Checked::Unknown);
    };
    let found = HashCache::new(folder.parent()).file(library)?;
    if found == expected {
        return Ok(Checked::Sound);
    }
    Err(ModelError::corrupt(
        library,
        format!("damaged: sha256 expected {expected}, found {found}; run `assize engine pull`"),
    ))
}

/// sha256 by file name of every library that was fetched; `None` where no record was kept.
fn read_record(folder: &Path) -> Result<Option<BTreeMap<String, String>>, ModelError> {
    let path = folder.join(RECORD);
    match std::fs::read(&path) {
        // A record that cannot be read says nothing, and the next fetch writes a new one.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::io(&path, source)),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn unpack(path: &Path, folder: &Path) -> Result<PathBuf, ModelError> {
    let member = |name: &str| name.rsplit('/').next().is_some_and(is_library);
    Ok(wheel::unpack(path, folder, "ONNX Runtime library", member)?.0)
}
