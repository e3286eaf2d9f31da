//! `assize bench`: measurements of this machine, the engine, HTTP, quality and the peer.

use assize::bench::{self, Host, Output, Record};
use clap::{Args, Subcommand};

/// Arguments of `assize bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Form of the result: table, json or csv
    #[arg(short, long, global = true, default_value = "table")]
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
        Ok(bench::write(records, self.form(), std::io::stdout().lock())?)
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
    }
}
