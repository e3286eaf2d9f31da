//! The engine on libtorch: float32 and bf16, on the processor or on CUDA, by one path of code.
//!
//! Linear layers run in the chosen precision; norms, rotary embeddings, attention and the residual stream in float32, as
//! the checkpoints that were trained with such a pass expect. The last layer computes keys and values for all rows, and
//! everything else for the reads only.

mod attention;
mod decoder;
mod embedders;
mod host;
mod layer;
mod linear;
mod loader;
mod output;
mod rotary;
mod visibility;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tch::{Kind, Tensor};

use self::decoder::Decoder;
use self::host::Place;
pub(super) use self::host::host;
use self::loader::Loader;
use self::output::OutputHead;
use super::{EngineOptions, Source, checks};
use crate::{
    Backbone, DecoderDescription, EngineInfo, HiddenStates, Interrupt, ModelError, PackedBatch, Precision,
    TokenId, check_fit,
};

/// The engine's name.
const ENGINE: &str = "torch";
/// The release that the bindings are made for; their build refuses every other.
const VERSION: &str = "2.13.0";

fn engine_error(reason: impl std::fmt::Display) -> ModelError {
    ModelError::Engine {
        engine: ENGINE,
        reason: reason.to_string(),
    }
}

impl From<tch::TchError> for ModelError {
    fn from(error: tch::TchError) -> Self {
        // What follows the first line is a trace of C++ frames.
        engine_error(error.to_string().lines().next().unwrap_or_default())
    }
}

/// The numbers of a float32 tensor, row-major, on the host.
fn floats(tensor: &Tensor) -> Result<Vec<f32>, ModelError> {
    let tensor = tensor
        .f_to_device_(tch::Device::Cpu, Kind::Float, false, false)?
        .f_contiguous()?;
    let mut values = vec![0.0; tensor.numel()];
    let count = values.len();
    tensor.f_copy_data(&mut values, count)?;
    Ok(values)
}

/// A model loaded on libtorch.
pub struct TorchBackbone {
    description: DecoderDescription,
    info: EngineInfo,
    bytes: u64,
    place: Place,
    decoder: Mutex<Decoder>,
    output: Mutex<OutputHead>,
}

impl TorchBackbone {
    /// Loads the weights tensor by tensor, each straight into the type and onto the device that it is used in.
    ///
    /// # Errors
    /// The precision or the device is not one of this engine, a tensor is missing or of another shape than the
    /// configuration says, or memory does not suffice.
    pub fn load(source: Source<'_>, options: &EngineOptions) -> Result<Self, ModelError> {
        checks::description(source)?;
        let run = checks::depth(source, options.layers)?;
        let description = run.as_ref();
        let source = Source {
            description,
            ..source
        };
        let place = Place::choose(options.device, options.threads)?;
        let precision = options.precision.unwrap_or_else(|| place.default_precision());
        let linear = match precision {
            Precision::Float32 => Kind::Float,
            Precision::Bfloat16 => Kind::BFloat16,
            Precision::Int8 => {
                return Err(ModelError::Unsupported(
                    "precision int8 on the engine torch: use float32 or bf16, or the engine onnx".into(),
                ));
            }
        };
        let loader = Loader::new(source, place.device, linear);
        if place.device == tch::Device::Cpu {
            check_fit(
                source.name,
                loader.bytes()? + decoder::activation_bytes(description),
            )?;
        }
        place.enter();
        let _no_grad = tch::no_grad_guard();
        let decoder = Decoder::load(&loader, description)?;
        let output = OutputHead::load(&loader, description, &decoder)?;
        let bytes = loader.finish();
        let info = EngineInfo {
            name: ENGINE,
            version: VERSION.to_owned(),
            precision,
            kernels: place.kernels(precision),
            threads: place.threads,
        };
        Ok(Self {
            description: run.into_owned(),
            info,
            bytes,
            place,
            decoder: Mutex::new(decoder),
            output: Mutex::new(output),
        })
    }

    /// The output matrix, in this thread.
    fn output(&self) -> (MutexGuard<'_, OutputHead>, tch::NoGradGuard) {
        self.place.enter();
        // Tensors are not changed after loading, so what a panic abandoned is still good.
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        (output, tch::no_grad_guard())
    }

    fn checked_width(&self, width: usize) -> Result<(), ModelError> {
        if width == self.description.hidden {
            return Ok(());
        }
        Err(ModelError::InvalidBatch(format!(
            "hidden states are {width} wide instead of {}",
            self.description.hidden
        )))
    }
}

impl Backbone for TorchBackbone {
    fn description(&self) -> &DecoderDescription {
        &self.description
    }

    fn engine(&self) -> &EngineInfo {
        &self.info
    }

    fn weight_bytes(&self) -> u64 {
        self.bytes
    }

    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError> {
        self.forward_unless(batch, &Interrupt::default())
    }

    fn forward_unless(&self, batch: &PackedBatch, interrupt: &Interrupt) -> Result<HiddenStates, ModelError> {
        checks::batch(&self.description, batch)?;
        // Tensors are not changed after loading, so what a panic abandoned is still good.
        let decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        self.place.enter();
        let _no_grad = tch::no_grad_guard();
        let hidden = decoder.forward(&self.description, batch, interrupt)?;
        HiddenStates::new(self.description.hidden, floats(&hidden)?)
    }

    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        self.checked_width(hidden.len())?;
        if let Some(token) = tokens
            .iter()
            .find(|token| **token as usize >= self.description.vocabulary)
        {
            return Err(ModelError::InvalidBatch(format!(
                "token {token} is outside the vocabulary"
            )));
        }
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let (output, _no_grad) = self.output();
        floats(&output.logits_of(hidden, tokens)?)
    }

    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.checked_width(hidden.width())?;
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let (output, _no_grad) = self.output();
        floats(&output.logits(hidden.values())?)
    }

    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.checked_width(hidden.width())?;
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let (output, _no_grad) = self.output();
        floats(&output.log_normalizers(hidden.values())?)
    }
}
