//! `assize eval`: judge a model on labelled rows.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assize::evaluation::predictions::{
    PredictedRows, PredictionHeader, PredictionSet, PredictionSettings, PredictionWriter,
};
use assize::evaluation::rows::{RowSource, Rows};
use assize::evaluation::{AppliedCalibration, EvaluationRecord, RunRecord, predict};
use assize::service::{CalibrationFile, NamedArtifact, Service};
use assize_calibration::evaluation::{EvaluationOptions, JudgedRow};
use assize_calibration::report::{ProvenanceSection, Report, ShownRow};
use clap::Args;

use super::bench::progress;
use super::figures;
use super::logging::{self, LogFormat};
use super::output::print;
use super::output_files::{json, write, write_json};
use super::row_arguments::RowArguments;
use super::rows_failed::RowsFailed;
use super::served_model::ServedModelArguments;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize eval rows.jsonl --out judged
  assize eval tickets.csv --column state=text --column gold=label --question \"What is it about?\" --option billing --option praise
  assize eval vader --split test --rows 500 --truncate end --max-tokens 512
  assize eval --predictions judged/predictions.jsonl --calibration calibration.json
  assize eval --predictions somebody-elses.jsonl --json

A run that was stopped is taken up by the same command. Exit code 3: some rows failed, and the others were judged.";

const PREDICTIONS: &str = "predictions.jsonl";

/// Arguments that mean something only where a model is asked.
const OF_DATA: [&str; 14] = [
    "data",
    "restart",
    "batch_tokens",
    "column",
    "question",
    "shape",
    "option",
    "level",
    "split",
    "rows",
    "datasets",
    "order_averages",
    "truncate",
    "max_tokens",
];

/// Arguments of `assize eval`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EvalArguments {
    /// A .jsonl, .csv or .parquet file of labelled rows, or spam-assassin or vader
    #[arg(required_unless_present = "predictions")]
    data: Option<String>,
    /// Judge these predictions instead, without a model: a prediction file, or JSONL with probabilities and gold
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_DATA)]
    predictions: Option<PathBuf>,
    /// Folder for predictions.jsonl, evaluation.json and report.html [default: eval-NAME; nothing is written for --predictions]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Remove the predictions that are there and begin anew
    #[arg(long)]
    restart: bool,
    /// Print evaluation.json
    #[arg(long)]
    json: bool,
    /// Resamples of the intervals
    #[arg(long, default_value_t = 1000, value_parser = whole(1..=u16::MAX))]
    resamples: u16,
    /// Tokens of the forward pass that rows of like length share
    #[arg(long, default_value_t = 2048, value_parser = whole(1..=u16::MAX))]
    batch_tokens: u16,
    #[command(flatten)]
    rows: RowArguments,
    #[command(flatten)]
    model: ServedModelArguments,
}

/// Runs `assize eval`.
///
/// # Errors
/// Rows cannot be read at all, the model fails, results cannot be written, or some rows failed.
pub fn run(arguments: &EvalArguments) -> anyhow::Result<()> {
    logging::start(LogFormat::Text, "warn")?;
    let (set, ignored, run, out) = match (&arguments.predictions, &arguments.data) {
        (Some(path), _) => {
            let set = PredictionSet::read(path)?;
            let ignored = set.ignored.clone();
            (set, ignored, RunRecord::default(), arguments.out.clone())
        }
        (None, Some(data)) => {
            let out = arguments.out.clone().unwrap_or_else(|| default_folder(data));
            let (ignored, run) = arguments.predict(data, &out)?;
            (
                PredictionSet::read(&out.join(PREDICTIONS))?,
                ignored,
                run,
                Some(out),
            )
        }
        (None, None) => bail!("give a file of labelled rows, or --predictions FILE"),
    };
    if set.rows.is_empty() {
        RowsFailed::check(&set.faults, 0)?;
        match &arguments.predictions {
            Some(path) => bail!("{}: holds no rows", path.display()),
            None => bail!(
                "no row belongs to --split {}: take another part",
                arguments.rows.selection().split.as_str()
            ),
        }
    }
    let calibration = match arguments
        .model
        .calibration()
        .filter(|_| arguments.predictions.is_some())
    {
        Some(path) => Some(read_calibration(path, &set, arguments.model.allows_mismatch())?),
        None => None,
    };
    let options = EvaluationOptions {
        resamples: usize::from(arguments.resamples),
        ..EvaluationOptions::default()
    };
    let (record, judged) = EvaluationRecord::of(&set, calibration.as_ref(), ignored, &options, run)?;
    if let Some(out) = &out {
        std::fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
        write_json(&out.join("evaluation.json"), &record)?;
        write(
            &out.join("report.html"),
            report(&set, &record, &judged)?.as_bytes(),
        )?;
    }
    if arguments.json {
        print(&json(&record)?)?;
    } else {
        print(&described(&record, out.as_deref()))?;
    }
    RowsFailed::check(&set.faults, set.rows.len())
}

