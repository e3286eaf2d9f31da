//! `assize calibrate`: fit a calibration to predictions.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use assize::evaluation::predictions::PredictionSet;
use assize::evaluation::{FitOptions, HeldOut, ThresholdOptions, fit, thresholds};
use assize::service::CalibrationFile;
use assize_calibration::calibrators::{Argmax, Candidate, Folds};
use clap::Args;

use super::figures::table;
use super::logging::{self, LogFormat};
use super::output::print;
use super::output_files::{json, write_json};
use super::rows_failed::RowsFailed;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize eval vader --split calibration --out fit && assize eval vader --split test --out test
  assize calibrate fit/predictions.jsonl --test test/predictions.jsonl --out calibration.json
  assize calibrate predictions.jsonl --fit-share 0.7 --precision 0.95 --confidence 0.95 --coverage 0.9
  assize serve --calibration calibration.json";

/// Arguments of `assize calibrate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CalibrateArguments {
    /// Predictions to fit to: what `assize eval` wrote, or JSONL with probabilities and gold
    predictions: PathBuf,
    /// Predictions about other rows of the same artifact, to judge the calibration on
    #[arg(long, value_name = "FILE", conflicts_with = "fit_share")]
    test: Option<PathBuf>,
    /// Fit to this share of the rows and judge on the rest [default: fit to all, judge by cross-validation]
    #[arg(long, value_name = "SHARE")]
    fit_share: Option<f64>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "calibration.json")]
    out: PathBuf,
    /// Folds of the cross-validation that chooses the kind of calibration
    #[arg(long, default_value_t = 5, value_parser = whole(3..=1000))]
    folds: u16,
    /// Seed of every division of the rows
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Let the calibration change which option is the most probable one
    #[arg(long)]
    may_change_answer: bool,
    /// Find a threshold from which on answers are right at this rate; needs --test or --fit-share
    #[arg(long, value_name = "RATE")]
    precision: Option<f64>,
    /// The rate at which rejected rows are wrong, for three-way routing [default: as --precision]
    #[arg(long, value_name = "RATE", requires = "precision")]
    reject_precision: Option<f64>,
    /// The confidence with which thresholds keep their promise
    #[arg(long, value_name = "RATE", default_value_t = 0.95)]
    confidence: f64,
    /// The option that thresholds are about [default: true of predicates, else the most probable option]
    #[arg(short, long, requires = "precision")]
    option: Option<String>,
    /// Make sets of options that hold the right one at this rate; needs --test or --fit-share
    #[arg(long, value_name = "RATE")]
    coverage: Option<f64>,
    /// Print the calibration file
    #[arg(long)]
    json: bool,
}

/// Runs `assize calibrate`.
///
/// # Errors
/// Predictions cannot be read or are too few, nothing can be fitted, or some rows failed.
pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<()> {
    logging::start(LogFormat::Text, "warn")?;
    arguments.check()?;
    let set = PredictionSet::read(&arguments.predictions)?;
    let test = arguments.test.as_deref().map(PredictionSet::read).transpose()?;
    if let Some(test) = &test {
        check_pair(&set, test)?;
    }
    let held_out = match (&test, arguments.fit_share) {
        (Some(test), _) => HeldOut::File(test),
        (None, Some(share)) => HeldOut::Share(share),
        (None, None) => HeldOut::Folds,
    };
    let options = FitOptions {
        candidates: Candidate::ALL.to_vec(),
        argmax: if arguments.may_change_answer {
            Argmax::MayChange
        } else {
            Argmax::Kept
        },
        folds: Folds {
            count: usize::from(arguments.folds),
            seed: arguments.seed,
        },
    };
    let fitted = fit(&set, held_out, &options)
        .with_context(|| format!("fitting to {}", arguments.predictions.display()))?;
    let mut file = fitted.file;
    if let Some(unseen) = &fitted.unseen
        && (arguments.precision.is_some() || arguments.coverage.is_some())
    {
        let wishes = ThresholdOptions {
            precision: arguments.precision,
            reject_precision: arguments.reject_precision,
            confidence: arguments.confidence,
            option: arguments.option.clone(),
            coverage: arguments.coverage,
            seed: arguments.seed,
        };
        let judged = test.as_ref().unwrap_or(&set);
        file.promises = thresholds(judged, unseen, &file, &wishes).context("finding thresholds and sets")?;
    }
    write_json(&arguments.out, &file)?;
    if arguments.json {
        print(&json(&file)?)?;
    } else {
        print(&described(&file, arguments)?)?;
    }
    let mut faults = set.faults.clone();
    faults.extend(test.iter().flat_map(|test| test.faults.clone()));
    let good = set.rows.len() + test.as_ref().map_or(0, |test| test.rows.len());
    RowsFailed::check(&faults, good)
}

