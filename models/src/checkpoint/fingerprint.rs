//! sha256 of weight files, remembered by size and modification time so that a start need not read every byte.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ModelError;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// What was hashed, and how to tell that it has not changed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    bytes: u64,
    modified_ns: u64,
    sha256: String,
}

/// The folder of remembered hashes; without one, every call reads the files.
pub(crate) struct HashCache {
    folder: Option<PathBuf>,
}

/// sha256 of a file in hexadecimal digits; `progress` is told how many bytes were read since the last call.
pub(crate) fn hash_file(path: &Path, mut progress: impl FnMut(u64)) -> Result<String, ModelError> {
    let mut file = File::open(path).map_err(|source| ModelError::io(path, source))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0_u8; CHUNK];
    loop {
        let read = file
            .read(&mut chunk)
            .map_err(|source| ModelError::io(path, source))?;
        if read == 0 {
            return Ok(hex::encode(hasher.finalize()));
        }
        hasher.update(chunk.get(..read).unwrap_or_default());
        progress(read as u64);
    }
}

impl HashCache {
    /// Hashes are kept in `cache_dir/hashes`.
    pub(crate) fn new(cache_dir: Option<&Path>) -> Self {
        Self {
            folder: cache_dir.map(|dir| dir.join("hashes")),
        }
    }

    /// The hash of one file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn file(&self, path: &Path) -> Result<String, ModelError> {
        let (bytes, modified_ns) = state(path)?;
        let absolute = path
            .canonicalize()
            .map_err(|source| ModelError::io(path, source))?;
        if let Some(found) = self.recall(&absolute)
            && (&found.path, found.bytes, found.modified_ns) == (&absolute, bytes, modified_ns)
        {
            return Ok(found.sha256);
        }
        tracing::info!(path = %path.display(), bytes, "hashing weights");
        let sha256 = hash_file(path, |_| ())?;
        self.remember(&absolute, &sha256)?;
        Ok(sha256)
    }

    /// The hash over several files of one folder; see [`crate::Checkpoint::weights_hash`].
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn folder(&self, files: &[PathBuf]) -> Result<String, ModelError> {
        let mut lines = files
            .iter()
            .map(|path| {
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                Ok((name, self.file(path)?))
            })
            .collect::<Result<Vec<_>, ModelError>>()?;
        lines.sort();
        let mut hasher = Sha256::new();
        for (name, sha256) in lines {
            hasher.update(format!("{sha256}  {name}\n"));
        }
        Ok(hex::encode(hasher.finalize()))
    }

    /// Notes that `path` now holds bytes of this hash.
    ///
    /// # Errors
    /// The file's size and time cannot be read. A cache that cannot be written is no error.
    pub(crate) fn remember(&self, path: &Path, sha256: &str) -> Result<(), ModelError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let (bytes, modified_ns) = state(path)?;
        let absolute = path
            .canonicalize()
            .map_err(|source| ModelError::io(path, source))?;
        let entry = self.entry(&absolute);
        let remembered = Remembered {
            path: absolute,
            bytes,
            modified_ns,
            sha256: sha256.to_owned(),
        };
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec(&remembered)?)?;
            file.persist(entry.as_deref().unwrap_or(folder))
                .map_err(|error| error.error)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!(folder = %folder.display(), %error, "the hash was not remembered");
        }
        Ok(())
    }

    fn entry(&self, absolute: &Path) -> Option<PathBuf> {
        let key = hex::encode(Sha256::digest(absolute.as_os_str().as_encoded_bytes()));
        Some(self.folder.as_ref()?.join(format!("{}.json", key.get(..32)?)))
    }

    fn recall(&self, absolute: &Path) -> Option<Remembered> {
        serde_json::from_slice(&std::fs::read(self.entry(absolute)?).ok()?).ok()
    }
}

/// Size and modification time of a file.
fn state(path: &Path) -> Result<(u64, u64), ModelError> {
    let metadata = std::fs::metadata(path).map_err(|source| ModelError::io(path, source))?;
    let modified = metadata
        .modified()
        .map_err(|source| ModelError::io(path, source))?;
    let nanoseconds = modified
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    Ok((metadata.len(), nanoseconds as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_hash_is_used_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("weights.bin");
        std::fs::write(&path, b"one").unwrap();
        let cache = HashCache::new(Some(dir.path()));
        let first = cache.file(&path).unwrap();
        assert_eq!(first, hex::encode(Sha256::digest(b"one")));
        // A wrong note proves that the second call reads the note and not the file.
        cache.remember(&path, "noted").unwrap();
        assert_eq!(cache.file(&path).unwrap(), "noted");
        std::fs::write(&path, b"three").unwrap();
        assert_eq!(cache.file(&path).unwrap(), hex::encode(Sha256::digest(b"three")));
    }

    #[test]
    fn an_unwritable_cache_does_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("weights.bin");
        std::fs::write(&path, b"one").unwrap();
        let cache = HashCache::new(Some(&path));
        assert_eq!(cache.file(&path).unwrap(), hex::encode(Sha256::digest(b"one")));
    }

    #[test]
    fn the_folder_hash_covers_names_and_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&a, b"1").unwrap();
        std::fs::write(&b, b"2").unwrap();
        let cache = HashCache::new(None);
        let hash = cache.folder(&[b.clone(), a.clone()]).unwrap();
        let lines = format!(
            "{}  a\n{}  b\n",
            hex::encode(Sha256::digest(b"1")),
            hex::encode(Sha256::digest(b"2"))
        );
        assert_eq!(hash, hex::encode(Sha256::digest(lines)));
        std::fs::write(&b, b"1").unwrap();
        assert_ne!(cache.folder(&[a, b]).unwrap(), hash);
    }
}
