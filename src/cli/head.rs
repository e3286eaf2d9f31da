//! `assize head`: fit a head to labelled rows, and show one.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;

use anyhow::{Context as _, bail};
use assize::bench::{BenchError, Task, TaskOptions, TaskRow, TaskShape};
use assize::datasets::{DatasetError, DatasetFolder, DatasetName, MailText};
use assize::evaluation::rows::{RowOptions, RowSelection, RowSource, Rows as LabelledRows, Split};
use assize::head_fit::{FitRow, HeadFit, HeadFitOptions, HeadFitReport, Progress, fit_head};
use assize::service::{Service, ServiceError, ServiceOptions};
use assize_heads::FittedHead;
use assize_heads::fit::{FitOptions, Folds};
use assize_heads::fitted_head::{HeadCard, HeadQuality, PromptCut};
use assize_models::store::Store;
use assize_models::{DEFAULT_MODEL, Precision};
use assize_preprocess::prompt::Truncate;
use clap::{Args, Subcommand};
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use super::bench::progress;
use super::engine_choice::EngineChoice;
use super::logging::{self, LogFormat};
use super::output::{print, print_line};
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize head fit --data spam-assassin --rows 2000 --out spam-head
  assize head fit --data rows.jsonl --out my-head
  assize head fit --data rows.csv --layers 8,15,all --out my-head
  assize head show spam-head
  assize serve --head spam-head
  assize decide @mail.txt --head spam-head --question \"Is this e-mail spam or ham?\" --option spam --option ham";

/// Rows of a data set that are fitted on, and that are held out, where nothing else is said.
const ROWS: usize = 2000;

/// Arguments of `assize head`.
#[derive(Debug, Args)]
pub struct HeadArguments {
    #[command(subcommand)]
    command: HeadCommand,
}

#[derive(Debug, Subcommand)]
enum HeadCommand {
    /// Fit a head for one question to labelled rows
    #[command(after_help = EXAMPLES)]
    Fit(Box<FitArguments>),
    /// Show what a head is for and how good it is
    Show {
        /// A head's folder, or its .safetensors file
        head: PathBuf,
        /// Print the card as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `assize head fit`.
#[derive(Debug, Args)]
struct FitArguments {
    /// A .jsonl, .csv or .parquet file of labelled rows, or spam-assassin or vader
    #[arg(long, value_name = "FILE|NAME")]
    data: String,
    /// Rows to fit on: the first of a file, or of a data set's fixed order [default: 2000 of a data set, all of a file]
    #[arg(long)]
    rows: Option<usize>,
    /// Rows behind them to judge the head on, as far as there are any [default: 2000 of a data set, none of a file]
    #[arg(long, value_name = "ROWS")]
    held_out: Option<usize>,
    /// Folder to write the head into
    #[arg(short, long, value_name = "FOLDER", default_value = "head")]
    out: PathBuf,
    /// Most tokens of a prompt, here and whenever the head is asked
    #[arg(long, default_value_t = 192, value_parser = whole(1..=u16::MAX))]
    max_tokens: u16,
    /// What is dropped of longer texts, here and whenever the head is asked: start, middle or end
    #[arg(long, default_value = "middle", value_name = "PART")]
    truncate: Truncate,
    /// Decoder layers below the head: fewer are faster, and often better. Of several the best by cross-validation is kept,
    /// such as 8,15,all [default: what the model's card says, or else all]
    #[arg(long, value_name = "N|all", value_delimiter = ',')]
    layers: Vec<HeadLayers>,
    /// Folds of the cross-validation that chooses the strength of regularisation
    #[arg(long, default_value_t = 5, value_parser = whole(2..=1000))]
    folds: u16,
    /// Seed of the folds
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Fit a temperature on the cross-validated scores and fold it into the head
    #[arg(long)]
    temperature: bool,
    /// What of a mail is shown: subject-body or raw (headers give the answer away)
    #[arg(long, default_value = "subject-body")]
    mail_text: MailText,
    /// How the question of a data set is put: choice or predicate
    #[arg(long, default_value = "choice")]
    shape: TaskShape,
    /// Folder of the data sets [default: `datasets` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    datasets: Option<PathBuf>,
    /// Keep no hidden states on disk, and use none that are there
    #[arg(long)]
    no_cache: bool,
    /// Print the card and what the fit took as JSON
    #[arg(long)]
    json: bool,
    /// Name of a model, or path of a GGUF file or model folder
    #[arg(short, long, default_value = DEFAULT_MODEL, env = "ASSIZE_MODEL")]
    model: String,
    /// Cache folder [default: `assize` in the user's cache folder]
    #[arg(long, value_name = "FOLDER", env = "ASSIZE_CACHE")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineChoice,
    /// float32, int8 (engine onnx) or bf16 (engine torch) [default: the fastest on this host that keeps the answers]
    #[arg(short, long)]
    precision: Option<Precision>,
    /// Threads of one forward pass [default: all]
    #[arg(short, long, value_parser = whole(1..=1024))]
    threads: Option<u16>,
}

/// How many decoder layers are run below a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadLayers {
    All,
    First(NonZeroUsize),
}

impl HeadLayers {
    fn get(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::First(layers) => Some(layers.get()),
        }
    }
}

