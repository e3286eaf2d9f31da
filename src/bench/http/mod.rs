//! What HTTP costs: the same decisions by the engine alone and through a server, in turn within one run.

mod client;
mod server;

use std::time::{Duration, Instant};

use assize_calibration::softmax;
use assize_heads::PackedDecision;
use assize_models::{Backbone, PackedBatch};
use assize_preprocess::prompt::{EncodeOptions, EncodedDecision, Truncate};
use serde::Serialize;

use super::latency::decision;
use super::report::Record;
use super::{BenchError, Identity, Subject, Summary, quantile};

pub use client::{Address, Client};
pub use server::Server;

/// The cost of HTTP for single decisions and for many clients at once.
#[derive(Debug, Clone, Serialize)]
pub struct HttpRecord {
    /// Always `http`.
    pub test: &'static str,
    /// The engine alone.
    #[serde(flatten)]
    pub identity: Identity,
    /// The server.
    pub address: String,
    /// Seconds from the server's start to its first "ready", where it was started for this run.
    pub ready_seconds: Option<f64>,
    /// The server's resident memory at the end, where it was started for this run.
    pub server_memory_mib: Option<f64>,
    /// Decisions compared one by one.
    pub decisions: usize,
    /// Mean rows of one decision's forward pass.
    pub mean_tokens: f64,
    /// Median time of the engine alone: packing, forward pass, scores, softmax.
    pub engine_median_ns: u64,
    /// Median time from sending the request to the parsed answer.
    pub http_median_ns: u64,
    /// Median of the differences, decision by decision.
    pub overhead_median_ns: i64,
    /// 95th percentile of the differences.
    pub overhead_p95_ns: i64,
    /// Largest difference between a probability of the engine alone and the server's.
    pub max_probability_difference: f64,
    /// Clients at once.
    pub clients: usize,
    /// Decisions of one throughput round.
    pub burst: usize,
    /// Most rows of one batch of the engine alone.
    pub batch_tokens: usize,
    /// Decisions a second of the engine alone in batches, median over rounds.
    pub engine_per_second: f64,
    /// Decisions a second through the server, median over rounds.
    pub http_per_second: f64,
    /// Server over engine, median of the ratios within a round.
    pub throughput_ratio: f64,
    /// Every time of the engine alone.
    pub engine_samples_ns: Vec<u64>,
    /// Every time through the server.
    pub http_samples_ns: Vec<u64>,
}

impl Record for HttpRecord {
    const COLUMNS: &'static [&'static str] = &[
        "model",
        "precision",
        "threads",
        "decisions",
        "mean_tokens",
        "engine_median_ns",
        "http_median_ns",
        "overhead_median_ns",
        "overhead_p95_ns",
        "max_probability_difference",
        "clients",
        "engine_per_second",
        "http_per_second",
        "throughput_ratio",
        "ready_seconds",
        "server_memory_mib",
    ];
}

/// What to run.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Words of each text.
    pub words: usize,
    /// Decisions compared one by one.
    pub decisions: usize,
    /// Clients at once.
    pub clients: usize,
    /// Decisions of one throughput round.
    pub burst: usize,
    /// Throughput rounds.
    pub rounds: usize,
    /// Most rows of one batch of the engine alone.
    pub batch_tokens: usize,
}