fn default_folder(data: &str) -> PathBuf {
    let stem = Path::new(data).file_stem().unwrap_or_default().to_string_lossy();
    format!("eval-{stem}").into()
}

/// Reads a calibration for these predictions, and refuses one that was fitted on the scores of another artifact.
fn read_calibration(
    path: &Path,
    set: &PredictionSet,
    allow_mismatch: bool,
) -> anyhow::Result<AppliedCalibration> {
    let (file, id) = CalibrationFile::read(path)?;
    let made_for = file.artifact.as_ref().map(|artifact| &artifact.description);
    let predicted = set.header.as_ref().map(|header| &header.artifact.description);
    let differs = match (made_for, predicted) {
        (Some(made_for), Some(predicted)) => {
            let fields: Vec<String> = made_for
                .differences(predicted)
                .into_iter()
                .map(|found| found.field)
                .collect();
            (!fields.is_empty()).then(|| {
                format!(
                    "was fitted on another artifact, which differs in {}",
                    fields.join(", ")
                )
            })
        }
        (None, None) => None,
        (Some(_), None) => {
            Some("is for one artifact, and the predictions do not say which made them".to_owned())
        }
        (None, Some(_)) => Some("does not say which artifact it was fitted on".to_owned()),
    };
    match differs {
        Some(differs) if !allow_mismatch => bail!(
            "--calibration {}: {differs}: fit it again with `assize calibrate`, or use it all the same with --allow-mismatch",
            path.display()
        ),
        mismatch => Ok(AppliedCalibration { file, id, mismatch }),
    }
}