impl FromStr for HeadLayers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let layers = text.parse().map(Self::First);
        layers.map_err(|_| format!("{text:?} is no number of layers: use a whole number from 1, or all"))
    }
}

/// Runs `assize head`.
///
/// # Errors
/// The rows cannot be read or fitted on, the head cannot be written or read.
pub fn run(arguments: &HeadArguments) -> anyhow::Result<()> {
    match &arguments.command {
        HeadCommand::Fit(arguments) => arguments.run(),
        HeadCommand::Show { head, json } => show(head, *json),
    }
}

fn show(path: &Path, json: bool) -> anyhow::Result<()> {
    let head = FittedHead::open(path)?;
    if json {
        return Ok(print_line(serde_json::to_string_pretty(&Shown::of(
            &head, None,
        ))?)?);
    }
    Ok(print(&describe(&head)?)?)
}

/// A head as JSON.
#[derive(Serialize)]
struct Shown<'h> {
    id: String,
    #[serde(flatten)]
    card: &'h HeadCard,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<&'h HeadFitReport>,
}

impl<'h> Shown<'h> {
    fn of(head: &'h FittedHead, fit: Option<&'h HeadFitReport>) -> Self {
        Self {
            id: head.id(),
            card: head.card(),
            fit,
        }
    }
}

/// Rows to fit on, rows to judge on, and which they are.
struct Rows {
    fit: Vec<FitRow>,
    held_out: Vec<FitRow>,
    data: String,
    sha256: String,
    split: String,
}

impl FitArguments {
    fn run(&self) -> anyhow::Result<()> {
        logging::start(LogFormat::Text, "warn")?;
        let rows = self.read()?;
        let store = Store::open(self.cache.as_deref())?;
        let layers = match self.layers.as_slice() {
            [] => vec![store.resolve(&self.model)?.card().head_layers],
            asked => asked.iter().map(|layers| layers.get()).collect(),
        };
        let services = layers.iter().map(|layers| self.open(*layers));
        let options = HeadFitOptions {
            cut: PromptCut {
                max_tokens: usize::from(self.max_tokens),
                truncate: self.truncate,
            },
            fit: FitOptions {
                folds: Folds {
                    count: usize::from(self.folds),
                    seed: self.seed,
                },
                ..FitOptions::default()
            },
            temperature: self.temperature,
            data: rows.data,
            source_sha256: Some(rows.sha256),
            split: rows.split,
        };
        let bar = FitBar::new(rows.fit.len() + rows.held_out.len(), &options.fit);
        let HeadFit { head, report } = fit_head(
            services,
            rows.fit,
            rows.held_out,
            &options,
            Some(store.root()).filter(|_| !self.no_cache),
            &self.out,
            |done| bar.tell(done),
        )?;
        bar.finish();
        if self.json {
            return Ok(print_line(serde_json::to_string_pretty(&Shown::of(
                &head,
                Some(&report),
            ))?)?);
        }
        let mut text = describe(&head)?;
        describe_work(&report, &mut text)?;
        writeln!(
            text,
            "written to {}; `assize serve --head {}` answers with it",
            self.out.display(),
            self.out.display()
        )?;
        Ok(print(&text)?)
    }

