//! One decoder layer of real size: engines in turn, in one run.

use std::path::{Path, PathBuf};

use assize_models::engines::{self, Device, Engine, EngineOptions, Source};
use assize_models::store::Store;
use assize_models::{
    Backbone, Checkpoint, DecoderDescription, ModelError, PackedBatch, Precision, StoredTensor, TensorData,
    TokenId, Weight, WeightSource,
};
use serde::Serialize;

use super::layer_reference::LayerReference;
use super::random_checkpoint::RandomCheckpoint;
use super::report::Record;
use super::{BenchError, Host, Runner, Summary, paired_ratio, round_robin};

/// Rows of the embedding matrix, which is no part of the layer.
const VOCABULARY: usize = 1024;

/// An engine in a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineVariant {
    /// The engine.
    pub engine: Engine,
    /// Arithmetic of the linear layers.
    pub precision: Precision,
}

impl std::fmt::Display for EngineVariant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.engine, self.precision)
    }
}

impl std::str::FromStr for EngineVariant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (engine, precision) = text
            .split_once(':')
            .ok_or_else(|| format!("{text:?}: use ENGINE:PRECISION, for example onnx:int8 or torch:bf16"))?;
        Ok(Self {
            engine: engine.parse()?,
            precision: precision.parse()?,
        })
    }
}

/// A kind of layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// With a window of 1024 tokens; 40 of the 48.
    Sliding,
    /// Every token sees all before it; 8 of the 48.
    Full,
}

impl std::str::FromStr for LayerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sliding" => Ok(Self::Sliding),
            "full" => Ok(Self::Full),
            other => Err(format!("unknown kind of layer {other:?}: use sliding or full")),
        }
    }
}

/// Speed of one layer on one engine.
#[derive(Debug, Clone, Serialize)]
pub struct LayerRecord {
    /// Always `layer`.
    pub test: &'static str,
    /// Which layer.
    pub layer: LayerKind,
    /// Tokens of the prompt; every one passes the whole layer.
    pub n_prompt: usize,
    /// `ENGINE:PRECISION`, or `transformers:PRECISION`.
    pub variant: String,
    /// Engine name and version.
    pub engine: String,
    /// Kernels chosen for this host.
    pub kernels: String,
    /// Threads of one pass.
    pub threads: usize,
    /// Median time in milliseconds.
    pub median_ms: f64,
    /// Mean time.
    pub avg_ns: u64,
    /// Sample standard deviation of the time.
    pub stddev_ns: u64,
    /// 10^9 operations a second of the linear layers alone (two per multiply-add), at the median time.
    pub linear_gops: f64,
    /// How many times as fast as the last variant: the median of the ratios within a round.
    pub speed_ratio: f64,
    /// Version and features of this binary.
    pub build: String,
    /// The processor.
    pub cpu: String,
    /// Every time.
    pub samples_ns: Vec<u64>,
}

impl Record for LayerRecord {
    const COLUMNS: &'static [&'static str] = &[
        "layer",
        "n_prompt",
        "variant",
        "kernels",
        "threads",
        "median_ms",
        "linear_gops",
        "speed_ratio",
    ];
}

/// What to run.
#[derive(Debug, Clone)]
pub struct LayerOptions {
    /// Kinds of layers.
    pub kinds: Vec<LayerKind>,
    /// Engines; ratios are to the last one.
    pub variants: Vec<EngineVariant>,
    /// A Python with transformers and torch, which then runs the same layer in bf16 as the last variant.
    pub python: Option<PathBuf>,
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// Timed runs of every variant.
    pub rounds: usize,
    /// Threads of one pass.
    pub threads: usize,
}

impl LayerOptions {
    /// Timed runs in all.
    pub fn turns(&self) -> usize {
        (self.variants.len() + usize::from(self.python.is_some())) * self.rounds * self.kinds.len()
    }
}

/// Measures every kind of layer, with random weights in a folder that goes away again.
///
/// # Errors
/// An engine is not built in or its library is missing, memory or disk do not suffice, or Python fails.
pub fn layer(
    store: &Store,
    options: &LayerOptions,
    progress: impl Fn(),
) -> Result<Vec<LayerRecord>, BenchError> {
    let scratch = tempfile::tempdir().map_err(|source| BenchError::Io {
        path: std::env::temp_dir(),
        source,
    })?;
    let folder = scratch.path().join("model");
    // The first layer has a window, the second none.
    let random = RandomCheckpoint {
        layers: 2,
        vocabulary: VOCABULARY,
    };
    random.write(&folder)?;
    let checkpoint = store.resolve(&folder.to_string_lossy())?;
    let mut records = Vec::new();
    for kind in &options.kinds {
        records.extend(one_kind(
            *kind,
            &checkpoint,
            store,
            scratch.path(),
            options,
            &progress,
        )?);
    }
    Ok(records)
}

