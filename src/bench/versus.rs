//! This project's engines against llama.cpp: speed in turn within one process, and agreement with float32 of each.

use assize_models::{Backbone, Precision, TokenId};
use serde::Serialize;

use super::agreement::{AgreementRecord, NextToken, Variant, agreement};
use super::peer::{Peer, PeerBuild, PeerFile, PeerModel, PeerSession, convert};
use super::report::Record;
use super::round_robin::{BackboneRunner, Runner, round_robin};
use super::{BenchError, Subject, Summary, paired_ratio};

/// Speed of one variant at one prompt length.
#[derive(Debug, Clone, Serialize)]
pub struct VersusRecord {
    /// Always `versus-llama`.
    pub test: &'static str,
    /// Name of the model.
    pub model: String,
    /// Engine and weights: `assize int8`, `llama.cpp BF16, flash attention on`.
    pub variant: String,
    /// Bytes of weights.
    pub size: u64,
    /// Threads.
    pub threads: usize,
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// Median time.
    pub median_ns: u64,
    /// Sample standard deviation of the time.
    pub stddev_ns: u64,
    /// Tokens a second at the median time.
    pub median_ts: f64,
    /// How many times as fast `assize int8` was: median of the ratios within a round.
    pub int8_speedup: f64,
    /// How many times as fast `assize float32` was: median of the ratios within a round.
    pub float32_speedup: f64,
    /// How the peer was compiled; empty for our own engines.
    pub peer: Option<PeerBuild>,
    /// Hash over everything that our own answers depend on; empty for the peer.
    pub artifact: Option<String>,
    /// Kernels of our own engine; empty for the peer.
    pub kernels: Option<String>,
    /// Version and features of this binary.
    pub build: String,
    /// The processor.
    pub cpu: String,
    /// Every time, round by round.
    pub samples_ns: Vec<u64>,
}

impl Record for VersusRecord {
    const COLUMNS: &'static [&'static str] = &[
        "variant",
        "threads",
        "n_prompt",
        "median_ts",
        "median_ns",
        "stddev_ns",
        "int8_speedup",
        "float32_speedup",
    ];
}

/// What to compare.
#[derive(Debug, Clone)]
pub struct VersusOptions {
    /// The peer's weight formats.
    pub files: Vec<PeerFile>,
    /// The peer's attention kernels: flash attention on, off or both.
    pub flash_attention: Vec<bool>,
    /// Threads, ours and the peer's.
    pub threads: usize,
}

/// Every engine loaded at once.
pub struct Versus {
    peer: Peer,
    int8: Box<dyn Backbone>,
    float32: Box<dyn Backbone>,
    files: Vec<(PeerFile, PeerModel)>,
    options: VersusOptions,
}

/// What of ours is measured: name, engine.
type Ours<'v> = [(&'static str, &'v dyn Backbone); 2];

impl Versus {
    /// Converts the peer's files where the cache lacks them and loads everything.
    ///
    /// # Errors
    /// The model is no GGUF file, or something cannot be converted or loaded.
    pub fn load(subject: &Subject, options: VersusOptions) -> Result<Self, BenchError> {
        let is_gguf = subject.path().extension().is_some_and(|found| found == "gguf");
        if !is_gguf {
            return Err(BenchError::Argument {
                field: "--model",
                value: subject.path().display().to_string(),
                remedy: "the peer reads GGUF files only: name a model that is one".into(),
            });
        }
        let peer = Peer::start()?;
        let folder = subject.scratch("llama.cpp");
        let files = options
            .files
            .iter()
            .map(|file| {
                let path = convert(
                    subject.path(),
                    subject.weights_hash(),
                    *file,
                    &folder,
                    options.threads,
                )?;
                Ok((*file, PeerModel::load(&peer, &path)?))
            })
            .collect::<Result<Vec<_>, BenchError>>()?;
        Ok(Self {
            peer,
            int8: subject.load(Some(Precision::Int8), Some(options.threads))?,
            float32: subject.load(Some(Precision::Float32), Some(options.threads))?,
            files,
            options,
        })
    }

    /// How the peer was compiled.
    pub fn peer_build(&self) -> PeerBuild {
        self.peer.build()
    }

    /// Turns that [`Self::speed`] takes: for a progress bar.
    pub fn turns(&self, lengths: usize, rounds: usize) -> usize {
        (2 + self.files.len() * self.options.flash_attention.len()) * lengths * rounds
    }

