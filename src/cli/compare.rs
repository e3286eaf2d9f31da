//! `assize compare`: two prediction files about the same rows.

use std::path::PathBuf;

use assize::evaluation::ComparisonRecord;
use assize::evaluation::predictions::PredictionSet;
use assize_calibration::evaluation::EvaluationOptions;
use clap::Args;

use super::figures;
use super::logging::{self, LogFormat};
use super::output::print;
use super::output_files::{json, write, write_json};
use super::rows_failed::RowsFailed;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize eval rows.jsonl --precision float32 --out float32 && assize eval rows.jsonl --precision int8 --out int8
  assize compare float32/predictions.jsonl int8/predictions.jsonl
  assize compare a.jsonl b.jsonl --json > comparison.json
  assize compare a.jsonl b.jsonl --out compared";

/// Arguments of `assize compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArguments {
    /// Predictions: what `assize eval` wrote, or JSONL with probabilities and gold
    first: PathBuf,
    /// Other predictions about the same rows, matched by id
    second: PathBuf,
    /// Folder for comparison.json and comparison.html [default: nothing is written]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print comparison.json
    #[arg(long)]
    json: bool,
    /// Resamples of the intervals
    #[arg(long, default_value_t = 1000, value_parser = whole(1..=u16::MAX))]
    resamples: u16,
}

/// Runs `assize compare`.
///
/// # Errors
/// A file cannot be read, they have no rows in common or other questions about them, or some rows failed.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<()> {
    logging::start(LogFormat::Text, "warn")?;
    let first = PredictionSet::read(&arguments.first)?;
    let second = PredictionSet::read(&arguments.second)?;
    let options = EvaluationOptions {
        resamples: usize::from(arguments.resamples),
        ..EvaluationOptions::default()
    };
    let record = ComparisonRecord::of(&first, &second, &options)?;
    if let Some(out) = &arguments.out {
        std::fs::create_dir_all(out)?;
        write_json(&out.join("comparison.json"), &record)?;
        write(&out.join("comparison.html"), record.html().as_bytes())?;
    }
    if arguments.json {
        print(&json(&record)?)?;
    } else {
        print(&described(&record))?;
    }
    let faults: Vec<_> = first.faults.iter().chain(&second.faults).cloned().collect();
    RowsFailed::check(&faults, first.rows.len() + second.rows.len())
}

fn described(record: &ComparisonRecord) -> String {
    format!(
        "{}\n{}\n",
        figures::comparison(&record.comparison),
        record.sentences().join("\n")
    )
}
