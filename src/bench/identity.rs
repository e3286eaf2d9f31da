//! What was measured: the fields that every engine record starts with.

use assize_models::{ArtifactId, Backbone};
use serde::Serialize;

use super::Host;

/// The model, the engine and the build behind a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Name of the model.
    pub model: String,
    /// Bytes of weights that the engine holds or maps.
    pub size: u64,
    /// Parameters, embedding included.
    pub params: u64,
    /// `float32` or `int8`.
    pub precision: String,
    /// Engine name and version.
    pub engine: String,
    /// Kernels chosen for this host.
    pub kernels: String,
    /// Threads of one forward pass.
    pub threads: usize,
    /// Hash over weights, tokenizer, prompt form, readout, precision and engine.
    pub artifact: String,
    /// Version and features of this binary.
    pub build: String,
    /// The processor.
    pub cpu: String,
}

impl Identity {
    /// Describes `backbone`.
    pub fn new(model: &str, backbone: &dyn Backbone, artifact: &ArtifactId, host: &Host) -> Self {
        let engine = backbone.engine();
        Self {
            model: model.to_owned(),
            size: backbone.weight_bytes(),
            params: backbone.description().parameters(),
            precision: engine.precision.to_string(),
            engine: format!("{} {}", engine.name, engine.version),
            kernels: engine.kernels.clone(),
            threads: engine.threads,
            artifact: artifact.to_string(),
            build: host.build.clone(),
            cpu: host.cpu.clone(),
        }
    }
}
