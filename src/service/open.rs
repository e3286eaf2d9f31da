//! Loading a model and naming the artifact that it makes.

use std::path::PathBuf;

use assize_heads::{HeadError, Readout, SlotHead};
use assize_models::engines::{self, Device, Engine, EngineOptions};
use assize_models::store::Store;
use assize_models::{ArtifactDescription, Backbone, Checkpoint, DEFAULT_MODEL, Precision};
use assize_preprocess::PromptTokenizer;
use sha2::{Digest, Sha256};

use super::{Service, ServiceError};

/// Which model is loaded, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Name of a model, or path of a checkpoint.
    pub model: String,
    /// Folder of the model cache; `None` takes the user's.
    pub cache_dir: Option<PathBuf>,
    /// Engine; `None` takes the default one.
    pub engine: Option<Engine>,
    /// Where the engine runs.
    pub device: Device,
    /// Arithmetic; `None` takes the fastest of this host that keeps the answers.
    pub precision: Option<Precision>,
    /// Threads of a forward pass; `None` takes all processors.
    pub threads: Option<usize>,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            model: DEFAULT_MODEL.into(),
            cache_dir: None,
            engine: None,
            device: Device::Auto,
            precision: None,
            threads: None,
        }
    }
}

impl Service {
    /// Finds the model (the default one is fetched where it is missing), loads it on an engine and names the artifact.
    ///
    /// # Errors
    /// The model is unknown, damaged or does not fit the memory, the engine's library is missing, or the model's card
    /// is not valid.
    pub fn open(options: &ServiceOptions) -> Result<Self, ServiceError> {
        let store = Store::open(options.cache_dir.as_deref())?;
        let checkpoint = store.resolve(&options.model)?;
        let engine = EngineOptions {
            engine: options.engine,
            device: options.device,
            precision: options.precision,
            threads: options.threads,
            ..EngineOptions::in_store(&store, &checkpoint)
        };
        Self::load(&checkpoint, &engine)
    }

    /// Loads an opened checkpoint on the engine that suits it and this host.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn load(checkpoint: &Checkpoint, options: &EngineOptions) -> Result<Self, ServiceError> {
        // The card is read first: its mistakes are found before the weights are loaded.
        let readout = readout_of(checkpoint)?;
        let head = head_of(checkpoint, readout)?;
        Self::assemble(checkpoint, readout, head, engines::load(checkpoint, options)?)
    }

    /// Puts a checkpoint's tokenizer and card in front of a backbone that is loaded already.
    ///
    /// # Errors
    /// The card or the tokenizer is not valid.
    pub fn with_backbone(checkpoint: &Checkpoint, backbone: Box<dyn Backbone>) -> Result<Self, ServiceError> {
        let readout = readout_of(checkpoint)?;
        Self::assemble(checkpoint, readout, head_of(checkpoint, readout)?, backbone)
    }

    fn assemble(
        checkpoint: &Checkpoint,
        readout: Readout,
        head: Option<SlotHead>,
        backbone: Box<dyn Backbone>,
    ) -> Result<Self, ServiceError> {
        let card = checkpoint.card().clone();
        let form = card.prompt_form.clone();
        let tokenizer = PromptTokenizer::from_json(checkpoint.tokenizer_json())?;
        // The readout as parsed, so that spelling a default out makes no new artifact; a head's numbers belong to it.
        let mut read = serde_json::to_string(&readout).map_err(ServiceError::CardReadout)?;
        if let Some(head) = &head {
            read.push_str(head.fingerprint());
        }
        let artifact = ArtifactDescription {
            weights: checkpoint.weights_hash().to_owned(),
            tokenizer: checkpoint.tokenizer_hash(),
            prompt_form: form.fingerprint(),
            readout: fingerprint(&read),
            precision: backbone.engine().precision.to_string(),
            engine: engines::numerics(backbone.engine()).to_owned(),
            mask_style: checkpoint.mask_style(),
        };
        let id = artifact.id();
        Ok(Self {
            card,
            tokenizer,
            form,
            readout,
            head,
            backbone,
            artifact,
            id,
        })
    }
}

fn readout_of(checkpoint: &Checkpoint) -> Result<Readout, ServiceError> {
    let card = checkpoint.card();
    let readout: Readout = serde_json::from_value(card.readout.clone()).map_err(ServiceError::CardReadout)?;
    if readout.needs_prior() && card.prompt_form.is_joined() {
        return Err(ServiceError::FormWithoutPrior {
            form: card.prompt_form.name().to_owned(),
        });
    }
    if readout == Readout::Label && !card.prompt_form.has_labels() {
        return Err(ServiceError::FormWithoutLabels {
            form: card.prompt_form.name().to_owned(),
        });
    }
    Ok(readout)
}

/// The head of a model whose readout is `slot`: the file beside its weights.
fn head_of(checkpoint: &Checkpoint, readout: Readout) -> Result<Option<SlotHead>, ServiceError> {
    if readout != Readout::Slot {
        return Ok(None);
    }
    let head = SlotHead::open(checkpoint.head_file().ok_or(HeadError::NoHead)?)?;
    let width = checkpoint.description().hidden;
    if head.width() != width {
        return Err(HeadError::Width {
            head: head.width(),
            model: width,
        }
        .into());
    }
    Ok(Some(head))
}

fn fingerprint(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