fn one_kind(
    kind: LayerKind,
    checkpoint: &Checkpoint,
    store: &Store,
    scratch: &Path,
    options: &LayerOptions,
    progress: &dyn Fn(),
) -> Result<Vec<LayerRecord>, BenchError> {
    let index = match kind {
        LayerKind::Sliding => 0,
        LayerKind::Full => 1,
    };
    let weights = OneLayer {
        weights: checkpoint.weights().as_ref(),
        index,
    };
    let description = DecoderDescription {
        layers: checkpoint
            .description()
            .layers
            .get(index..=index)
            .unwrap_or_default()
            .to_vec(),
        media: None,
        ..checkpoint.description().clone()
    };
    let source = Source {
        description: &description,
        weights: &weights,
        ..Source::from(checkpoint)
    };
    let mut backbones = Vec::new();
    for variant in &options.variants {
        let options = EngineOptions {
            engine: Some(variant.engine),
            device: Device::Cpu,
            precision: Some(variant.precision),
            threads: Some(options.threads),
            layers: None,
            lowered_dir: scratch.join(format!("{index}")),
            library_dir: Some(store.library_dir()),
        };
        backbones.push((variant.to_string(), engines::load_source(source, &options)?));
    }
    let mut reference = match &options.python {
        Some(python) => Some(LayerReference::start(
            python,
            checkpoint.path(),
            index,
            options.threads,
        )?),
        None => None,
    };
    let mut runners: Vec<EveryRow<'_>> = backbones
        .iter()
        .map(|(_, backbone)| EveryRow::new(backbone.as_ref()))
        .collect();
    let mut turns: Vec<&mut dyn Runner> = runners
        .iter_mut()
        .map(|runner| runner as &mut dyn Runner)
        .collect();
    turns.extend(reference.as_mut().map(|reference| reference as &mut dyn Runner));
    let times = round_robin(&mut turns, VOCABULARY, options.n_prompt, options.rounds, progress)?;
    drop(turns);
    let mut variants: Vec<(String, String, String)> = backbones
        .iter()
        .map(|(name, backbone)| {
            let engine = backbone.engine();
            let version = format!("{} {}", engine.name, engine.version);
            (name.clone(), version, engine.kernels.clone())
        })
        .collect();
    variants.extend(reference.iter().map(|reference| {
        (
            "transformers:bf16".into(),
            reference.version().into(),
            "its own".into(),
        )
    }));
    let host = Host::read();
    let operations = 2.0 * description.linear_macs_per_token() as f64 * options.n_prompt as f64;
    let seconds: Vec<Vec<f64>> = times
        .iter()
        .map(|times| times.iter().map(|ns| *ns as f64).collect())
        .collect();
    let last = seconds.last().cloned().unwrap_or_default();
    Ok(variants
        .into_iter()
        .zip(times)
        .zip(&seconds)
        .map(|(((variant, engine, kernels), samples_ns), samples)| {
            let time = Summary::of(samples);
            LayerRecord {
                test: "layer",
                layer: kind,
                n_prompt: options.n_prompt,
                variant,
                engine,
                kernels,
                threads: options.threads,
                median_ms: time.median / 1e6,
                avg_ns: time.mean.round() as u64,
                stddev_ns: time.stddev.round() as u64,
                linear_gops: operations / time.median.max(1.0),
                speed_ratio: paired_ratio(&last, samples),
                build: host.build.clone(),
                cpu: host.cpu.clone(),
                samples_ns,
            }
        })
        .collect())
}

/// A layer of a model as the first of a model of one.
struct OneLayer<'w> {
    weights: &'w dyn WeightSource,
    index: usize,
}

impl OneLayer<'_> {
    fn place(&self, weight: Weight) -> Weight {
        match weight {
            Weight::Layer(_, part) => Weight::Layer(self.index, part),
            other => other,
        }
    }
}

impl WeightSource for OneLayer<'_> {
    fn tensor(&self, weight: Weight) -> Result<TensorData<'_>, ModelError> {
        self.weights.tensor(self.place(weight))
    }

    fn stored(&self, weight: Weight) -> Result<Option<StoredTensor<'_>>, ModelError> {
        self.weights.stored(self.place(weight))
    }

    fn release(&self, weight: Weight) {
        self.weights.release(self.place(weight));
    }

    fn stored_bytes(&self) -> u64 {
        self.weights.stored_bytes()
    }
}

/// Reads every row, so that every row passes the whole layer; the last layer skips rows that nobody reads.
struct EveryRow<'b> {
    backbone: &'b dyn Backbone,
    batch: PackedBatch,
}

impl<'b> EveryRow<'b> {
    fn new(backbone: &'b dyn Backbone) -> Self {
        Self {
            backbone,
            batch: PackedBatch::new(),
        }
    }
}

impl Runner for EveryRow<'_> {
    fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
        self.batch = PackedBatch::new();
        let segment = self.batch.push_segment(None, tokens)?;
        for position in 0..tokens.len() {
            self.batch.read(segment, position)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), BenchError> {
        self.backbone.forward(&self.batch)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_read_as_they_are_written() {
        for text in ["onnx:int8", "torch:bf16", "onnx:float32"] {
            assert_eq!(text.parse::<EngineVariant>().unwrap().to_string(), text);
        }
        for wrong in ["onnx", "onnx:", "onnx:int4", "tensorflow:int8", ""] {
            assert!(wrong.parse::<EngineVariant>().is_err(), "{wrong}");
        }
        assert_eq!("full".parse(), Ok(LayerKind::Full));
        assert!("global".parse::<LayerKind>().unwrap_err().contains("sliding"));
    }
}
