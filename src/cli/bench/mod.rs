//! `assize bench`: measurements of this machine, the engine, HTTP, quality and the peer.

mod http;
mod layer;
mod media;
mod model;
mod quality;
mod speed;
mod versus;

use assize::bench::{self, Host, Output, Record};
use clap::{Args, Subcommand};

use super::output::print;

/// Arguments of `assize bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Form of the result: table, json or csv
    #[arg(short, long, global = true, default_value = "table", value_name = "FORM")]
    output: Output,
    /// Short for --output json
    #[arg(long, global = true, conflicts_with_all = ["output", "csv"])]
    json: bool,
    /// Short for --output csv
    #[arg(long, global = true, conflicts_with = "output")]
    csv: bool,
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Arithmetic peaks of this machine: dot products from registers on all threads
    Peaks {
        /// Threads [default: all]
        #[arg(short, long)]
        threads: Option<usize>,
        /// Samples per peak
        #[arg(short, long, default_value_t = 9)]
        repetitions: usize,
    },
    /// Speed of one forward pass by prompt length, last position only (fields as of llama-bench)
    Prefill(speed::PrefillArguments),
    /// K questions about one state: one packed pass against one question and against separate passes
    SharedState(speed::SharedStateArguments),
    /// Time of a decision from text to probabilities: first, warm, after idleness, with a long text
    Latency(speed::LatencyArguments),
    /// One decoder layer of the 12B on the CPU: engines, and transformers, in turn
    Layer(layer::LayerArguments),
    /// Memory of a model with layers of the 12B: loading it, and one pass
    Memory(layer::MemoryArguments),
    /// What HTTP adds to the engine alone, and throughput of many clients
    Http(http::HttpArguments),
    /// Decoding and preprocessing of media without a model, against the Python reference pipeline
    Media(media::MediaArguments),
    /// Agreement of int8 with float32 on real prompts: next-token distribution at the last position
    Agreement(quality::AgreementArguments),
    /// Zero-shot quality on a data set, by prompt form and readout
    ZeroShot(quality::ZeroShotArguments),
    /// Speed and agreement against llama.cpp in one run (needs the feature `peer-llama`)
    VersusLlama(versus::VersusArguments),
}

impl BenchArguments {
    fn form(&self) -> Output {
        if self.json {
            Output::Json
        } else if self.csv {
            Output::Csv
        } else {
            self.output
        }
    }

    fn print<R: Record>(&self, records: &[R]) -> anyhow::Result<()> {
        let mut text = Vec::new();
        bench::write(records, self.form(), &mut text)?;
        Ok(print(&String::from_utf8(text)?)?)
    }
}

/// Runs `assize bench`.
///
/// # Errors
/// What the benchmark says.
pub fn run(arguments: &BenchArguments) -> anyhow::Result<()> {
    match &arguments.command {
        BenchCommand::Peaks { threads, repetitions } => {
            let threads = threads.unwrap_or_else(|| Host::read().threads);
            arguments.print(&bench::measure_peaks(threads, *repetitions))
        }
        BenchCommand::Prefill(found) => arguments.print(&found.run()?),
        BenchCommand::SharedState(found) => arguments.print(&found.run()?),
        BenchCommand::Latency(found) => arguments.print(&found.run()?),
        BenchCommand::Layer(found) => arguments.print(&found.run()?),
        BenchCommand::Memory(found) => arguments.print(&found.run()?),
        BenchCommand::Http(found) => arguments.print(&[found.run()?]),
        BenchCommand::Media(found) => found.run(arguments),
        BenchCommand::Agreement(found) => arguments.print(&found.run()?),
        BenchCommand::ZeroShot(found) => arguments.print(&found.run()?),
        BenchCommand::VersusLlama(found) => found.run(arguments),
    }
}

/// A progress bar on standard error; silent where that is no terminal.
pub(super) fn progress(steps: usize, what: &'static str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(steps as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}
