//! `assize engine`: fetch the shared library that the engine onnx runs on, and show what was chosen for this host.

use std::path::PathBuf;

use anyhow::Context;
use assize_models::store::Store;
use clap::{Args, Subcommand};

use super::output::print_line;

const EXAMPLES: &str = "Examples:
  assize engine pull                                    ONNX Runtime, by pip
  assize engine pull --from onnxruntime-1.32.0-cp312-cp312-manylinux_2_27_x86_64.whl
  assize engine show";

/// Arguments of `assize engine`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EngineArguments {
    /// Cache folder [default: `assize` in the user's cache folder]
    #[arg(long, global = true, value_name = "FOLDER", env = "ASSIZE_CACHE")]
    cache: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Debug, Subcommand)]
enum EngineCommand {
    /// Fetch the library into the cache
    #[command(
        after_help = "The package `onnxruntime` is fetched by `python3 -m pip download`, with pip's own settings, and \
        the one library inside is kept. $ORT_DYLIB_PATH names another library, which is then taken first."
    )]
    Pull {
        /// Take the library from this .whl file, or from the library's own file
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Show the library, the kernels and the threads that this host would use
    Show,
}

/// Runs `assize engine`.
///
/// # Errors
/// The fetch fails, or the library cannot be loaded.
pub fn run(arguments: &EngineArguments) -> anyhow::Result<()> {
    let store = Store::open(arguments.cache.as_deref())?;
    match &arguments.command {
        EngineCommand::Pull { from } => {
            let path = store.pull_library(from.as_deref())?;
            if arguments.json {
                print_line(format_args!("{}", serde_json::json!({ "library": path })))?;
            } else {
                print_line(format_args!("{}", path.display()))?;
            }
        }
        EngineCommand::Show => {
            let host =
                assize_models::engines::host(Some(&store.library_dir())).context("starting the engine")?;
            let torch = assize_models::engines::torch_host();
            if arguments.json {
                let mut shown = serde_json::to_value(&host)?;
                if let Some(fields) = shown.as_object_mut() {
                    fields.insert("torch".to_owned(), serde_json::to_value(&torch)?);
                }
                print_line(format_args!("{}", serde_json::to_string_pretty(&shown)?))?;
            } else {
                print_line(format_args!(
                    "engine    {} {}\nlibrary   {}\nkernels   {}\nthreads   {}\nprecision {} unless another is asked for",
                    host.name,
                    host.version,
                    host.library.display(),
                    host.kernels,
                    host.threads,
                    host.precision
                ))?;
                match torch {
                    Some(torch) => print_line(format_args!(
                        "\nengine    {} {}, with --engine torch\ndevices   {}\nkernels   {}\nthreads   {}\nprecision {} on {} unless \
                         another is asked for",
                        torch.name,
                        torch.version,
                        torch.devices.join(", "),
                        torch.kernels,
                        torch.threads,
                        torch.precision,
                        torch.device
                    ))?,
                    None => print_line(format_args!(
                        "\nengine    torch is not built in; the cargo feature `torch` adds it"
                    ))?,
                }
            }
        }
    }
    Ok(())
}
