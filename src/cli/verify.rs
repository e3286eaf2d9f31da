//! `assize verify`: the whole way from media files to probabilities against a reference's values.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::bail;
use assize::verify::{Check, Report, verify};
use assize_models::Precision;
use assize_models::engines::EngineOptions;
use assize_models::store::Store;
use clap::Args;
use comfy_table::{Table, presets};
use indicatif::ProgressBar;

use super::engine_choice::EngineChoice;
use super::logging::{self, LogFormat};
use super::output::print;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize verify --fixtures tests/golden/gemma4_unified_tiny
  assize verify --fixtures tests/golden/gemma4_unified_tiny --engine torch --device cpu
  assize verify --fixtures ./other-seed --all
  assize verify --fixtures ./other-seed --json > report.json

The folder has a checkpoint, media, and what transformers makes of them (golden/). Exit code 1 if anything differs.";

/// Arguments of `assize verify`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArguments {
    /// Folder of a checkpoint, media and golden values
    #[arg(long, value_name = "DIR")]
    fixtures: PathBuf,
    /// Show every check, not only those that failed
    #[arg(long)]
    all: bool,
    /// Print every check as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineChoice,
    /// Folder of models, prepared weights and the engine's library
    #[arg(long, env = "ASSIZE_CACHE", value_name = "FOLDER", hide_env_values = true)]
    cache: Option<PathBuf>,
    /// Threads of a forward pass [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024))]
    threads: Option<u16>,
}

/// Runs `assize verify`.
///
/// # Errors
/// The folder is not of the shape, or a value differs.
pub fn run(arguments: &VerifyArguments) -> anyhow::Result<()> {
    logging::start(LogFormat::Text, "warn")?;
    let store = Store::open(arguments.cache.as_deref())?;
    // The prepared weights of a fixture are of no use to anybody else.
    let scratch = tempfile::tempdir()?;
    let options = EngineOptions {
        engine: arguments.engine.engine,
        device: arguments.engine.device,
        precision: Some(Precision::Float32),
        threads: arguments.threads.map(usize::from),
        layers: None,
        lowered_dir: scratch.path().to_path_buf(),
        library_dir: Some(store.library_dir()),
    };
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    let mut done = |check: &Check| {
        bar.inc(1);
        bar.set_message(check.name.clone());
    };
    let report = verify(&arguments.fixtures, &options, &mut done)?;
    bar.finish_and_clear();
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&report.checks)?;
        text.push('\n');
        print(&text)?;
    } else {
        print(&describe(&report, arguments.all))?;
    }
    if report.failed() > 0 {
        bail!("{} of {} checks failed", report.failed(), report.checks.len());
    }
    Ok(())
}

/// A line per area, and one per check that failed, or per check at all.
fn describe(report: &Report<'_>, all: bool) -> String {
    let mut areas: BTreeMap<String, (usize, usize, Option<f64>, f64)> = BTreeMap::new();
    let mut order = Vec::new();
    let mut single = table(&["check", "what", "largest difference", "allowed", "result"]);
    for check in &report.checks {
        let area = format!("{:?}", check.area).to_lowercase();
        if !order.contains(&area) {
            order.push(area.clone());
        }
        let entry = areas.entry(area.clone()).or_insert((0, 0, None, check.bound));
        entry.0 += 1;
        entry.1 += usize::from(check.passed);
        if let Some(difference) = check.difference {
            entry.2 = Some(entry.2.map_or(difference, |worst: f64| worst.max(difference)));
        }
        if all || !check.passed {
            let result = check
                .detail
                .clone()
                .unwrap_or_else(|| verdict(check.passed).to_owned());
            single.add_row([
                area,
                check.name.clone(),
                number(check.difference),
                bound(check.bound),
                result,
            ]);
        }
    }
    let mut table = table(&["compared", "checks", "passed", "largest difference", "allowed"]);
    for area in order {
        if let Some((checks, passed, worst, allowed)) = areas.get(&area) {
            table.add_row([
                area,
                checks.to_string(),
                passed.to_string(),
                number(*worst),
                bound(*allowed),
            ]);
        }
    }
    let singles = if all || report.failed() > 0 {
        format!("{single}\n")
    } else {
        String::new()
    };
    let (failed, count) = (report.failed(), report.checks.len());
    let end = if failed == 0 {
        format!("all {count} checks passed")
    } else {
        format!("{failed} of {count} checks FAILED")
    };
    format!("{singles}{table}\n{end}\n")
}

/// An empty table with a head.
fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(head);
    table
}

fn verdict(passed: bool) -> &'static str {
    if passed { "ok" } else { "differs" }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "exact".into(), |value| format!("{value:.1e}"))
}

fn bound(value: f64) -> String {
    if value == 0.0 {
        "none".into()
    } else {
        format!("{value:.0e}")
    }
}
