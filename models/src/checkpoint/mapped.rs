//! A file mapped into memory, read-only.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::ModelError;

/// The bytes of one weight file.
pub(crate) struct MappedFile {
    path: PathBuf,
    map: Mmap,
}

impl MappedFile {
    /// Maps `path`.
    ///
    /// # Errors
    /// The file cannot be opened, is no regular file, or is empty.
    pub(crate) fn open(path: &Path) -> Result<Self, ModelError> {
        let file = File::open(path).map_err(|source| ModelError::io(path, source))?;
        let metadata = file.metadata().map_err(|source| ModelError::io(path, source))?;
        if !metadata.is_file() {
            return Err(ModelError::corrupt(path, "not a regular file"));
        }
        if metadata.len() == 0 {
            return Err(ModelError::corrupt(path, "the file is empty"));
        }
        // SAFETY: the map is read-only and private to this value. The files of the cache are replaced by rename and
        // never written in place, so the pages behind the map do not change under it.
        let map = unsafe { Mmap::map(&file) }.map_err(|source| ModelError::io(path, source))?;
        Ok(Self {
            path: path.to_path_buf(),
            map,
        })
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the pages of `range` leave the memory; they are read again when they are looked at.
    pub(crate) fn release(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        // SAFETY: the map is a read-only view of a file, so pages that were dropped come back with the same bytes.
        unsafe {
            // Where the system refuses, the pages merely stay.
            _ = self
                .map
                .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len());
        }
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
