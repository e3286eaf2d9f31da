//! The command line.

mod bench;
mod bounded_file;
mod calibrate;
mod compare;
mod datasets;
mod decide;
mod engine;
mod engine_choice;
mod eval;
mod figures;
mod head;
mod keys;
mod logging;
mod media_files;
mod model;
mod output;
mod output_files;
mod row_arguments;
mod rows_failed;
mod serve;
mod served_model;
mod standard_output;
mod state_text;
mod verify;
mod whole_number;

use clap::{Parser, Subcommand};

pub use output::{OutputError, print_help};
pub use rows_failed::RowsFailed;

/// A decision server: closed questions about a state, answered in one forward pass with probabilities.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve decisions over HTTP
    Serve(Box<serve::ServeArguments>),
    /// Decide once, without a server
    Decide(Box<decide::DecideArguments>),
    /// Measure the machine, the engine, HTTP and quality
    Bench(Box<bench::BenchArguments>),
    /// Judge a model on labelled rows: predictions, figures with intervals, a report
    Eval(Box<eval::EvalArguments>),
    /// Fit a calibration to predictions, with thresholds and prediction sets
    Calibrate(calibrate::CalibrateArguments),
    /// Compare two prediction files about the same rows
    Compare(compare::CompareArguments),
    /// Fit a head for one question to labelled rows, and show it
    Head(head::HeadArguments),
    /// Compare the whole way from media files to probabilities with a reference's values
    Verify(verify::VerifyArguments),
    /// Make, list and remove the keys of a server
    Keys(keys::KeysArguments),
    /// Fetch, list, inspect and remove models
    Model(model::ModelArguments),
    /// Fetch, list and show labelled public texts
    Datasets(datasets::DatasetsArguments),
    /// Fetch the shared library that the engine runs on
    Engine(engine::EngineArguments),
}

/// Runs the command line.
///
/// # Errors
/// What the command says.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Decide(arguments) => decide::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Eval(arguments) => eval::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Head(arguments) => head::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Keys(arguments) => keys::run(arguments),
        Command::Model(arguments) => model::run(arguments),
        Command::Datasets(arguments) => datasets::run(arguments),
        Command::Engine(arguments) => engine::run(arguments),
    }
}
