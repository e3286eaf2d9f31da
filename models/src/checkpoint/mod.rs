//! Opened checkpoints: a GGUF file or a Hugging Face folder, in the terms that engines and prompts need.

mod card;
mod extent;
mod fingerprint;
mod finite;
mod gguf;
mod huggingface;
mod mapped;
mod memory;
mod rotary;
mod shapes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use card::ModelCard;
pub use fingerprint::FileHash;
use fingerprint::hash_of_folder;
pub(crate) use fingerprint::{HashCache, hash_file};
#[cfg(feature = "hub")]
pub(crate) use huggingface::weight_files as shard_files;
pub use memory::{available_bytes, check_fit};
pub use shapes::weight_shapes;

use crate::store::default_cache_dir;
use crate::{DecoderDescription, MaskStyle, ModelError, WeightSource};

/// Name of the card file inside a model folder; beside a GGUF file `X.gguf` it is `X.assize-card.json`.
pub(crate) const CARD_FILE: &str = "assize-card.json";
/// Name of a decision head's file in or beside a model folder.
const HEAD_FILE: &str = "head.safetensors";
/// Folder in which decision checkpoints keep the backbone, beside their head.
const BACKBONE_FOLDER: &str = "unified";
/// Largest tokenizer or card file that is read.
const MOST_SIDE_BYTES: u64 = 256 << 20;

/// An opened model: description, weights, tokenizer and card.
pub struct Checkpoint {
    path: PathBuf,
    name: String,
    description: DecoderDescription,
    weights: Arc<dyn WeightSource>,
    weights_hash: String,
    file_hashes: Vec<FileHash>,
    tokenizer_json: Vec<u8>,
    card: ModelCard,
    head_file: Option<PathBuf>,
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoint")
            .field("name", &self.name)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Checkpoint {
    /// Opens a GGUF file, or a folder with `config.json`, safetensors weights and `tokenizer.json`. A folder that holds all
    /// that in `unified/`, and its head beside it, is opened too.
    ///
    /// The name comes from the card where there is one, else from the file or folder.
    ///
    /// # Errors
    /// Nothing is there, a file is damaged or cut short, or the model asks for something that is not supported.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::open_as(path, None, default_cache_dir().as_deref())
    }

    /// Opens `path` under `name`, with file hashes remembered under `cache_dir`.
    pub(crate) fn open_as(
        path: &Path,
        name: Option<&str>,
        cache_dir: Option<&Path>,
    ) -> Result<Self, ModelError> {
        let metadata = std::fs::metadata(path).map_err(|source| ModelError::io(path, source))?;
        let hashes = HashCache::new(cache_dir);
        if metadata.is_dir() {
            Self::open_folder(path, name, &hashes)
        } else {
            Self::open_gguf(path, name, &hashes)
        }
    }

    fn open_folder(folder: &Path, name: Option<&str>, hashes: &HashCache) -> Result<Self, ModelError> {
        let backbone = folder.join(BACKBONE_FOLDER);
        if !folder.join("config.json").exists() && backbone.join("config.json").is_file() {
            let name = name.map_or_else(|| name_of_folder(folder), str::to_owned);
            return Self::open_folder(&backbone, Some(&name), hashes);
        }
        let config = huggingface::Config::open(folder)?;
        let weights = huggingface::SafetensorsWeights::open(folder)?;
        let description = huggingface::description(&config, weights.embedding_type()?)?;
        let weights = Arc::new(weights.bind(&description)?);
        let tokenizer_path = folder.join("tokenizer.json");
        if !tokenizer_path.is_file() {
            return Err(ModelError::NotFound(format!(
                "{} is missing; save the model with its fast tokenizer to get one",
                tokenizer_path.display()
            )));
        }
        let tokenizer_json = read_bounded(&tokenizer_path)?;
        let mut files = huggingface::weight_files(folder)?;
        files.push(folder.join("config.json"));
        let file_hashes = hashes.files(&files)?;
        let weights_hash = hash_of_folder(&file_hashes);
        let card_path = folder.join(CARD_FILE);
        let name = name.map_or_else(|| name_of_folder(folder), str::to_owned);
        Self::finish(
            folder,
            name,
            &card_path,
            description,
            weights,
            (weights_hash, file_hashes),
            tokenizer_json,
        )
    }

    fn open_gguf(path: &Path, name: Option<&str>, hashes: &HashCache) -> Result<Self, ModelError> {
        let file = gguf::GgufFile::open(path)?;
        let description = gguf::description(&file)?;
        let tokenizer_json = gguf::tokenizer_json(&file, description.vocabulary)?;
        let weights = Arc::new(gguf::GgufWeights::new(file, &description)?);
        let weights_hash = hashes.file(path)?;
        let file_hashes = vec![FileHash {
            path: path.to_path_buf(),
            sha256: weights_hash.clone(),
        }];
        let card_path = path.with_extension(CARD_FILE);
        let name = name.map_or_else(|| name_of_file(path), str::to_owned);
        Self::finish(
            path,
            name,
            &card_path,
            description,
            weights,
            (weights_hash, file_hashes),
            tokenizer_json,
        )
    }