impl CalibrateArguments {
    fn check(&self) -> anyhow::Result<()> {
        let held_out = self.test.is_some() || self.fit_share.is_some();
        for (flag, value, needs_rows) in [
            ("--fit-share", self.fit_share, false),
            ("--precision", self.precision, true),
            ("--reject-precision", self.reject_precision, true),
            ("--confidence", Some(self.confidence), false),
            ("--coverage", self.coverage, true),
        ] {
            let Some(value) = value else { continue };
            if !(value > 0.0 && value < 1.0) {
                bail!("{flag} {value}: use a number between 0 and 1");
            }
            if needs_rows && !held_out {
                bail!(
                    "{flag} needs rows that the calibration is not fitted to: give --test FILE or --fit-share SHARE"
                );
            }
        }
        Ok(())
    }
}

/// Refuses to judge on rows that were fitted to, or on another artifact's.
fn check_pair(set: &PredictionSet, test: &PredictionSet) -> anyhow::Result<()> {
    if let (Some(fitted), Some(judged)) = (&set.header, &test.header) {
        let differences = fitted
            .artifact
            .description
            .differences(&judged.artifact.description);
        if let Some(found) = differences.first() {
            bail!(
                "--test {}: its artifact differs from that of {} in {}: predict both with the same model and settings",
                test.path.display(),
                set.path.display(),
                found.field
            );
        }
        if fitted.data.sha256 != judged.data.sha256 {
            return Ok(());
        }
    }
    if set.header.is_some() != test.header.is_some() {
        bail!(
            "--test {}: one of the two files says which model made it and the other does not, so that they may be of two: \
             predict both with the same model and settings",
            test.path.display()
        );
    }
    let ids: std::collections::HashSet<&str> = set.rows.iter().map(|row| row.id.as_str()).collect();
    let both = test
        .rows
        .iter()
        .filter(|row| ids.contains(row.id.as_str()))
        .count();
    if both > 0 {
        bail!(
            "--test {}: {both} of its rows are among those that are fitted to: a calibration is judged on rows that it has \
             not seen; take other parts, as --split calibration and --split test do",
            test.path.display()
        );
    }
    Ok(())
}

