//! Engines: each lowers a decoder description to something that runs, and returns it as a [`Backbone`].

pub mod onnx;

use std::path::{Path, PathBuf};

use crate::store::Store;
use crate::{Backbone, Checkpoint, DecoderDescription, ModelError, Precision, WeightSource};

/// How a model is to be loaded.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Arithmetic of the linear layers; `None` takes the fastest of this host that keeps the answers.
    pub precision: Option<Precision>,
    /// Threads of one forward pass; `None` takes all processors that this process may use.
    pub threads: Option<usize>,
    /// Folder where an engine keeps its own form of the weights.
    pub lowered_dir: PathBuf,
    /// Folder that is searched for the engine's shared library before the system's places.
    pub library_dir: Option<PathBuf>,
}

impl EngineOptions {
    /// Everything by default, with the folders of the model cache.
    pub fn in_store(store: &Store, checkpoint: &Checkpoint) -> Self {
        Self {
            precision: None,
            threads: None,
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
}

impl<'a> From<&'a Checkpoint> for Source<'a> {
    fn from(checkpoint: &'a Checkpoint) -> Self {
        Self {
            name: checkpoint.name(),
            description: checkpoint.description(),
            weights: checkpoint.weights().as_ref(),
            weights_hash: checkpoint.weights_hash(),
        }
    }
}

/// Loads a model on the engine that suits it and this host.
///
/// # Errors
/// The engine's library is missing, the weights are damaged, or memory does not suffice.
pub fn load(checkpoint: &Checkpoint, options: &EngineOptions) -> Result<Box<dyn Backbone>, ModelError> {
    Ok(Box::new(onnx::OnnxBackbone::load(checkpoint.into(), options)?))
}

/// The precision that is taken when none is asked for: int8 where the host multiplies 8-bit numbers fast.
pub fn default_precision() -> Precision {
    match crate::kernels::Isa::detect() {
        crate::kernels::Isa::Avx512Vnni => Precision::Int8,
        _ => Precision::Float32,
    }
}

/// What an engine would use on this host.
#[derive(Debug, Clone, serde::Serialize)]
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

/// Engine name and version of its arithmetic, for the artifact: it changes when equal weights give other numbers.
pub fn numerics() -> &'static str {
    // 3: int8 keeps 16 bits of every input, and weights have an offset.
    "onnx/3"
}