    fn open(&self, layers: Option<usize>) -> Result<Service, ServiceError> {
        Service::open(&ServiceOptions {
            model: self.model.clone(),
            cache_dir: self.cache.clone(),
            engine: self.engine.engine,
            device: self.engine.device,
            precision: self.precision,
            threads: self.threads.map(usize::from),
            layers,
            ..ServiceOptions::default()
        })
    }

    fn read(&self) -> anyhow::Result<Rows> {
        match self.data.parse::<DatasetName>() {
            Ok(name) if !Path::new(&self.data).exists() => self.read_dataset(name),
            _ => self.read_file(),
        }
    }

    fn read_file(&self) -> anyhow::Result<Rows> {
        let held_out = self.held_out.unwrap_or(0);
        let selection = RowSelection {
            split: Split::All,
            most: self.rows.map(|rows| rows.saturating_add(held_out)),
        };
        let source = RowSource::File(self.data.clone().into());
        let mut rows = Vec::new();
        for row in LabelledRows::open(&source, &RowOptions::default(), selection)? {
            // A head that was fitted on what is left of a file would look as if it was fitted on the file.
            let row = row?.with_context(|| format!("{}: mend the row or leave it out", self.data))?;
            let Some(gold) = row.gold.label() else {
                bail!(
                    "{}, row {}: its ratings name no option as gold: leave it out",
                    self.data,
                    row.row
                );
            };
            if !row.media.is_empty() {
                bail!(
                    "{}, row {}: it has media, and heads are fitted on texts: leave it out",
                    self.data,
                    row.row
                );
            }
            rows.push(FitRow {
                id: row.id,
                decision: row.decision,
                gold,
                group: row.group,
            });
        }
        let fitted_on = self.rows.unwrap_or_else(|| rows.len().saturating_sub(held_out));
        let behind = rows.split_off(fitted_on.min(rows.len()));
        Ok(Rows {
            split: split_in_words("the file's order", &rows, &behind),
            fit: rows,
            held_out: behind,
            data: source.name(),
            sha256: source.sha256()?,
        })
    }

    fn read_dataset(&self, name: DatasetName) -> anyhow::Result<Rows> {
        let folder = DatasetFolder::open(self.datasets.as_deref())?;
        let task = |n| {
            let options = TaskOptions {
                n,
                skip: 0,
                balanced: false,
                mail_text: self.mail_text,
                shape: self.shape,
                question: None,
                options: None,
            };
            Task::read(&folder, name, &options)
        };
        let fitted_on = self.rows.unwrap_or(ROWS);
        let task = match task(fitted_on.saturating_add(self.held_out.unwrap_or(ROWS))) {
            Err(BenchError::Dataset(DatasetError::TooFew { available, .. })) => {
                task(available.max(fitted_on))?
            }
            other => other?,
        };
        let row = |found: &TaskRow| FitRow {
            id: found.id.clone(),
            decision: task.decision(found),
            gold: task.gold(found),
            group: None,
        };
        let mut rows: Vec<FitRow> = task.rows.iter().map(row).collect();
        let behind = rows.split_off(fitted_on.min(rows.len()));
        let shown = match (name, self.mail_text) {
            (DatasetName::SpamAssassin, MailText::SubjectBody) => " (subject and body)",
            (DatasetName::SpamAssassin, MailText::Raw) => " (whole files)",
            (DatasetName::Vader, _) => "",
        };
        Ok(Rows {
            split: split_in_words("the fixed order", &rows, &behind),
            fit: rows,
            held_out: behind,
            data: format!("{name}{shown}"),
            sha256: folder
                .record(name)?
                .map(|record| record.sha256)
                .unwrap_or_default(),
        })
    }
}

