//! Loading a model and naming the artifact that it makes.

use std::path::PathBuf;

use assize_heads::{FittedHead, HeadError, Readout, SlotHead};
use assize_models::engines::{self, Device, Engine, EngineOptions};
use assize_models::store::Store;
use assize_models::{ArtifactDescription, Backbone, Checkpoint, DEFAULT_MODEL, Precision};
use assize_preprocess::PromptTokenizer;
use sha2::{Digest, Sha256};

use super::binding::{Binding, BindingKind};
use super::calibration::ServedCalibration;
use super::{ServedHead, Service, ServiceError};

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
    /// Decoder layers that are run; `None` runs those that the fitted head reads, and all without one. A model with fewer
    /// gives hidden states, and answers with a fitted head alone.
    pub layers: Option<usize>,
    /// A fitted head (its folder or its `.safetensors` file) that replaces the model's readout.
    pub head: Option<PathBuf>,
    /// A calibration file.
    pub calibration: Option<PathBuf>,
    /// Whether a head or a calibration that was made for another artifact is used all the same, and every answer marked.
    pub allow_mismatch: bool,
}

/// What is put behind a model's hidden states, or behind its scores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachments {
    /// As [`ServiceOptions::head`].
    pub head: Option<PathBuf>,
    /// As [`ServiceOptions::calibration`].
    pub calibration: Option<PathBuf>,
    /// As [`ServiceOptions::allow_mismatch`].
    pub allow_mismatch: bool,
}

/// [`Attachments`] as they were read, which needs no model.
#[derive(Default)]
struct Attached {
    head: Option<(PathBuf, FittedHead)>,
    calibration: Option<ServedCalibration>,
    allow_mismatch: bool,
}

impl Attached {
    /// Decoder layers that the head reads, where these are not all.
    fn layers(&self) -> Option<usize> {
        let (_, head) = self.head.as_ref()?;
        head.card().base.description.layers
    }

    /// Reads the files, so that a mistake is found before a model is loaded.
    fn read(attachments: &Attachments, checkpoint: &Checkpoint) -> Result<Self, ServiceError> {
        let head = attachments.head.as_ref().map(|path| {
            let fitted = FittedHead::open(path)?;
            check_width(fitted.head(), checkpoint)?;
            Ok::<_, ServiceError>((path.clone(), fitted))
        });
        let calibration = attachments.calibration.as_deref();
        Ok(Self {
            head: head.transpose()?,
            calibration: calibration.map(ServedCalibration::open).transpose()?,
            allow_mismatch: attachments.allow_mismatch,
        })
    }
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
            layers: None,
            head: None,
            calibration: None,
            allow_mismatch: false,
        }
    }
}

impl Service {
    /// Finds the model (the default one is fetched where it is missing), loads it on an engine and names the artifact.
    ///
    /// # Errors
    /// The model is unknown, damaged or does not fit the memory, the engine's library is missing, or the model's card
    /// is not valid; a head or a calibration is damaged, or was made for another artifact.
    pub fn open(options: &ServiceOptions) -> Result<Self, ServiceError> {
        let store = Store::open(options.cache_dir.as_deref())?;
        let checkpoint = store.resolve(&options.model)?;
        let engine = EngineOptions {
            engine: options.engine,
            device: options.device,
            precision: options.precision,
            threads: options.threads,
            layers: options.layers,
            ..EngineOptions::in_store(&store, &checkpoint)
        };
        let attachments = Attachments {
            head: options.head.clone(),
            calibration: options.calibration.clone(),
            allow_mismatch: options.allow_mismatch,
        };
        Self::load(&checkpoint, &engine, &attachments)
    }

    /// Loads an opened checkpoint on the engine that suits it and this host.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn load(
        checkpoint: &Checkpoint,
        options: &EngineOptions,
        attachments: &Attachments,
    ) -> Result<Self, ServiceError> {
        // The card is read first: its mistakes are found before the weights are loaded.
        let readout = readout_of(checkpoint)?;
        let head = head_of(checkpoint, readout)?;
        let attached = Attached::read(attachments, checkpoint)?;
        let options = EngineOptions {
            layers: options.layers.or(attached.layers()),
            ..options.clone()
        };
        let backbone = engines::load(checkpoint, &options)?;
        Self::assemble(checkpoint, readout, head, attached, backbone)
    }

    /// Puts a checkpoint's tokenizer and card in front of a backbone that is loaded already.
    ///
    /// # Errors
    /// The card or the tokenizer is not valid.
    pub fn with_backbone(checkpoint: &Checkpoint, backbone: Box<dyn Backbone>) -> Result<Self, ServiceError> {
        Self::with_backbone_and(checkpoint, backbone, &Attachments::default())
    }

    /// [`Self::with_backbone`] with a head or a calibration behind it.
    ///
    /// # Errors
    /// As [`Self::with_backbone`]; a head or a calibration is damaged, or was made for another artifact.
    pub fn with_backbone_and(
        checkpoint: &Checkpoint,
        backbone: Box<dyn Backbone>,
        attachments: &Attachments,
    ) -> Result<Self, ServiceError> {
        let readout = readout_of(checkpoint)?;
        let attached = Attached::read(attachments, checkpoint)?;
        Self::assemble(
            checkpoint,
            readout,
            head_of(checkpoint, readout)?,
            attached,
            backbone,
        )
    }

    fn assemble(
        checkpoint: &Checkpoint,
        readout: Readout,
        head: Option<SlotHead>,
        attached: Attached,
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
        let base = ArtifactDescription {
            weights: checkpoint.weights_hash().to_owned(),
            tokenizer: checkpoint.tokenizer_hash(),
            prompt_form: form.fingerprint(),
            readout: fingerprint(&read),
            precision: backbone.engine().precision.to_string(),
            engine: engines::numerics(backbone.engine()).to_owned(),
            mask_style: checkpoint.mask_style(),
            layers: Some(backbone.description().layers.len())
                .filter(|layers| *layers != checkpoint.description().layers.len()),
        };
        let mut mismatches = Vec::new();
        let (readout, head, artifact) = match attached.head {
            None => (readout, head.map(ServedHead::OfModel), base.clone()),
            Some((path, fitted)) => {
                let binding = Binding {
                    kind: BindingKind::Head,
                    id: fitted.id(),
                    path,
                    made_for: fitted.card().base.description.clone(),
                };
                mismatches.extend(binding.check(&base, attached.allow_mismatch)?);
                let artifact = ArtifactDescription {
                    readout: fingerprint(&format!("{{\"kind\":\"fitted\"}}{}", fitted.fingerprint())),
                    ..base.clone()
                };
                (
                    Readout::Slot,
                    Some(ServedHead::Fitted(Box::new(fitted))),
                    artifact,
                )
            }
        };
        if let Some(calibration) = &attached.calibration {
            mismatches.extend(calibration.binding.check(&artifact, attached.allow_mismatch)?);
        }
        let id = artifact.id();
        Ok(Self {
            card,
            tokenizer,
            form,
            readout,
            head,
            calibration: attached.calibration,
            mismatches,
            backbone,
            base,
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
    check_width(&head, checkpoint)?;
    Ok(Some(head))
}

fn check_width(head: &SlotHead, checkpoint: &Checkpoint) -> Result<(), ServiceError> {
    let (head, model) = (head.width(), checkpoint.description().hidden);
    if head == model {
        return Ok(());
    }
    Err(HeadError::Width { head, model }.into())
}

fn fingerprint(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