/// Measures the server at `address` against `backbone`; `server` is its process, where it is ours.
///
/// # Errors
/// The server answers with an error or not at all, or the engine fails.
pub fn http(
    subject: &Subject,
    backbone: &dyn Backbone,
    address: &Address,
    server: Option<&Server>,
    options: &HttpOptions,
    progress: impl Fn(),
) -> Result<HttpRecord, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| address.error(error))?;
    let mut client = runtime.block_on(Client::connect(address))?;
    let engine = Engine { subject, backbone };
    let (mut engine_ns, mut http_ns) = (Vec::new(), Vec::new());
    let (mut tokens, mut difference) = (0, 0.0_f64);
    for seed in 0..options.decisions + WARM_UPS {
        let asked = engine.encode(options.words, seed as u64)?;
        let body = request(subject.name(), options.words, seed as u64);
        let mut alone = (0, Vec::new());
        let mut served = (0, Vec::new());
        // Who goes first alternates.
        for turn in 0..2 {
            if (seed + turn) % 2 == 0 {
                let start = Instant::now();
                let answer = engine.answer(std::slice::from_ref(&asked))?;
                alone = (elapsed(start), answer.into_iter().flatten().collect());
            } else {
                let start = Instant::now();
                let answer = runtime.block_on(client.decide(&body))?;
                served = (elapsed(start), answer);
            }
        }
        progress();
        if seed < WARM_UPS {
            continue;
        }
        tokens += PackedDecision::token_count(&asked, &subject.readout);
        engine_ns.push(alone.0);
        http_ns.push(served.0);
        difference = difference.max(largest_difference(&alone.1, &served.1));
    }
    let (mut engine_speed, mut http_speed) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let first = (1_000_000 * (round + 1)) as u64;
        let seeds = first..first + options.burst as u64;
        let asked = seeds
            .clone()
            .map(|seed| engine.encode(options.words, seed))
            .collect::<Result<Vec<_>, _>>()?;
        let bodies = seeds
            .map(|seed| request(subject.name(), options.words, seed))
            .collect();
        let start = Instant::now();
        for batch in engine.batches(&asked, options.batch_tokens) {
            engine.answer(batch)?;
        }
        engine_speed.push(options.burst as f64 / start.elapsed().as_secs_f64());
        progress();
        let time = runtime.block_on(burst(address, bodies, options.clients))?;
        http_speed.push(options.burst as f64 / time.as_secs_f64());
        progress();
    }
    let identity = subject.identity(backbone)?;
    let as_f64 = |samples: &[u64]| samples.iter().map(|ns| *ns as f64).collect::<Vec<f64>>();
    let (engine_times, http_times) = (as_f64(&engine_ns), as_f64(&http_ns));
    let overheads: Vec<f64> = http_times
        .iter()
        .zip(&engine_times)
        .map(|(http, engine)| http - engine)
        .collect();
    Ok(HttpRecord {
        test: "http",
        identity,
        address: address.to_string(),
        ready_seconds: server.map(|server| server.ready().as_secs_f64()),
        server_memory_mib: server.and_then(Server::memory_mib),
        decisions: options.decisions,
        mean_tokens: tokens as f64 / options.decisions.max(1) as f64,
        engine_median_ns: quantile(&engine_times, 0.5).round() as u64,
        http_median_ns: quantile(&http_times, 0.5).round() as u64,
        overhead_median_ns: quantile(&overheads, 0.5).round() as i64,
        overhead_p95_ns: quantile(&overheads, 0.95).round() as i64,
        max_probability_difference: difference,
        clients: options.clients,
        burst: options.burst,
        batch_tokens: options.batch_tokens,
        engine_per_second: Summary::of(&engine_speed).median,
        http_per_second: Summary::of(&http_speed).median,
        throughput_ratio: super::paired_ratio(&http_speed, &engine_speed),
        engine_samples_ns: engine_ns,
        http_samples_ns: http_ns,
    })
}

/// Decisions before the first timed one.
const WARM_UPS: usize = 4;

/// Steps that [`http`] reports to its progress.
pub fn http_steps(options: &HttpOptions) -> usize {
    options.decisions + WARM_UPS + 2 * options.rounds
}

fn elapsed(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return 1.0;
    }
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The engine without a server.
struct Engine<'e> {
    subject: &'e Subject,
    backbone: &'e dyn Backbone,
}

