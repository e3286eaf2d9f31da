//! The `assize` binary.

mod cli;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    cli::run(&cli::Arguments::parse())
}
