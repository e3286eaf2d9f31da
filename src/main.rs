//! The `assize` binary.
// A result that is not written must be an error, which these make a panic or lose.
#![deny(clippy::print_stdout)]

mod cli;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let done = match cli::Arguments::try_parse() {
        Ok(arguments) => cli::run(&arguments),
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => cli::print_help(&help).map_err(anyhow::Error::from),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_not_read(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // The whole chain on one line; that stderr is closed as well is nobody's concern.
            let _ = std::io::stderr().write_fmt(format_args!("error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

/// `assize ... | head` ends when `head` does, without a word.
fn is_not_read(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(cli::OutputError::NotRead))
}
