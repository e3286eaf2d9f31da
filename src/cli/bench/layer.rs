//! `assize bench layer | memory`: layers of the 12B with random weights.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use assize::bench::{
    self, EngineVariant, Host, LayerKind, LayerOptions, LayerRecord, MemoryOptions, MemoryRecord,
    RandomCheckpoint,
};
use assize_models::store::Store;
use clap::Args;

use super::progress;

const LAYER_EXAMPLES: &str = "Examples:
  assize bench layer
  assize bench layer --variants onnx:float32,onnx:int8,torch:bf16
  assize bench layer --python venv/bin/python --kinds sliding -r 5 --json

Ratios are to the last variant; with --python that is the layer in transformers, bf16.
It takes 2 GB in the folder for temporary files ($TMPDIR).";

const MEMORY_EXAMPLES: &str = "Examples:
  assize bench memory
  assize bench memory --layers 2 --vocabulary 262144 --variants torch:bf16

It takes up to 2 GB for every four layers in the folder for temporary files ($TMPDIR).";

/// Arguments of `assize bench layer`.
#[derive(Debug, Args)]
#[command(after_help = LAYER_EXAMPLES)]
pub struct LayerArguments {
    /// Kinds of layers: sliding (40 of the 48) and full
    #[arg(long, value_delimiter = ',', default_value = "sliding,full")]
    kinds: Vec<LayerKind>,
    /// Engines as ENGINE:PRECISION
    #[arg(long, value_delimiter = ',', default_value = "onnx:int8,torch:bf16")]
    variants: Vec<EngineVariant>,
    /// A Python with transformers and torch, as one more variant
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Tokens of the prompt
    #[arg(short, long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=16384))]
    n_prompt: u32,
    /// Rounds; every variant has one timed turn in each
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Threads of one pass [default: all]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Cache folder, for the engine's library [default: $ASSIZE_CACHE, else the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

impl LayerArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<LayerRecord>> {
        let options = LayerOptions {
            kinds: self.kinds.clone(),
            variants: self.variants.clone(),
            python: self.python.clone(),
            n_prompt: self.n_prompt as usize,
            rounds: usize::from(self.rounds),
            threads: self.threads.map_or(Host::read().threads, usize::from),
        };
        let bar = progress(options.turns(), "turns");
        let records = bench::layer(&Store::open(self.cache.as_deref())?, &options, || bar.inc(1))?;
        bar.finish_and_clear();
        Ok(records)
    }
}

/// Arguments of `assize bench memory`.
#[derive(Debug, Args)]
#[command(after_help = MEMORY_EXAMPLES)]
pub struct MemoryArguments {
    /// Numbers of decoder layers
    #[arg(long, value_delimiter = ',', default_value = "2,6")]
    layers: Vec<usize>,
    /// Rows of the embedding matrix; the 12B has 262144
    #[arg(long, default_value_t = 1024)]
    vocabulary: usize,
    /// Engines as ENGINE:PRECISION
    #[arg(long, value_delimiter = ',', default_value = "torch:bf16,onnx:int8")]
    variants: Vec<EngineVariant>,
    /// Tokens of the pass
    #[arg(short, long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=16384))]
    n_prompt: u32,
    /// Threads of the pass [default: all]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Cache folder, for the engine's library [default: $ASSIZE_CACHE, else the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Measure this process, with the checkpoint in a folder; what the command starts for each measurement
    #[arg(long, hide = true, requires = "start")]
    folder: Option<PathBuf>,
    /// `first` or `next`
    #[arg(long, hide = true)]
    start: Option<String>,
}

impl MemoryArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<MemoryRecord>> {
        if let (Some(folder), Some(start)) = (&self.folder, &self.start) {
            let (Some(layers), Some(variant)) = (self.layers.first(), self.variants.first()) else {
                anyhow::bail!("--folder needs --layers and --variants of one");
            };
            let options = MemoryOptions {
                random: RandomCheckpoint {
                    layers: *layers,
                    vocabulary: self.vocabulary,
                },
                variant: *variant,
                start: start.clone(),
                n_prompt: self.n_prompt as usize,
                threads: self.threads.map(usize::from),
            };
            let store = Store::open(self.cache.as_deref())?;
            return Ok(vec![bench::memory(&store, folder, &options)?]);
        }
        let bar = progress(self.layers.len() * self.variants.len() * 2, "processes");
        let mut records = Vec::new();
        for layers in &self.layers {
            let scratch = tempfile::tempdir()?;
            let random = RandomCheckpoint {
                layers: *layers,
                vocabulary: self.vocabulary,
            };
            random.write(scratch.path())?;
            for variant in &self.variants {
                for start in ["first", "next"] {
                    records.push(self.measure(random, *variant, start, scratch.path())?);
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(records)
    }

    /// One measurement in a process of its own.
    fn measure(
        &self,
        random: RandomCheckpoint,
        variant: EngineVariant,
        start: &str,
        folder: &std::path::Path,
    ) -> anyhow::Result<MemoryRecord> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["bench", "memory", "--json", "--start", start, "--folder"])
            .arg(folder)
            .args(["--layers", &random.layers.to_string()])
            .args(["--vocabulary", &random.vocabulary.to_string()])
            .args(["--variants", &variant.to_string()])
            .args(["--n-prompt", &self.n_prompt.to_string()]);
        if let Some(threads) = self.threads {
            command.args(["--threads", &threads.to_string()]);
        }
        if let Some(cache) = &self.cache {
            command.arg("--cache").arg(cache);
        }
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            anyhow::bail!(
                "measuring {variant} with {} layers: {}",
                random.layers,
                output.status
            );
        }
        let records: Vec<MemoryRecord> =
            serde_json::from_slice(&output.stdout).context("what the measuring process printed")?;
        records
            .into_iter()
            .next()
            .context("the measuring process printed no record")
    }
}