impl EvalArguments {
    /// Runs the rows that `out` lacks. Gives the columns that were not read.
    fn predict(&self, data: &str, out: &Path) -> anyhow::Result<(Vec<String>, RunRecord)> {
        let source = self.rows.source(data)?;
        let options = self.rows.options()?;
        // What is wrong with the file is said before a model is loaded.
        let mut rows = Rows::open(&source, &options, self.rows.selection())?;
        let sha256 = source.sha256()?;
        let service = self.model.open()?;
        std::fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
        let header = self.header(&source, sha256, &service)?;
        let mut writer = PredictionWriter::open(&out.join(PREDICTIONS), header, self.restart)?;
        let found = writer.progress();
        // Results of other predictions are not to stand beside these, whatever ends this run.
        for name in ["evaluation.json", "report.html"] {
            match std::fs::remove_file(out.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("removing {}", out.join(name).display()));
                }
                _ => {}
            }
        }
        if found.rows > 0 {
            tracing::warn!(
                rows = found.rows,
                torn_line = found.torn,
                "taking up the run that is there"
            );
        }
        let bar = progress(self.rows.selection().most.unwrap_or(0), "rows");
        if self.rows.selection().most.is_none() {
            bar.unset_length();
        }
        let started = Instant::now();
        let predicted = predict(
            &service,
            &mut rows,
            &mut writer,
            usize::from(self.batch_tokens),
            || bar.inc(1),
        )?;
        bar.finish_and_clear();
        let run = RunRecord {
            rows_before: predicted.before,
            forward_rows: predicted.forward,
            forward_tokens: predicted.tokens,
            seconds: started.elapsed().as_secs_f64(),
            ..RunRecord::default()
        };
        Ok((rows.ignored().map(str::to_owned).collect(), run))
    }

    fn header(
        &self,
        source: &RowSource,
        sha256: String,
        service: &Service,
    ) -> anyhow::Result<PredictionHeader> {
        let engine = service.engine();
        let settings = self.rows.settings();
        let selection = self.rows.selection();
        Ok(PredictionHeader {
            schema: PredictionHeader::SCHEMA.to_owned(),
            artifact: NamedArtifact {
                id: service.artifact_id().clone(),
                description: service.artifact().clone(),
            },
            model: service.name().to_owned(),
            engine: format!("{} {} {}", engine.name, engine.version, engine.precision),
            readout: serde_json::to_value(service.readout())?,
            calibration: service.calibration_id().map(str::to_owned),
            mismatches: mismatches_of(service, &sha256),
            settings: PredictionSettings {
                order_averages: settings.order_averages,
                truncate: self.rows.truncate_name(),
                max_tokens: settings.max_tokens,
                batch_tokens: usize::from(self.batch_tokens),
            },
            data: PredictedRows {
                name: source.name(),
                sha256,
                split: selection.split,
                most: selection.most,
                question: RowArguments::dataset_question(source),
                options: serde_json::to_value(self.rows.options()?)?,
            },
            assize: env!("CARGO_PKG_VERSION").to_owned(),
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        })
    }
}

/// What makes answers or figures others than they seem: heads and calibrations of other artifacts, and a head that was fitted
/// on rows of this data.
fn mismatches_of(service: &Service, sha256: &str) -> Vec<String> {
    let mut found: Vec<String> = service.mismatches().iter().map(ToString::to_string).collect();
    if let Some(head) = service.fitted_head()
        && let data = &head.card().data
        && data.source_sha256.as_deref() == Some(sha256)
    {
        found.push(format!(
            "{} was fitted on rows of this data ({}): figures on those are too good",
            head.id(),
            data.split
        ));
    }
    found
}

fn described(record: &EvaluationRecord, out: Option<&Path>) -> String {
    let mut text = figures::evaluation(&record.evaluation, record.before_calibration.as_ref());
    text.push_str(&format!(
        "\n{} rows judged, {} failed",
        record.rows.judged, record.rows.failed
    ));
    if record.run.forward_rows > 0 || record.run.rows_before > 0 {
        text.push_str(&format!(
            "; {} asked now in {:.1} s, {} before",
            record.run.forward_rows, record.run.seconds, record.run.rows_before
        ));
    }
    if let Some(prompts) = record.prompts.filter(|prompts| prompts.truncated_rows > 0) {
        text.push_str(&format!("; the state of {} was cut", prompts.truncated_rows));
    }
    text.push_str(match &record.calibration {
        Some(_) => "; probabilities are calibrated\n",
        None => "; probabilities are raw\n",
    });
    for warning in warnings_of(record) {
        text.push_str(&format!("{warning}\n"));
    }
    let mismatches = record
        .predictions
        .get("mismatches")
        .and_then(|found| found.as_array());
    for mismatch in mismatches
        .into_iter()
        .flatten()
        .filter_map(|found| found.as_str())
    {
        text.push_str(&format!("TAKE CARE: {mismatch}.\n"));
    }
    if !record.rows.ignored_columns.is_empty() {
        text.push_str(&format!(
            "columns that were not read: {}\n",
            record.rows.ignored_columns.join(", ")
        ));
    }
    for metric in &record.evaluation.overall.undefined {
        tracing::info!(metric = metric.metric.key(), reason = %metric.reason, "undefined on these rows");
    }
    if let Some(out) = out {
        text.push_str(&format!("{}\n", out.join("report.html").display()));
    }
    text
}

