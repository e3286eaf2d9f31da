//! The model under test: opened once, loaded on an engine in the precisions that a benchmark asks for.

use std::path::{Path, PathBuf};

use assize_heads::Readout;
use assize_models::engines::{self, Device, Engine, EngineOptions};
use assize_models::store::Store;
use assize_models::{ArtifactDescription, ArtifactId, Backbone, Checkpoint, Precision};
use assize_preprocess::prompt::{EncodeOptions, PromptForm, Truncate};
use assize_preprocess::{PromptError, PromptTokenizer};
use sha2::{Digest, Sha256};

use super::latency::decision;
use super::{BenchError, Host, Identity};

/// An opened model with its tokenizer and its card's defaults.
pub struct Subject {
    store: Store,
    checkpoint: Checkpoint,
    engine: Option<Engine>,
    device: Device,
    /// Its tokenizer.
    pub tokenizer: PromptTokenizer,
    /// The card's prompt form.
    pub form: PromptForm,
    /// The card's readout.
    pub readout: Readout,
    host: Host,
}

impl Subject {
    /// Opens a model by name or path; the cache is at `cache` or where the user's caches are.
    ///
    /// # Errors
    /// There is no such model, or its card or tokenizer is damaged.
    pub fn open(name: &str, cache: Option<&Path>) -> Result<Self, BenchError> {
        let store = Store::open(cache)?;
        let checkpoint = store.resolve(name)?;
        let tokenizer = PromptTokenizer::from_json(checkpoint.tokenizer_json())?;
        let card = checkpoint.card();
        let form = card.prompt_form.clone();
        let readout = serde_json::from_value(card.readout.clone()).map_err(|error| BenchError::Argument {
            field: "readout of the model's card",
            value: card.readout.to_string(),
            remedy: error.to_string(),
        })?;
        Ok(Self {
            store,
            engine: None,
            device: Device::Auto,
            tokenizer,
            form,
            readout,
            checkpoint,
            host: Host::read(),
        })
    }

    /// The same model on another engine or device than the default ones.
    pub fn on(mut self, engine: Option<Engine>, device: Device) -> Self {
        (self.engine, self.device) = (engine, device);
        self
    }

    /// The engine that the model is loaded on.
    pub fn engine(&self) -> Engine {
        self.engine.unwrap_or_default()
    }

    /// Loads the model on its engine.
    ///
    /// # Errors
    /// The engine's library is missing or memory does not suffice.
    pub fn load(
        &self,
        precision: Option<Precision>,
        threads: Option<usize>,
    ) -> Result<Box<dyn Backbone>, BenchError> {
        let options = EngineOptions {
            engine: self.engine,
            device: self.device,
            precision,
            threads,
            ..EngineOptions::in_store(&self.store, &self.checkpoint)
        };
        Ok(engines::load(&self.checkpoint, &options)?)
    }

    /// Fields that every record of `backbone` starts with, for the card's form and readout.
    ///
    /// # Errors
    /// The readout is not serialisable.
    pub fn identity(&self, backbone: &dyn Backbone) -> Result<Identity, BenchError> {
        self.identity_with(backbone, &self.form, &self.readout)
    }

    /// The same for another form and readout, which are part of the artifact.
    ///
    /// # Errors
    /// The readout is not serialisable.
    pub fn identity_with(
        &self,
        backbone: &dyn Backbone,
        form: &PromptForm,
        readout: &Readout,
    ) -> Result<Identity, BenchError> {
        let artifact = self.artifact(backbone, form, readout)?;
        Ok(Identity::new(
            self.checkpoint.name(),
            backbone,
            &artifact,
            &self.host,
        ))
    }

    fn artifact(
        &self,
        backbone: &dyn Backbone,
        form: &PromptForm,
        readout: &Readout,
    ) -> Result<ArtifactId, BenchError> {
        let readout = serde_json::to_vec(readout).map_err(BenchError::record)?;
        Ok(ArtifactDescription {
            weights: self.checkpoint.weights_hash().to_owned(),
            tokenizer: self.checkpoint.tokenizer_hash(),
            prompt_form: form.fingerprint(),
            readout: hex::encode(Sha256::digest(readout)),
            precision: backbone.engine().precision.to_string(),
            engine: engines::numerics(backbone.engine()).to_owned(),
            mask_style: self.checkpoint.mask_style(),
            layers: None,
        }
        .id())
    }

    /// Whether the model's tokenizer has every special token of `form`.
    pub fn can_write(&self, form: &PromptForm) -> bool {
        let options = EncodeOptions {
            context: usize::MAX,
            truncate: Truncate::Error,
            order_averages: 1,
            prior: false,
        };
        let written = form.encode(&self.tokenizer, &decision(1, 1), &options);
        !matches!(written, Err(PromptError::MissingSpecialToken { .. }))
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        self.checkpoint.name()
    }

    /// Where the model's file or folder is.
    pub fn path(&self) -> &Path {
        self.checkpoint.path()
    }

    /// sha256 of the weights.
    pub fn weights_hash(&self) -> &str {
        self.checkpoint.weights_hash()
    }

    /// A folder of the cache for files that a benchmark makes.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.store.root().join("bench").join(name)
    }

    /// The machine.
    pub fn host(&self) -> &Host {
        &self.host
    }
}
