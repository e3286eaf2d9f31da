//! sha256 of weight files, remembered by what the file system says of them so that a start need not read every byte.

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
    state: FileState,
    sha256: String,
}

/// What the file system says of a file. The time of the last change of status cannot be set by programs, so that
/// bytes written with the old modification time put back are noticed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    bytes: u64,
    modified_ns: u64,
    changed_ns: i64,
    inode: u64,
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

/// What a file's bytes were when they were last read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHash {
    /// The file.
    pub path: PathBuf,
    /// sha256 in hexadecimal digits.
    pub sha256: String,
}

impl FileHash {
    /// Reads the file again; `progress` is told how many bytes were read since the last call.
    ///
    /// # Errors
    /// It cannot be read, or is not what it was.
    pub fn check(&self, progress: impl FnMut(u64)) -> Result<(), ModelError> {
        let found = hash_file(&self.path, progress)?;
        if found == self.sha256 {
            return Ok(());
        }
        Err(ModelError::corrupt(
            &self.path,
            format!(
                "damaged: its sha256 was {} when it was first read and is {found} now; fetch the model again",
                self.sha256
            ),
        ))
    }
}

/// The hash over several files of one folder; see [`crate::Checkpoint::weights_hash`].
pub(crate) fn hash_of_folder(files: &[FileHash]) -> String {
    let mut lines: Vec<_> = files
        .iter()
        .map(|file| {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), &file.sha256)
        })
        .collect();
    lines.sort();
    let mut hasher = Sha256::new();
    for (name, sha256) in lines {
        hasher.update(format!("{sha256}  {name}\n"));
    }
    hex::encode(hasher.finalize())
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
        let state = FileState::of(path)?;
        let absolute = path
            .canonicalize()
            .map_err(|source| ModelError::io(path, source))?;
        if let Some(found) = self.recall(&absolute)
            && (&found.path, found.state) == (&absolute, state)
        {
            return Ok(found.sha256);
        }
        tracing::info!(path = %path.display(), bytes = state.bytes, "hashing");
        let sha256 = hash_file(path, |_| ())?;
        self.remember(&absolute, &sha256)?;
        Ok(sha256)
    }

    /// The hashes of several files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn files(&self, files: &[PathBuf]) -> Result<Vec<FileHash>, ModelError> {
        let hash = |path: &PathBuf| {
            Ok(FileHash {
                sha256: self.file(path)?,
                path: path.clone(),
            })
        };
        files.iter().map(hash).collect()
    }

    /// Notes that `path` now holds bytes of this hash.
    ///
    /// # Errors
    /// The file's size and time cannot be read. A cache that cannot be written is no error.
    pub(crate) fn remember(&self, path: &Path, sha256: &str) -> Result<(), ModelError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let state = FileState::of(path)?;
        let absolute = path
            .canonicalize()
            .map_err(|source| ModelError::io(path, source))?;
        let entry = self.entry(&absolute);
        let remembered = Remembered {
            path: absolute,
            state,
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

impl FileState {
    fn of(path: &Path) -> Result<Self, ModelError> {
        let metadata = std::fs::metadata(path).map_err(|source| ModelError::io(path, source))?;
        let modified = metadata
            .modified()
            .map_err(|source| ModelError::io(path, source))?;
        let modified_ns = modified
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64);
        #[cfg(unix)]
        let (changed_ns, inode) = {
            use std::os::unix::fs::MetadataExt as _;
            let seconds = metadata.ctime().saturating_mul(1_000_000_000);
            (seconds.saturating_add(metadata.ctime_nsec()), metadata.ino())
        };
        #[cfg(not(unix))]
        let (changed_ns, inode) = (0, 0);
        Ok(Self {
            bytes: metadata.len(),
            modified_ns,
            changed_ns,
            inode,
        })
    }
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

    #[cfg(unix)]
    #[test]
    fn a_change_that_keeps_length_and_modification_time_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("weights.bin");
        std::fs::write(&path, b"one").unwrap();
        let cache = HashCache::new(Some(dir.path()));
        cache.file(&path).unwrap();
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        // The clock of the file system ticks in steps of a few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let file = File::options().write(true).open(&path).unwrap();
        (&file).write_all(b"two").unwrap();
        file.set_modified(before).unwrap();
        drop(file);
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
        assert_eq!(cache.file(&path).unwrap(), hex::encode(Sha256::digest(b"two")));
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
        let of_folder = |files: &[PathBuf]| hash_of_folder(&cache.files(files).unwrap());
        let hash = of_folder(&[b.clone(), a.clone()]);
        let lines = format!(
            "{}  a\n{}  b\n",
            hex::encode(Sha256::digest(b"1")),
            hex::encode(Sha256::digest(b"2"))
        );
        assert_eq!(hash, hex::encode(Sha256::digest(lines)));
        let known = cache.files(std::slice::from_ref(&b)).unwrap();
        assert!(known[0].check(|_| {}).is_ok());
        std::fs::write(&b, b"1").unwrap();
        assert_ne!(of_folder(&[a, b]), hash);
        let error = known[0].check(|_| {}).unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains("fetch"), "{error}");
    }
}
