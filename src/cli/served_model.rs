//! Arguments of the commands that load a model to decide with.

use std::path::PathBuf;

use assize::service::{Service, ServiceOptions};
use assize_models::{DEFAULT_MODEL, Precision};
use clap::Args;

use super::engine_choice::EngineChoice;
use super::whole_number::whole;

/// Which model, and how it is run.
#[derive(Debug, Args)]
pub struct ServedModelArguments {
    /// Name of a model, or path of a GGUF file or model folder
    #[arg(short, long, default_value = DEFAULT_MODEL, env = "ASSIZE_MODEL")]
    model: String,
    /// Cache folder [default: `assize` in the user's cache folder]
    #[arg(long, value_name = "FOLDER", env = "ASSIZE_CACHE")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineChoice,
    /// float32, int8 (engine onnx) or bf16 (engine torch) [default: the fastest on this host that keeps the answers]
    #[arg(short, long)]
    precision: Option<Precision>,
    /// Threads of one forward pass [default: all]
    #[arg(short, long, value_parser = whole(1..=1024))]
    threads: Option<u16>,
    /// A head that `assize head fit` wrote (its folder or its .safetensors file): it answers its own question only
    #[arg(long, value_name = "FOLDER|FILE")]
    head: Option<PathBuf>,
    /// A calibration that was fitted on scores of this model, head, engine and precision
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Use a head or a calibration that was made for another artifact; every answer is marked
    #[arg(long)]
    allow_mismatch: bool,
}

impl ServedModelArguments {
    /// The calibration that was named.
    pub fn calibration(&self) -> Option<&std::path::Path> {
        self.calibration.as_deref()
    }

    /// Whether what was made for another artifact may be used.
    pub fn allows_mismatch(&self) -> bool {
        self.allow_mismatch
    }

    /// Loads the model.
    ///
    /// # Errors
    /// There is no such model, it is damaged or does not fit, or the engine's library is missing.
    pub fn open(&self) -> anyhow::Result<Service> {
        Ok(Service::open(&ServiceOptions {
            model: self.model.clone(),
            cache_dir: self.cache.clone(),
            engine: self.engine.engine,
            device: self.engine.device,
            precision: self.precision,
            threads: self.threads.map(usize::from),
            layers: None,
            head: self.head.clone(),
            calibration: self.calibration.clone(),
            allow_mismatch: self.allow_mismatch,
        })?)
    }
}
