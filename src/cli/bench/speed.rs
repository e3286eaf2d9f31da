//! `assize bench prefill | shared-state | latency`.

use std::time::{Duration, Instant};

use assize::bench::{
    self, Arithmetic, LatencyOptions, LatencyRecord, LatencySubject, PrefillOptions, PrefillRecord,
    SharedStateOptions, SharedStateRecord,
};
use assize_models::Precision;
use clap::Args;

use super::model::{ModelArguments, PrecisionArguments};

/// Arguments of `assize bench prefill`.
#[derive(Debug, Args)]
pub struct PrefillArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// Prompt lengths in tokens
    #[arg(short, long, value_delimiter = ',', default_value = "64,256,512,2048")]
    n_prompt: Vec<usize>,
    /// Timed passes per length, after one that is not timed
    #[arg(short, long, default_value_t = 10)]
    repetitions: usize,
    /// Leave the arithmetic peak unmeasured
    #[arg(long)]
    no_peak: bool,
}

impl PrefillArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<PrefillRecord>> {
        let subject = self.model.open()?;
        let backbone = subject.load(self.precision.precision, self.model.threads)?;
        let identity = subject.identity(&*backbone)?;
        let arithmetic = match backbone.engine().precision {
            Precision::Int8 => Arithmetic::Int8,
            Precision::Bfloat16 => Arithmetic::Bf16,
            Precision::Float32 => Arithmetic::Fp32,
        };
        let peak_gops = (!self.no_peak)
            .then(|| bench::measure_peaks(identity.threads, 5))
            .and_then(|peaks| {
                peaks
                    .into_iter()
                    .find(|peak| peak.arithmetic == arithmetic)
                    .map(|peak| peak.median_gops)
            });
        Ok(bench::prefill(
            &*backbone,
            &identity,
            &PrefillOptions {
                lengths: self.n_prompt.clone(),
                repetitions: self.repetitions,
                peak_gops,
            },
        )?)
    }
}

/// Arguments of `assize bench shared-state`.
#[derive(Debug, Args)]
pub struct SharedStateArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// Tokens of the state
    #[arg(long, default_value_t = 1024)]
    n_state: usize,
    /// Tokens of one question
    #[arg(long, default_value_t = 48)]
    n_question: usize,
    /// Numbers of questions
    #[arg(short = 'k', long, value_delimiter = ',', default_value = "1,2,4,8")]
    questions: Vec<usize>,
    /// Rounds; every form runs once in each
    #[arg(short, long, default_value_t = 5)]
    rounds: usize,
}

impl SharedStateArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<SharedStateRecord>> {
        let subject = self.model.open()?;
        let backbone = subject.load(self.precision.precision, self.model.threads)?;
        let identity = subject.identity(&*backbone)?;
        Ok(bench::shared_state(
            &*backbone,
            &identity,
            &SharedStateOptions {
                state: self.n_state,
                question: self.n_question,
                questions: self.questions.clone(),
                rounds: self.rounds,
            },
        )?)
    }
}

/// Arguments of `assize bench latency`.
#[derive(Debug, Args)]
pub struct LatencyArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// Words of the ordinary text
    #[arg(long, default_value_t = 100)]
    words: usize,
    /// Words of the long text
    #[arg(long, default_value_t = 4000)]
    long_words: usize,
    /// Decisions timed warm
    #[arg(short, long, default_value_t = 50)]
    repetitions: usize,
    /// Decisions timed after idleness and with a long text
    #[arg(long, default_value_t = 5)]
    few: usize,
    /// Idle seconds before each decision of "after-idle"
    #[arg(long, default_value_t = 10.0)]
    idle: f64,
}

impl LatencyArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<LatencyRecord>> {
        let idle = Duration::try_from_secs_f64(self.idle)
            .map_err(|error| anyhow::anyhow!("--idle is {}: {error}", self.idle))?;
        let start = Instant::now();
        let subject = self.model.open()?;
        let backbone = subject.load(self.precision.precision, self.model.threads)?;
        let load = start.elapsed();
        let identity = subject.identity(&*backbone)?;
        Ok(bench::latency(
            &LatencySubject {
                backbone: &*backbone,
                tokenizer: &subject.tokenizer,
                form: &subject.form,
                readout: &subject.readout,
                identity: &identity,
                load,
            },
            &LatencyOptions {
                words: self.words,
                long_words: self.long_words,
                warm: self.repetitions,
                few: self.few,
                idle,
            },
        )?)
    }
}
