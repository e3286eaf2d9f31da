//! The command line.

mod bench;
mod datasets;
mod engine;
mod model;

use clap::{Parser, Subcommand};

/// A decision server.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the machine, the engine, HTTP and quality
    Bench(Box<bench::BenchArguments>),
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
        Command::Bench(arguments) => bench::run(arguments),
        Command::Model(arguments) => model::run(arguments),
        Command::Datasets(arguments) => datasets::run(arguments),
        Command::Engine(arguments) => engine::run(arguments),
    }
}
