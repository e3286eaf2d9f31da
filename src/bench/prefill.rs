//! Prefill speed: one prompt, one forward pass, hidden state of the last position; fields as of llama-bench.

use std::time::Instant;

use assize_models::Backbone;
use serde::Serialize;

use super::prompts::{fixed_tokens, last_position};
use super::report::Record;
use super::{BenchError, Identity, Summary, peak_memory_mib};

/// Speed at one prompt length.
#[derive(Debug, Clone, Serialize)]
pub struct PrefillRecord {
    /// Always `prefill`.
    pub test: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub identity: Identity,
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// Mean time of one pass.
    pub avg_ns: u64,
    /// Sample standard deviation of the time.
    pub stddev_ns: u64,
    /// Median time.
    pub median_ns: u64,
    /// Mean tokens a second.
    pub avg_ts: f64,
    /// Sample standard deviation of tokens a second.
    pub stddev_ts: f64,
    /// Tokens a second at the median time.
    pub median_ts: f64,
    /// 10^9 operations a second of the linear layers alone (two per multiply-add), at the median time.
    pub linear_gops: f64,
    /// `linear_gops` over the arithmetic peak of the precision, where it was measured.
    pub share_of_peak: Option<f64>,
    /// Peak resident memory of the process so far.
    pub peak_memory_mib: Option<f64>,
    /// Every time.
    pub samples_ns: Vec<u64>,
}

impl Record for PrefillRecord {
    const COLUMNS: &'static [&'static str] = &[
        "model",
        "precision",
        "engine",
        "kernels",
        "threads",
        "n_prompt",
        "avg_ts",
        "stddev_ts",
        "median_ts",
        "linear_gops",
        "share_of_peak",
        "peak_memory_mib",
    ];
}

/// What to run.
#[derive(Debug, Clone)]
pub struct PrefillOptions {
    /// Prompt lengths, in tokens.
    pub lengths: Vec<usize>,
    /// Timed passes per length, after one that is not timed.
    pub repetitions: usize,
    /// Arithmetic peak of the precision, 10^9 operations a second.
    pub peak_gops: Option<f64>,
}

/// Measures every length.
///
/// # Errors
/// A length is 0 or over the context, or the engine fails.
pub fn prefill(
    backbone: &dyn Backbone,
    identity: &Identity,
    options: &PrefillOptions,
) -> Result<Vec<PrefillRecord>, BenchError> {
    let vocabulary = backbone.description().vocabulary;
    let mut records = Vec::new();
    for &length in &options.lengths {
        let batch = last_position(&fixed_tokens(vocabulary, length, length as u64))?;
        backbone.forward(&batch)?;
        let samples_ns = (0..options.repetitions.max(1))
            .map(|_| {
                let start = Instant::now();
                backbone.forward(&batch)?;
                Ok(start.elapsed().as_nanos() as u64)
            })
            .collect::<Result<Vec<u64>, BenchError>>()?;
        let linear_operations = 2.0 * backbone.description().linear_macs_per_token() as f64;
        records.push(record(
            identity,
            length,
            samples_ns,
            linear_operations,
            options.peak_gops,
        ));
    }
    Ok(records)
}

fn record(
    identity: &Identity,
    n_prompt: usize,
    samples_ns: Vec<u64>,
    linear_operations: f64,
    peak_gops: Option<f64>,
) -> PrefillRecord {
    let tokens = n_prompt as f64;
    let times: Vec<f64> = samples_ns.iter().map(|ns| *ns as f64).collect();
    let speeds: Vec<f64> = times.iter().map(|ns| tokens * 1e9 / ns.max(1.0)).collect();
    let (time, speed) = (Summary::of(&times), Summary::of(&speeds));
    let median_ts = tokens * 1e9 / time.median.max(1.0);
    let linear_gops = linear_operations * median_ts / 1e9;
    PrefillRecord {
        test: "prefill",
        identity: identity.clone(),
        n_prompt,
        avg_ns: time.mean.round() as u64,
        stddev_ns: time.stddev.round() as u64,
        median_ns: time.median.round() as u64,
        avg_ts: speed.mean,
        stddev_ts: speed.stddev,
        median_ts,
        linear_gops,
        share_of_peak: peak_gops.map(|peak| linear_gops / peak),
        peak_memory_mib: peak_memory_mib(),
        samples_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::{Output, write};

    pub(crate) fn identity() -> Identity {
        Identity {
            model: "m".into(),
            size: 10,
            params: 5,
            precision: "int8".into(),
            engine: "onnx 1".into(),
            kernels: "k".into(),
            threads: 2,
            artifact: "art-0".into(),
            build: "b".into(),
            cpu: "c".into(),
        }
    }

    #[test]
    fn speeds_follow_from_the_times() {
        let found = record(
            &identity(),
            100,
            vec![100_000_000, 400_000_000, 200_000_000],
            2e9,
            Some(2000.0),
        );
        assert_eq!(found.median_ns, 200_000_000);
        assert_eq!(found.median_ts, 500.0);
        // Mean of the speeds (1000, 250, 500), not the speed at the mean time.
        assert!((found.avg_ts - 1750.0 / 3.0).abs() < 1e-9);
        assert_eq!(found.linear_gops, 1000.0);
        assert_eq!(found.share_of_peak, Some(0.5));
    }

    #[test]
    fn fields_have_the_names_of_llama_bench() {
        let mut bytes = Vec::new();
        write(
            &[record(&identity(), 1, vec![1], 1.0, None)],
            Output::Csv,
            &mut bytes,
        )
        .unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            "test,model,size,params,precision,engine,kernels,threads,artifact,build,cpu,n_prompt,avg_ns,stddev_ns,\
             median_ns,avg_ts,stddev_ts,median_ts,linear_gops,share_of_peak,peak_memory_mib,samples_ns"
        );
    }
}