    /// Speed of every variant at every length.
    ///
    /// # Errors
    /// A length is 0 or over the context, or an engine fails.
    pub fn speed(
        &self,
        subject: &Subject,
        lengths: &[usize],
        rounds: usize,
        progress: impl Fn(),
    ) -> Result<Vec<VersusRecord>, BenchError> {
        let vocabulary = self.float32.description().vocabulary;
        let longest = lengths.iter().copied().max().unwrap_or(1);
        let mut records = Vec::new();
        let mut sessions = self.sessions(longest)?;
        for &n_prompt in lengths {
            let mut int8 = BackboneRunner::new(&*self.int8);
            let mut float32 = BackboneRunner::new(&*self.float32);
            let mut runners: Vec<&mut dyn Runner> = vec![&mut int8, &mut float32];
            runners.extend(
                sessions
                    .iter_mut()
                    .map(|found| &mut found.session as &mut dyn Runner),
            );
            let times = round_robin(&mut runners, vocabulary, n_prompt, rounds, &progress)?;
            drop(runners);
            let seconds = |ns: &Vec<u64>| ns.iter().map(|ns| *ns as f64).collect::<Vec<f64>>();
            let base: Vec<Vec<f64>> = times.iter().take(2).map(seconds).collect();
            let base_of = |place: usize| base.get(place).cloned().unwrap_or_default();
            for (place, samples_ns) in times.into_iter().enumerate() {
                let own = seconds(&samples_ns);
                let summary = Summary::of(&own);
                let ours = self.ours().get(place).copied();
                let theirs = place.checked_sub(2).and_then(|place| sessions.get(place));
                let artifact = ours
                    .map(|(_, backbone)| subject.identity(backbone))
                    .transpose()?
                    .map(|identity| identity.artifact);
                records.push(VersusRecord {
                    test: "versus-llama",
                    model: subject.name().to_owned(),
                    variant: match (ours, theirs) {
                        (Some((name, _)), _) => name.to_owned(),
                        (None, Some(found)) => found.name.clone(),
                        (None, None) => String::new(),
                    },
                    size: ours.map_or_else(
                        || theirs.map_or(0, |found| found.size),
                        |(_, backbone)| backbone.weight_bytes(),
                    ),
                    threads: self.options.threads,
                    n_prompt,
                    median_ns: summary.median.round() as u64,
                    stddev_ns: summary.stddev.round() as u64,
                    median_ts: n_prompt as f64 * 1e9 / summary.median.max(1.0),
                    int8_speedup: paired_ratio(&own, &base_of(0)),
                    float32_speedup: paired_ratio(&own, &base_of(1)),
                    peer: theirs.map(|_| self.peer.build()),
                    artifact,
                    kernels: ours.map(|(_, backbone)| backbone.engine().kernels.clone()),
                    build: subject.host().build.clone(),
                    cpu: subject.host().cpu.clone(),
                    samples_ns,
                });
            }
        }
        Ok(records)
    }

    /// Agreement with our float32 of our int8 and of every file of the peer.
    ///
    /// # Errors
    /// An engine fails.
    pub fn agreement(
        &self,
        subject: &Subject,
        prompts: &[Vec<TokenId>],
        progress: impl Fn(),
    ) -> Result<Vec<AgreementRecord>, BenchError> {
        let longest = prompts.iter().map(Vec::len).max().unwrap_or(1);
        let build = format!("{}; {}", self.peer.build().version, self.peer.build().system_info);
        let mut reference = &*self.float32;
        let mut int8 = &*self.int8;
        let mut sessions = self.sessions(longest)?;
        let mut variants = vec![Variant {
            name: INT8.into(),
            build: None,
            model: &mut int8,
        }];
        variants.extend(sessions.iter_mut().map(|found| Variant {
            name: found.name.clone(),
            build: Some(build.clone()),
            model: &mut found.session,
        }));
        agreement(
            subject.name(),
            subject.host(),
            (FLOAT32, &mut reference),
            &mut variants,
            prompts,
            progress,
        )
    }

    fn ours(&self) -> Ours<'_> {
        [(INT8, &*self.int8), (FLOAT32, &*self.float32)]
    }

    fn sessions(&self, longest: usize) -> Result<Vec<NamedSession<'_>>, BenchError> {
        let mut sessions = Vec::new();
        for (file, model) in &self.files {
            for flash in &self.options.flash_attention {
                sessions.push(NamedSession {
                    name: format!(
                        "llama.cpp {}, flash attention {}",
                        file.as_str(),
                        if *flash { "on" } else { "off" }
                    ),
                    size: model.size(),
                    session: model.session(&self.peer, longest, self.options.threads, *flash)?,
                });
            }
        }
        Ok(sessions)
    }
}

const INT8: &str = "assize int8";
const FLOAT32: &str = "assize float32";

struct NamedSession<'m> {
    name: String,
    size: u64,
    session: PeerSession<'m>,
}

impl Runner for PeerSession<'_> {
    fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
        PeerSession::prepare(self, tokens)
    }

    fn run(&mut self) -> Result<(), BenchError> {
        PeerSession::run(self)
    }
}

impl NextToken for PeerSession<'_> {
    fn next_token(&mut self, tokens: &[TokenId]) -> Result<Vec<f32>, BenchError> {
        PeerSession::prepare(self, tokens)?;
        PeerSession::run(self)?;
        Ok(self.logits()?.to_vec())
    }
}