    fn finish(
        path: &Path,
        name: String,
        card_path: &Path,
        description: DecoderDescription,
        weights: Arc<dyn WeightSource>,
        (weights_hash, file_hashes): (String, Vec<FileHash>),
        tokenizer_json: Vec<u8>,
    ) -> Result<Self, ModelError> {
        let head_file = head_file(path);
        let card: ModelCard = if card_path.is_file() {
            let bytes = read_bounded(card_path)?;
            serde_json::from_slice(&bytes)
                .map_err(|error| ModelError::corrupt(card_path, format!("not a model card: {error}")))?
        } else {
            ModelCard::built_in(&name, &description, &tokenizer_json, head_file.is_some())
                .map_err(|reason| ModelError::corrupt(path, reason))?
        };
        let name = if card_path.is_file() {
            card.name.clone()
        } else {
            name
        };
        let style = card.mask_style;
        let checkpoint = Self {
            path: path.to_path_buf(),
            name,
            description,
            weights,
            weights_hash,
            file_hashes,
            tokenizer_json,
            card,
            head_file,
        };
        Ok(match style {
            Some(style) => checkpoint.with_mask_style(style),
            None => checkpoint,
        })
    }

    /// The model's name, for example `smollm2-135m-instruct`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The GGUF file or folder that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What engines lower.
    pub fn description(&self) -> &DecoderDescription {
        &self.description
    }

    /// The same model with another rule of which soft tokens of a picture see each other; a model that reads text only
    /// stays as it is. The style is part of the artifact.
    pub fn with_mask_style(mut self, style: MaskStyle) -> Self {
        if let Some(media) = &mut self.description.media {
            media.mask_style = style;
        }
        self
    }

    /// Who sees whom within a picture, where the model reads media.
    pub fn mask_style(&self) -> Option<MaskStyle> {
        self.description.media.as_ref().map(|media| media.mask_style)
    }

    /// Read access to the weights.
    pub fn weights(&self) -> &Arc<dyn WeightSource> {
        &self.weights
    }

    /// sha256 over the weight files and the configuration, in hexadecimal digits.
    ///
    /// A GGUF file's is that of the file. A folder's is the sha256 of one line `<sha256>  <file name>` per safetensors
    /// file and `config.json`, sorted by name: what `sha256sum *.safetensors config.json | sort -k2 | sha256sum` prints.
    pub fn weights_hash(&self) -> &str {
        &self.weights_hash
    }

    /// What [`Self::weights_hash`] was made from.
    pub fn file_hashes(&self) -> &[FileHash] {
        &self.file_hashes
    }

    /// The tokenizer in Hugging Face `tokenizer.json` form.
    pub fn tokenizer_json(&self) -> &[u8] {
        &self.tokenizer_json
    }

    /// sha256 of [`Self::tokenizer_json`], in hexadecimal digits.
    pub fn tokenizer_hash(&self) -> String {
        hex::encode(Sha256::digest(&self.tokenizer_json))
    }

    /// The file of a decision head, where one lies in the model folder, beside a folder `unified`, or beside a GGUF file
    /// as `X.head.safetensors`.
    pub fn head_file(&self) -> Option<&Path> {
        self.head_file.as_deref()
    }

    /// Name, licence, prompt form and readout.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }
}

fn head_file(path: &Path) -> Option<PathBuf> {
    if !path.is_dir() {
        return Some(path.with_extension(HEAD_FILE)).filter(|file| file.is_file());
    }
    let inside = path.join(HEAD_FILE);
    if inside.is_file() {
        return Some(inside);
    }
    let absolute = path.canonicalize().ok()?;
    let beside = absolute.parent()?.join(HEAD_FILE);
    (absolute.ends_with(BACKBONE_FOLDER) && beside.is_file()).then_some(beside)
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, ModelError> {
    let len = std::fs::metadata(path)
        .map_err(|source| ModelError::io(path, source))?
        .len();
    if len > MOST_SIDE_BYTES {
        return Err(ModelError::corrupt(
            path,
            format!("{len} bytes is more than {MOST_SIDE_BYTES}"),
        ));
    }
    std::fs::read(path).map_err(|source| ModelError::io(path, source))
}

fn name_of_folder(folder: &Path) -> String {
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    absolute.file_name().map_or_else(
        || "model".to_owned(),
        |name| name.to_string_lossy().to_lowercase(),
    )
}

/// The file's stem in lower case, without a quantisation suffix such as `.Q4_1` or `-f16`.
pub(crate) fn name_of_file(path: &Path) -> String {
    let stem = path.file_stem().map_or_else(
        || "model".to_owned(),
        |stem| stem.to_string_lossy().to_lowercase(),
    );
    let Some((base, suffix)) = stem.rsplit_once(['.', '-']) else {
        return stem;
    };
    let quantised = suffix.starts_with('q') && suffix[1..].starts_with(|c: char| c.is_ascii_digit());
    if (quantised || ["f32", "f16", "bf16"].contains(&suffix)) && !base.is_empty() {
        base.to_owned()
    } else {
        stem
    }
}

#[cfg(test)]
pub(crate) fn tiny_gguf() -> Vec<u8> {
    gguf::tests::GgufBuilder::llama().bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_gives_the_model_name() {
        for (file, name) in [
            ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2-135m-instruct"),
            ("gemma-3-270m-q4_k_m.gguf", "gemma-3-270m"),
            ("model-f16.gguf", "model"),
            ("qwen3-0.6b.gguf", "qwen3-0.6b"),
            ("é-q.gguf", "é-q"),
        ] {
            assert_eq!(name_of_file(Path::new(file)), name);
        }
    }
}