impl Engine<'_> {
    fn encode(&self, words: usize, seed: u64) -> Result<EncodedDecision, BenchError> {
        let options = EncodeOptions {
            context: self.backbone.description().context,
            truncate: Truncate::Error,
            order_averages: 1,
            prior: self.subject.readout.needs_prior(),
        };
        Ok(self
            .subject
            .form
            .encode(&self.subject.tokenizer, &decision(words, seed), &options)?)
    }

    /// Probabilities of every decision, all in one forward pass.
    fn answer(&self, asked: &[EncodedDecision]) -> Result<Vec<Vec<f64>>, BenchError> {
        let mut batch = PackedBatch::new();
        let packed = asked
            .iter()
            .map(|encoded| PackedDecision::pack(encoded, &[], &self.subject.readout, &mut batch))
            .collect::<Result<Vec<_>, _>>()?;
        let hidden = self.backbone.forward(&batch)?;
        let mut answers = Vec::with_capacity(packed.len());
        for decision in &packed {
            let mut probabilities = Vec::new();
            for scores in decision.scores(self.backbone, None, &hidden)? {
                probabilities.extend(softmax(&scores.scores)?.into_iter().map(|found| found.get()));
            }
            answers.push(probabilities);
        }
        Ok(answers)
    }

    /// Consecutive decisions whose rows stay within `most`, at least one each.
    fn batches<'a>(&self, asked: &'a [EncodedDecision], most: usize) -> Vec<&'a [EncodedDecision]> {
        let counts: Vec<usize> = asked
            .iter()
            .map(|encoded| PackedDecision::token_count(encoded, &self.subject.readout))
            .collect();
        let mut batches = Vec::new();
        let mut rest = asked;
        for size in batch_sizes(&counts, most) {
            let (batch, left) = rest.split_at(size.min(rest.len()));
            batches.push(batch);
            rest = left;
        }
        batches
    }
}

/// How many consecutive decisions go into each batch of at most `most` rows.
fn batch_sizes(counts: &[usize], most: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let (mut size, mut rows) = (0, 0);
    for count in counts {
        if size > 0 && rows + count > most {
            sizes.push(size);
            (size, rows) = (0, 0);
        }
        size += 1;
        rows += count;
    }
    if size > 0 {
        sizes.push(size);
    }
    sizes
}

/// The body of `POST /v1/systemone` for the same decision as [`decision`].
fn request(model: &str, words: usize, seed: u64) -> String {
    let asked = decision(words, seed);
    let question = asked.questions.first();
    let instructions = question
        .and_then(|question| question.instructions.as_ref())
        .map(|content| content.to_text().into_owned());
    let criteria: serde_json::Map<String, serde_json::Value> = match question.map(|question| &question.shape)
    {
        Some(assize_preprocess::decision::Shape::Choice(options)) => options
            .iter()
            .map(|option| (option.name.clone(), serde_json::Value::Null))
            .collect(),
        _ => serde_json::Map::new(),
    };
    serde_json::json!({
        "state": asked.state.to_text(),
        "model": model,
        "questions": {"q": {"type": "choice", "instructions": instructions, "criteria": criteria}},
    })
    .to_string()
}

/// Time in which `clients` connections at once get an answer to every body.
async fn burst(address: &Address, bodies: Vec<String>, clients: usize) -> Result<Duration, BenchError> {
    let bodies = std::sync::Arc::new(std::sync::Mutex::new(bodies));
    let mut connections = Vec::new();
    for _ in 0..clients.max(1) {
        connections.push(Client::connect(address).await?);
    }
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for mut client in connections {
        let bodies = bodies.clone();
        tasks.spawn(async move {
            loop {
                let next = bodies.lock().map(|mut bodies| bodies.pop()).unwrap_or(None);
                let Some(body) = next else {
                    return Ok::<(), BenchError>(());
                };
                client.decide(&body).await?;
            }
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.map_err(|error| address.error(error))??;
    }
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_stay_within_their_rows_and_are_never_empty() {
        assert_eq!(batch_sizes(&[30, 30, 30, 200, 10], 70), [2, 1, 1, 1]);
        assert!(batch_sizes(&[], 70).is_empty());
    }

    #[test]
    fn the_request_asks_what_the_engine_is_asked() {
        let body: serde_json::Value = serde_json::from_str(&request("m", 5, 3)).unwrap();
        assert_eq!(body["state"], serde_json::json!(decision(5, 3).state.to_text()));
        let options: Vec<_> = body["questions"]["q"]["criteria"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(options, ["money", "people"]);
        assert!(body["questions"]["q"]["instructions"].is_string());
    }

    #[test]
    fn differing_answers_are_seen() {
        assert_eq!(largest_difference(&[0.25, 0.75], &[0.5, 0.5]), 0.25);
        assert_eq!(largest_difference(&[0.25, 0.75], &[1.0]), 1.0);
    }
}
