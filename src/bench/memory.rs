//! Memory of a model with layers of real size: loading it and one pass, each in a process of its own.

use std::path::Path;

use assize_models::engines::{self, Device, EngineOptions};
use assize_models::store::Store;
use serde::{Deserialize, Serialize};

use super::host::{Resident, resident};
use super::layer::EngineVariant;
use super::prompts::{fixed_tokens, last_position};
use super::random_checkpoint::RandomCheckpoint;
use super::report::Record;
use super::{BenchError, peak_memory_mib};

/// Resident memory of one process, MiB. Pages of mapped files count as `file`; the system may drop them at any time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// Always `memory`.
    pub test: String,
    /// Decoder layers.
    pub layers: usize,
    /// Rows of the embedding matrix.
    pub vocabulary: usize,
    /// `ENGINE:PRECISION`.
    pub variant: String,
    /// `first` makes the engine's own form of the weights where it has one; `next` finds it.
    pub start: String,
    /// Tokens of the pass.
    pub n_prompt: usize,
    /// The checkpoint's tensors as stored.
    pub stored_mib: f64,
    /// Weights that the engine holds or maps.
    pub weights_mib: f64,
    /// Before the model was opened.
    pub idle_mib: f64,
    /// Most so far when the model was loaded.
    pub load_peak_mib: f64,
    /// Loaded, memory of the process's own.
    pub loaded_anon_mib: f64,
    /// Loaded, pages of files.
    pub loaded_file_mib: f64,
    /// Most so far after the pass.
    pub peak_mib: f64,
    /// After the pass, memory of the process's own.
    pub run_anon_mib: f64,
    /// After the pass, pages of files.
    pub run_file_mib: f64,
    /// Seconds from opening to loaded.
    pub load_seconds: f64,
    /// Seconds of the pass.
    pub pass_seconds: f64,
}

impl Record for MemoryRecord {
    const COLUMNS: &'static [&'static str] = &[
        "layers",
        "vocabulary",
        "variant",
        "start",
        "weights_mib",
        "idle_mib",
        "load_peak_mib",
        "loaded_anon_mib",
        "loaded_file_mib",
        "peak_mib",
        "run_anon_mib",
        "run_file_mib",
    ];
}

/// What one process measures.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// What the checkpoint is.
    pub random: RandomCheckpoint,
    /// The engine.
    pub variant: EngineVariant,
    /// `first` or `next`.
    pub start: String,
    /// Tokens of the pass.
    pub n_prompt: usize,
    /// Threads of the pass; `None` takes all.
    pub threads: Option<usize>,
}

/// Opens and loads the checkpoint in `folder`, runs one pass, and says what memory this process took. The engine's own
/// form of the weights is kept in `folder` too.
///
/// # Errors
/// The system does not say what memory is resident, the model does not fit, or the engine fails.
pub fn memory(store: &Store, folder: &Path, options: &MemoryOptions) -> Result<MemoryRecord, BenchError> {
    let idle = now()?;
    let start = std::time::Instant::now();
    let checkpoint = store.resolve(&folder.to_string_lossy())?;
    let backbone = engines::load(
        &checkpoint,
        &EngineOptions {
            engine: Some(options.variant.engine),
            device: Device::Cpu,
            precision: Some(options.variant.precision),
            threads: options.threads,
            layers: None,
            lowered_dir: folder.join("lowered"),
            library_dir: Some(store.library_dir()),
        },
    )?;
    let load_seconds = start.elapsed().as_secs_f64();
    let (loaded, load_peak_mib) = (now()?, peak()?);
    let tokens = fixed_tokens(options.random.vocabulary - 16, options.n_prompt, 1);
    let batch = last_position(&tokens)?;
    let start = std::time::Instant::now();
    backbone.forward(&batch)?;
    let pass_seconds = start.elapsed().as_secs_f64();
    let run = now()?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(MemoryRecord {
        test: "memory".into(),
        layers: options.random.layers,
        vocabulary: options.random.vocabulary,
        variant: options.variant.to_string(),
        start: options.start.clone(),
        n_prompt: options.n_prompt,
        stored_mib: mib(checkpoint.weights().stored_bytes()),
        weights_mib: mib(backbone.weight_bytes()),
        idle_mib: idle.anon_mib + idle.file_mib,
        load_peak_mib,
        loaded_anon_mib: loaded.anon_mib,
        loaded_file_mib: loaded.file_mib,
        peak_mib: peak()?,
        run_anon_mib: run.anon_mib,
        run_file_mib: run.file_mib,
        load_seconds,
        pass_seconds,
    })
}

fn now() -> Result<Resident, BenchError> {
    resident().ok_or_else(silent)
}

fn peak() -> Result<f64, BenchError> {
    peak_memory_mib().ok_or_else(silent)
}

fn silent() -> BenchError {
    BenchError::Io {
        path: "/proc/self/status".into(),
        source: std::io::Error::other("the system does not say what memory is resident"),
    }
}