/// What makes the figures of a calibration others than they seem.
fn warnings_of(record: &EvaluationRecord) -> Vec<String> {
    let id = record.calibration.as_deref().unwrap_or_default();
    let mismatch = record.calibration_mismatch.as_ref();
    let mismatch = mismatch.map(|mismatch| format!("MISMATCH: calibration {id} {mismatch}."));
    let fitted = record.calibration_fitted_on_these_rows;
    let fitted = fitted.then(|| {
        format!("FITTED ON THESE ROWS: calibration {id} was fitted on this file, so that its figures are too good.")
    });
    mismatch.into_iter().chain(fitted).collect()
}

fn report(set: &PredictionSet, record: &EvaluationRecord, judged: &[JudgedRow]) -> anyhow::Result<String> {
    let shown: Vec<ShownRow> = set
        .rows
        .iter()
        .zip(judged)
        .map(|(row, judged)| ShownRow {
            row: judged,
            state: &row.state,
            question: &row.question,
            options: &row.options,
        })
        .collect();
    let title = match &set.header {
        Some(header) => format!("{} on {}", header.model, header.data.name),
        None => set.path.display().to_string(),
    };
    let mut notes = Vec::new();
    if record.rows.failed > 0 {
        notes.push(format!(
            "{} rows failed and are in no figure. The first: {}",
            record.rows.failed,
            record
                .rows
                .faults
                .first()
                .map_or_else(String::new, ToString::to_string)
        ));
    }
    if !record.rows.ignored_columns.is_empty() {
        notes.push(format!(
            "Columns that were not read: {}.",
            record.rows.ignored_columns.join(", ")
        ));
    }
    notes.extend(warnings_of(record));
    if let Some(header) = &set.header {
        notes.extend(
            header
                .mismatches
                .iter()
                .map(|mismatch| format!("Take care: {mismatch}.")),
        );
    }
    let report = Report {
        title: &title,
        provenance: &provenance(set, record),
        evaluation: &record.evaluation,
        rows: &shown,
        before: record.before_calibration.as_ref(),
        notes: &notes,
    };
    Ok(report.html()?)
}

fn provenance(set: &PredictionSet, record: &EvaluationRecord) -> Vec<ProvenanceSection> {
    let section = |name: &str, entries: Vec<(&str, String)>| ProvenanceSection {
        name: name.to_owned(),
        entries: entries
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    };
    let mut sections = Vec::new();
    if let Some(header) = &set.header {
        let description = &header.artifact.description;
        sections.push(section(
            "Model",
            vec![
                ("model", header.model.clone()),
                ("artifact", header.artifact.id.to_string()),
                ("weights", description.weights.clone()),
                ("tokenizer", description.tokenizer.clone()),
                ("prompt form", description.prompt_form.clone()),
                ("readout", header.readout.to_string()),
                ("engine", header.engine.clone()),
            ],
        ));
        sections.push(section(
            "Data",
            vec![
                ("rows of", header.data.name.clone()),
                ("sha256", header.data.sha256.clone()),
                ("part", header.data.split.as_str().to_owned()),
                (
                    "most rows",
                    header
                        .data
                        .most
                        .map_or_else(|| "all".to_owned(), |most| most.to_string()),
                ),
            ],
        ));
        sections.push(section(
            "Settings",
            vec![
                (
                    "option orders averaged",
                    header.settings.order_averages.to_string(),
                ),
                ("too long texts lose their", header.settings.truncate.clone()),
                (
                    "most tokens",
                    header
                        .settings
                        .max_tokens
                        .map_or_else(|| "the model's context".to_owned(), |most| most.to_string()),
                ),
            ],
        ));
    }
    sections.push(section(
        "Predictions",
        vec![
            ("file", record.run.file.clone()),
            ("sha256", record.run.sha256.clone()),
            ("rows judged", record.rows.judged.to_string()),
            ("rows failed", record.rows.failed.to_string()),
            (
                "calibration",
                record
                    .calibration
                    .clone()
                    .unwrap_or_else(|| "none: raw probabilities".to_owned()),
            ),
            ("program", format!("assize {}", record.assize)),
        ],
    ));
    sections
}
