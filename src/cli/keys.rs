//! `assize keys`: the file of keys that `assize serve --keys` asks for.

use std::io::{ErrorKind, Write as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use assize::keys::{ApiKey, KeyEntry, KeyFile, KeyFileError};
use clap::{Args, Subcommand};
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use super::output::print_line;

const EXAMPLES: &str = "Examples:
  assize keys add triage --file keys.toml                         prints the key, once
  assize keys add nightly --file keys.toml --requests-per-minute 600 --concurrency 4
  assize keys list --file keys.toml
  assize keys rm triage --file keys.toml
  assize serve --keys keys.toml

The file holds the SHA-256 of each key, never the key. A server reads it when it starts: start it again after a change.";

/// Arguments of `assize keys`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KeysArguments {
    /// The file of keys, in TOML
    #[arg(long, global = true, value_name = "FILE", default_value = "keys.toml")]
    file: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key and print it; this is the only time that it is shown
    Add {
        /// Who it is for; in logs and metrics
        name: String,
        /// Requests in a minute
        #[arg(long, value_name = "REQUESTS")]
        requests_per_minute: Option<NonZeroU32>,
        /// Requests at once
        #[arg(long, value_name = "REQUESTS")]
        concurrency: Option<NonZeroU32>,
    },
    /// List the keys, by name
    List,
    /// Remove a key
    Rm {
        /// Its name
        name: String,
    },
}

/// Runs `assize keys`.
///
/// # Errors
/// The file cannot be read or written, a name is taken or unknown.
pub fn run(arguments: &KeysArguments) -> anyhow::Result<()> {
    let path = &arguments.file;
    match &arguments.command {
        KeysCommand::Add {
            name,
            requests_per_minute,
            concurrency,
        } => {
            // The first key makes the file.
            let mut file = match KeyFile::read(path) {
                Err(KeyFileError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                    KeyFile::default()
                }
                read => read?,
            };
            let key = ApiKey::generate()?;
            file.add(KeyEntry {
                name: name.clone(),
                sha256: key.hash(),
                requests_per_minute: *requests_per_minute,
                concurrency: *concurrency,
            })
            .map_err(|reason| anyhow!("{}: {reason}", path.display()))?;
            write(path, &file)?;
            if arguments.json {
                print_line(serde_json::json!({"name": name, "key": key.expose(), "file": path}))?;
            } else {
                print_line(key.expose())?;
                eprintln!(
                    "added {name:?} to {}; the key is shown only here. Send it as `Authorization: Bearer <key>`.",
                    path.display()
                );
            }
        }
        KeysCommand::List => {
            let file = KeyFile::read(path)?;
            if arguments.json {
                print_line(serde_json::to_string(&file.keys)?)?;
            } else {
                let limit =
                    |limit: Option<NonZeroU32>| limit.map_or("no limit".into(), |limit| limit.to_string());
                let mut table = Table::new();
                table.load_preset(ASCII_MARKDOWN);
                table.set_header(["key", "requests a minute", "at once", "SHA-256"]);
                for key in &file.keys {
                    table.add_row([
                        key.name.clone(),
                        limit(key.requests_per_minute),
                        limit(key.concurrency),
                        format!("{:.12}…", key.sha256.to_string()),
                    ]);
                }
                print_line(table)?;
            }
        }
        KeysCommand::Rm { name } => {
            let mut file = KeyFile::read(path)?;
            if !file.remove(name) {
                bail!(
                    "{}: no key is named {name:?}: `assize keys list` shows them",
                    path.display()
                );
            }
            write(path, &file)?;
            if arguments.json {
                print_line(serde_json::json!({"removed": name}))?;
            } else {
                print_line(format_args!("removed {name}"))?;
            }
        }
    }
    Ok(())
}

/// Replaces the file whole; it stays readable for its owner alone.
fn write(path: &Path, file: &KeyFile) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> std::io::Result<()> {
        let mut written = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        written.write_all(file.to_toml().as_bytes())?;
        written.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}
