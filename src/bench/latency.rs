//! Time of one decision, from text to probabilities: first, warm, after idleness and with a long text, apart.

use std::time::{Duration, Instant};

use assize_calibration::softmax;
use assize_heads::{PackedDecision, Readout};
use assize_models::{Backbone, PackedBatch};
use assize_preprocess::PromptTokenizer;
use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::{EncodeOptions, PromptForm, Truncate};
use serde::Serialize;

use super::report::Record;
use super::{BenchError, Identity, Summary, quantile};

/// Times of one phase.
#[derive(Debug, Clone, Serialize)]
pub struct LatencyRecord {
    /// Always `latency`.
    pub test: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub identity: Identity,
    /// `load`, `first`, `warm`, `after-idle` or `long-input`.
    pub phase: &'static str,
    /// Rows of the forward pass, 0 for `load`.
    pub tokens: usize,
    /// Median time.
    pub median_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Longest time.
    pub max_ns: u64,
    /// Every time, in order.
    pub samples_ns: Vec<u64>,
}

impl Record for LatencyRecord {
    const COLUMNS: &'static [&'static str] = &[
        "model",
        "precision",
        "threads",
        "phase",
        "tokens",
        "median_ns",
        "p95_ns",
        "p99_ns",
        "max_ns",
    ];
}

/// The model under test.
pub struct LatencySubject<'s> {
    /// What runs it; nothing was run on it yet.
    pub backbone: &'s dyn Backbone,
    /// Its tokenizer.
    pub tokenizer: &'s PromptTokenizer,
    /// How decisions are written.
    pub form: &'s PromptForm,
    /// How scores are read.
    pub readout: &'s Readout,
    /// What it is.
    pub identity: &'s Identity,
    /// Time from the model's name to a loaded engine.
    pub load: Duration,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct LatencyOptions {
    /// Words of the ordinary text.
    pub words: usize,
    /// Words of the long text.
    pub long_words: usize,
    /// Decisions in `warm`.
    pub warm: usize,
    /// Decisions in `after-idle` and `long-input`.
    pub few: usize,
    /// Idle time before each decision of `after-idle`.
    pub idle: Duration,
}

/// Measures every phase. Every decision has another text, so that nothing can be remembered.
///
/// # Errors
/// The long text does not fit the context, or the engine fails.
pub fn latency(
    subject: &LatencySubject<'_>,
    options: &LatencyOptions,
) -> Result<Vec<LatencyRecord>, BenchError> {
    let mut seed = 0;
    let mut next = |words: usize| {
        seed += 1;
        decision(words, seed)
    };
    let load = vec![subject.load.as_nanos() as u64];
    let mut records = vec![record(subject, "load", 0, load)];
    let mut phase = |name: &'static str, words: usize, n: usize, idle: Duration| {
        let mut tokens = 0;
        let samples = (0..n.max(1))
            .map(|_| {
                let asked = next(words);
                std::thread::sleep(idle);
                let start = Instant::now();
                tokens = subject.decide(&asked)?;
                Ok(start.elapsed().as_nanos() as u64)
            })
            .collect::<Result<Vec<_>, BenchError>>()?;
        Ok::<_, BenchError>(record(subject, name, tokens, samples))
    };
    records.push(phase("first", options.words, 1, Duration::ZERO)?);
    // A few decisions between, so that "warm" is warm.
    phase("warm", options.words, 3, Duration::ZERO)?;
    records.push(phase("warm", options.words, options.warm, Duration::ZERO)?);
    records.push(phase("after-idle", options.words, options.few, options.idle)?);
    records.push(phase(
        "long-input",
        options.long_words,
        options.few,
        Duration::ZERO,
    )?);
    Ok(records)
}

impl LatencySubject<'_> {
    /// One decision from text to probabilities; the rows of its forward pass.
    fn decide(&self, asked: &Decision) -> Result<usize, BenchError> {
        let encoded = self.form.encode(
            self.tokenizer,
            asked,
            &EncodeOptions {
                context: self.backbone.description().context,
                truncate: Truncate::Error,
                order_averages: 1,
                prior: self.readout.needs_prior(),
            },
        )?;
        let mut batch = PackedBatch::new();
        let packed = PackedDecision::pack(&encoded, &[], self.readout, &mut batch)?;
        let hidden = self.backbone.forward(&batch)?;
        for scores in packed.scores(self.backbone, None, &hidden)? {
            softmax(&scores.scores)?;
        }
        Ok(batch.len())
    }
}

/// A question with two options about a text of `words` words, another text for every `seed`.
pub fn decision(words: usize, seed: u64) -> Decision {
    Decision {
        state: Content::Text(text(words, seed)),
        questions: vec![Question {
            instructions: Some(Content::Text("Is this text about money or about people?".into())),
            shape: Shape::Choice(
                ["money", "people"]
                    .map(|name| QuestionOption {
                        name: name.into(),
                        description: None,
                    })
                    .to_vec(),
            ),
        }],
    }
}

/// Words that every tokenizer knows.
const WORDS: [&str; 16] = [
    "the", "people", "came", "home", "with", "new", "money", "and", "some", "old", "water", "after", "a",
    "long", "day", "work",
];

fn text(words: usize, seed: u64) -> String {
    super::prompts::fixed_tokens(WORDS.len(), words, seed)
        .into_iter()
        .filter_map(|index| WORDS.get(index as usize).copied())
        .collect::<Vec<_>>()
        .join(" ")
}

fn record(
    subject: &LatencySubject<'_>,
    phase: &'static str,
    tokens: usize,
    samples_ns: Vec<u64>,
) -> LatencyRecord {
    let times: Vec<f64> = samples_ns.iter().map(|ns| *ns as f64).collect();
    let summary = Summary::of(&times);
    LatencyRecord {
        test: "latency",
        identity: subject.identity.clone(),
        phase,
        tokens,
        median_ns: summary.median.round() as u64,
        p95_ns: quantile(&times, 0.95).round() as u64,
        p99_ns: quantile(&times, 0.99).round() as u64,
        max_ns: summary.max.round() as u64,
        samples_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_length_asked_for_and_differ() {
        assert_eq!(text(50, 1).split(' ').count(), 50);
        assert_ne!(text(50, 1), text(50, 2));
        assert_eq!(text(0, 1), "");
    }
}