fn described(file: &CalibrationFile, arguments: &CalibrateArguments) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut tried = table(["kind", "cross-validated NLL", ""]);
    for found in &file.tried {
        let kind = serde_json::to_value(found.candidate)?;
        let kind = kind
            .get("kind")
            .and_then(|kind| kind.as_str())
            .unwrap_or_default()
            .to_owned();
        let note = match &found.refused {
            Some(reason) => reason.clone(),
            None if file.chosen == Some(found.candidate) => "chosen".to_owned(),
            None => String::new(),
        };
        tried.add_row([
            kind,
            found.nll.map_or_else(String::new, |nll| format!("{nll:.5}")),
            note,
        ]);
    }
    writeln!(text, "{tried}")?;
    if let Some(fitted) = &file.fitted_on {
        let divided = match fitted.folds_by.as_str() {
            "group" => "no group is divided between folds",
            "prompt" => {
                "rows of one prompt are never divided between folds; groups are, where there are fewer than folds"
            }
            _ => {
                "rows are divided each on its own: their prompts are not known, and groups, if any, are fewer than folds"
            }
        };
        writeln!(text, "fitted on {} rows; {divided}", fitted.rows)?;
    }
    if let Some(judged) = &file.evaluated_on {
        let mut table = table(["on rows not fitted to", "raw", "calibrated"]);
        for (name, before, after) in [
            ("NLL", judged.nll_before, judged.nll_after),
            ("ECE, 15 bins of equal mass", judged.ece_before, judged.ece_after),
        ] {
            table.add_row([name.to_owned(), format!("{before:.5}"), format!("{after:.5}")]);
        }
        writeln!(
            text,
            "\n{table}\n{} rows of {} ({})",
            judged.rows, judged.file, judged.how
        )?;
        if judged.seen > 0 {
            writeln!(
                text,
                "{} of its rows have a prompt that was fitted on, and are left out",
                judged.seen
            )?;
        }
        if judged.held > 0 {
            writeln!(
                text,
                "{} of them would be answered in another way, and are held where two options are equally probable: \
                 --may-change-answer lets them go",
                judged.held
            )?;
        }
        if !judged.improved {
            writeln!(
                text,
                "THIS CALIBRATION IS NO IMPROVEMENT: on rows that it was not fitted to, its NLL is not below that of the raw \
                 probabilities"
            )?;
        }
    }
    describe_promises(file, &mut text)?;
    writeln!(text, "{}", arguments.out.display())?;
    Ok(text)
}

fn describe_promises(file: &CalibrationFile, text: &mut String) -> anyhow::Result<()> {
    let promises = &file.promises;
    if let Some(found) = &promises.precision {
        let what = promises.option.as_ref().map_or_else(
            || "the most probable option".to_owned(),
            |option| format!("{option:?}"),
        );
        match found.threshold {
            Some(threshold) => {
                let last = found.tested.iter().rfind(|test| test.passed);
                writeln!(
                    text,
                    "\naccept {what} from {threshold:.6} on: right at a rate of {} or more with confidence {} ({} of {} testing rows accepted)",
                    found.wish,
                    found.confidence,
                    last.map_or(0, |test| test.accepted),
                    found.testing_rows
                )?;
            }
            None => writeln!(
                text,
                "\nno threshold on {what} keeps a rate of {} with confidence {}: it takes at least {} accepted rows, all of them \
                 right, of {} testing rows",
                found.wish, found.confidence, found.least_accepted, found.testing_rows
            )?,
        }
    }
    if let (Some(routing), Some(volumes)) = (&promises.routing, &promises.volumes) {
        let threshold =
            |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.6}"));
        let mut table = table(["route", "probability", "rows", "share", "true rows"]);
        for (route, at, volume) in [
            (
                "approve",
                format!("from {}", threshold(routing.approve)),
                volumes.approve,
            ),
            ("review", "between".to_owned(), volumes.review),
            (
                "reject",
                format!("up to {}", threshold(routing.reject)),
                volumes.reject,
            ),
        ] {
            table.add_row([
                route.to_owned(),
                at,
                volume.rows.to_string(),
                format!("{:.3}", volume.share.rate),
                volume.true_rows.to_string(),
            ]);
        }
        writeln!(text, "\n{table}")?;
    }
    if let (Some(sets), Some(coverage)) = (&promises.sets, &promises.coverage) {
        writeln!(
            text,
            "\nsets of options for a coverage of {}: measured {:.3} ({:.3} to {:.3}) on {} other rows, {:.2} options a set",
            sets.coverage.get(),
            coverage.covered.rate,
            coverage.covered.lower,
            coverage.covered.upper,
            coverage.rows,
            coverage.mean_size
        )?;
    }
    Ok(())
}
