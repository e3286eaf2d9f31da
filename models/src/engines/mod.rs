//! Engines: each lowers a decoder description to something that runs, and returns it as a [`Backbone`].

mod checks;
mod device;
pub mod onnx;
#[cfg(feature = "torch")]
pub mod torch;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::device::Device;
use crate::checkpoint::FileHash;
use crate::store::Store;
use crate::{Backbone, Checkpoint, DecoderDescription, EngineInfo, ModelError, Precision, WeightSource};

/// An engine of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// ONNX Runtime with this crate's kernels: float32 and int8 on the processor.
    #[default]
    Onnx,
    /// libtorch: float32 and bf16 on the processor or on CUDA; only in builds with the feature `torch`.
    Torch,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Onnx => "onnx",
            Engine::Torch => "torch",
        })
    }
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "onnx" => Ok(Engine::Onnx),
            "torch" => Ok(Engine::Torch),
            other => Err(format!("unknown engine {other:?}: use onnx or torch")),
        }
    }
}

/// How a model is to be loaded.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Which engine; `None` takes [`Engine::Onnx`].
    pub engine: Option<Engine>,
    /// Where the engine runs.
    pub device: Device,
    /// Arithmetic of the linear layers; `None` takes the fastest of this host that keeps the answers.
    pub precision: Option<Precision>,
    /// Threads of one forward pass; `None` takes all processors that this process may use.
    pub threads: Option<usize>,
    /// Decoder layers that are run, with the final norm behind the last of them; `None` runs all.
    pub layers: Option<usize>,
    /// Folder where an engine keeps its own form of the weights.
    pub lowered_dir: PathBuf,
    /// Folder that is searched for the engine's shared library before the system's places.
    pub library_dir: Option<PathBuf>,
}

impl EngineOptions {
    /// Everything by default, with the folders of the model cache.
    pub fn in_store(store: &Store, checkpoint: &Checkpoint) -> Self {
        Self {
            engine: None,
            device: Device::Auto,
            precision: None,
            threads: None,
            layers: None,
            lowered_dir: store.lowered_dir(checkpoint),
            library_dir: Some(store.library_dir()),
        }
    }
}

/// What an engine is given: a model that was opened, whatever its file format.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// The architecture.
    pub description: &'a DecoderDescription,
    /// The weights.
    pub weights: &'a dyn WeightSource,
    /// sha256 of the weights, the key of the engine's own form.
    pub weights_hash: &'a str,
    /// The files that the weights come from, checked before an engine makes its own form of them.
    pub files: &'a [FileHash],
}

impl<'a> From<&'a Checkpoint> for Source<'a> {
    fn from(checkpoint: &'a Checkpoint) -> Self {
        Self {
            name: checkpoint.name(),
            description: checkpoint.description(),
            weights: checkpoint.weights().as_ref(),
            weights_hash: checkpoint.weights_hash(),
            files: checkpoint.file_hashes(),
        }
    }
}

/// Loads a model on the engine that `options` names.
///
/// # Errors
/// The engine is not built in or its library is missing, it does not do the precision or run on the device, the weights
/// are damaged, the model has fewer layers than are asked for, or memory does not suffice.
pub fn load(checkpoint: &Checkpoint, options: &EngineOptions) -> Result<Box<dyn Backbone>, ModelError> {
    load_source(checkpoint.into(), options)
}

/// [`load`] for a model that is no checkpoint of its own, such as the first layers of one.
///
/// # Errors
/// As [`load`].
pub fn load_source(source: Source<'_>, options: &EngineOptions) -> Result<Box<dyn Backbone>, ModelError> {
    match options.engine.unwrap_or_default() {
        Engine::Onnx => Ok(Box::new(onnx::OnnxBackbone::load(source, options)?)),
        #[cfg(feature = "torch")]
        Engine::Torch => Ok(Box::new(torch::TorchBackbone::load(source, options)?)),
        #[cfg(not(feature = "torch"))]
        Engine::Torch => Err(ModelError::Unsupported(
            "the engine torch is not built into this program: build it with the cargo feature `torch` \
             (scripts/libtorch.sh places what that needs), or use the engine onnx"
                .into(),
        )),
    }
}

/// The precision that the engine onnx takes when none is asked for: int8 where the host multiplies 8-bit numbers fast.
pub fn default_precision() -> Precision {
    match crate::kernels::Isa::detect() {
        crate::kernels::Isa::Avx512Vnni => Precision::Int8,
        _ => Precision::Float32,
    }
}

/// What an engine would use on this host.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// Engine name.
    pub name: &'static str,
    /// Version of the library.
    pub version: String,
    /// Where the library was found.
    pub library: PathBuf,
    /// The kernels for this host's processor.
    pub kernels: &'static str,
    /// Threads of one forward pass.
    pub threads: usize,
    /// Precision when none is asked for.
    pub precision: Precision,
}

/// Starts the engine without a model and says what it uses.
///
/// # Errors
/// The library is missing or too old.
pub fn host(library_dir: Option<&Path>) -> Result<Host, ModelError> {
    onnx::host(library_dir)
}

/// What the engine torch would use on this host; `None` where it is not built in.
pub fn torch_host() -> Option<TorchHost> {
    #[cfg(feature = "torch")]
    return Some(torch::host());
    #[cfg(not(feature = "torch"))]
    None
}

/// What the engine torch would use on this host.
#[derive(Debug, Clone, Serialize)]
pub struct TorchHost {
    /// Engine name.
    pub name: &'static str,
    /// Version of the library.
    pub version: &'static str,
    /// Where it can run, `cpu` first.
    pub devices: Vec<String>,
    /// The device when none is asked for.
    pub device: String,
    /// The library behind the linear layers.
    pub kernels: String,
    /// Threads of one forward pass on the processor.
    pub threads: usize,
    /// Precision when none is asked for.
    pub precision: Precision,
}

/// Engine name and version of its arithmetic, for the artifact: it changes when equal weights give other numbers.
pub fn numerics(engine: &EngineInfo) -> &'static str {
    match engine.name {
        // 3: int8 keeps 16 bits of every input, and weights have an offset.
        onnx::ENGINE => "onnx/3",
        "torch" => "torch/1",
        other => other,
    }
}