fn split_in_words(order: &str, rows: &[FitRow], held_out: &[FitRow]) -> String {
    let fitted = format!("the first {} rows in {order}", rows.len());
    match held_out.len() {
        0 => fitted,
        behind => format!(
            "{fitted}; held out: the {behind} behind them, less those with a prompt of a row that was fitted on"
        ),
    }
}

/// One bar that shows writing of prompts, then hidden states, then fits.
struct FitBar {
    bar: indicatif::ProgressBar,
    rows: usize,
    /// Fits at most: the search may end before it has tried every strength.
    fits: usize,
    stage: Mutex<&'static str>,
}

impl FitBar {
    fn new(rows: usize, fit: &FitOptions) -> Self {
        Self {
            bar: progress(rows, "writing prompts"),
            rows,
            fits: fit.strengths.len() * fit.folds.count + 1,
            stage: Mutex::new("writing prompts"),
        }
    }

    fn tell(&self, done: Progress) {
        let (stage, steps, of) = match done {
            Progress::Written(rows) => ("writing prompts", rows, self.rows),
            Progress::Hidden(rows) => ("hidden states", rows, self.rows),
            Progress::Fit => ("fits", 1, self.fits),
        };
        let mut now = self
            .stage
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if *now != stage {
            *now = stage;
            self.bar.set_message(stage);
            self.bar.set_position(0);
            self.bar.set_length(of as u64);
        }
        self.bar.inc(steps as u64);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn describe(head: &FittedHead) -> anyhow::Result<String> {
    let card = head.card();
    let mut text = String::new();
    writeln!(
        text,
        "{} for {} ({}, {})",
        head.id(),
        card.base.model,
        card.base.id,
        card.base.description.precision
    )?;
    writeln!(
        text,
        "{} {:?}, {} {:?}",
        card.question.shape_name(),
        card.question.text(),
        card.question.option_names().len(),
        card.question.option_names()
    )?;
    writeln!(
        text,
        "{}: {} rows in {} groups, by option {:?}; {}",
        card.data.name, card.data.rows, card.data.groups, card.data.per_option, card.data.split
    )?;
    let layers = card.base.description.layers;
    let layers = layers.map_or_else(
        || "all layers".to_owned(),
        |layers| format!("the first {layers} layers"),
    );
    write!(text, "hidden states of {layers}")?;
    for (place, tried) in card.training.depths.iter().enumerate() {
        let before = if place == 0 {
            "; tried by cross-validation: "
        } else {
            ", "
        };
        write!(
            text,
            "{before}{} (NLL {:.4}, accuracy {:.4})",
            tried.layers, tried.nll, tried.accuracy
        )?;
    }
    writeln!(text)?;
    writeln!(
        text,
        "prompts of at most {} tokens ({} rows were cut in the {:?}); C = {:.3e} of {} tried, temperature {:.3}",
        card.prompt.max_tokens,
        card.data.truncated_rows,
        card.prompt.truncate,
        card.training.c,
        card.training.tried.len(),
        card.training.temperature
    )?;
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["rows", "", "accuracy", "NLL", "ECE (15 equal-mass bins)"]);
    let mut add = |what: &str, found: &HeadQuality| {
        table.add_row([
            what.to_owned(),
            found.rows.to_string(),
            format!("{:.4}", found.accuracy),
            format!("{:.4}", found.nll),
            format!("{:.4}", found.ece15),
        ]);
    };
    add("fitted on, by cross-validation", &card.cross_validated);
    if let Some(held_out) = &card.held_out {
        add("held out", held_out);
    }
    writeln!(text, "{table}")?;
    Ok(text)
}

fn describe_work(report: &HeadFitReport, text: &mut String) -> anyhow::Result<()> {
    writeln!(
        text,
        "{:.1} s for prompts, {:.1} s for hidden states, {:.1} s for the fit, {:.1} s for held-out rows; \
         {} forward passes' prompts, {} tokens",
        report.write_s, report.extract_s, report.fit_s, report.held_out_s, report.computed, report.tokens
    )?;
    if report.held_out_known > 0 {
        writeln!(
            text,
            "{} held-out rows were left out: their prompt is that of a row that was fitted on",
            report.held_out_known
        )?;
    }
    Ok(())
}
