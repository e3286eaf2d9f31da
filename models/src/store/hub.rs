//! Folders from the Hugging Face hub, by `org/name[@revision]`.
//!
//! `HF_ENDPOINT`, `HF_TOKEN` and the token file of the hub's own tools are honoured. Tested against a local server that speaks
//! the part of the protocol the client uses, not against the hub itself.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};

use super::name::HubName;
use crate::ModelError;

const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";
const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Retries of one file.
const RETRIES: usize = 3;

/// What was downloaded.
pub(super) struct HubFolder {
    /// The model folder.
    pub(super) folder: PathBuf,
    /// Its files.
    pub(super) files: Vec<PathBuf>,
    /// Everything that was kept of the repository.
    pub(super) repository: PathBuf,
}

/// Downloads the files of `name` that a checkpoint needs into `cache_dir`.
///
/// # Errors
/// The hub cannot be reached, has no such model, or the model lacks a needed file.
pub(super) fn fetch(cache_dir: &Path, name: HubName<'_>) -> Result<HubFolder, ModelError> {
    let endpoint = std::env::var("HF_ENDPOINT")
        .ok()
        .filter(|endpoint| !endpoint.is_empty());
    fetch_from(endpoint, cache_dir, name)
}

fn fetch_from(
    endpoint: Option<String>,
    cache_dir: &Path,
    name: HubName<'_>,
) -> Result<HubFolder, ModelError> {
    let failed = |reason: String| ModelError::Fetch {
        what: name.repository.to_owned(),
        reason,
    };
    let described = |error: ApiError| {
        failed(format!(
            "{error}. Check the name, the network and, for a gated model, HF_TOKEN; or download the folder elsewhere and use \
             --model DIR"
        ))
    };
    let token = std::env::var("HF_TOKEN")
        .ok()
        .or_else(|| Cache::from_env().token());
    let mut builder = ApiBuilder::new()
        .with_cache_dir(cache_dir.to_path_buf())
        .with_token(token)
        .with_retries(RETRIES)
        .with_progress(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let api = builder.build().map_err(described)?;
    let model = |revision: &str| {
        Repo::with_revision(name.repository.to_owned(), RepoType::Model, revision.to_owned())
    };
    // The branch is resolved once, so that every file is of one commit.
    let info = api
        .repo(model(name.revision.unwrap_or("main")))
        .info()
        .map_err(described)?;
    let pinned = model(&info.sha);
    let remote = api.repo(pinned.clone());
    let present: Vec<String> = info.siblings.into_iter().map(|file| file.rfilename).collect();
    let mut wanted = wanted_files(&present).map_err(&failed)?;
    let mut files = Vec::new();
    while let Some(file) = wanted.pop() {
        let path = remote.get(&file).map_err(described)?;
        if file == INDEX {
            let folder = path.parent().unwrap_or(cache_dir);
            let shards = crate::checkpoint::shard_files(folder)?;
            wanted.extend(
                shards
                    .iter()
                    .filter_map(|shard| Some(shard.file_name()?.to_string_lossy().into_owned())),
            );
        }
        files.push(path);
    }
    let folder = files
        .first()
        .and_then(|file| file.parent())
        .ok_or_else(|| failed("nothing was downloaded".into()))?
        .to_path_buf();
    Ok(HubFolder {
        folder,
        files,
        repository: cache_dir.join(pinned.folder_name()),
    })
}

/// The files of a repository that a checkpoint needs; the shards follow from the index.
fn wanted_files(present: &[String]) -> Result<Vec<String>, String> {
    let has = |name: &str| present.iter().any(|file| file == name);
    let weights = if has(SINGLE) {
        SINGLE
    } else if has(INDEX) {
        INDEX
    } else {
        return Err(format!(
            "the repository has neither {SINGLE} nor {INDEX}; only safetensors weights are read"
        ));
    };
    for needed in [CONFIG, TOKENIZER] {
        if !has(needed) {
            return Err(format!("the repository has no {needed}"));
        }
    }
    Ok(vec![weights.to_owned(), TOKENIZER.to_owned(), CONFIG.to_owned()])
}

#[cfg(test)]
mod tests;
