//! The `assize` binary.
// A result that is not written must be an error, which these make a panic or lose.
#![deny(clippy::print_stdout)]

mod cli;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ContextKind;

/// The exit code where all went well but for some rows; 1 is any other failure, 2 a wrong command line.
const SOME_ROWS_FAILED: u8 = 3;

fn main() -> ExitCode {
    let done = match cli::Arguments::try_parse() {
        Ok(arguments) => cli::run(&arguments),
        Err(mut error) if error.use_stderr() => {
            // clap's usage line there shows every flag that the environment sets as if it were required.
            error.remove(ContextKind::Usage);
            error.exit()
        }
        Err(help) => cli::print_help(&help).map_err(anyhow::Error::from),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_not_read(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = if error.is::<cli::RowsFailed>() {
                SOME_ROWS_FAILED
            } else {
                1
            };
            // That stderr is closed as well is nobody's concern.
            let _ = std::io::stderr().write_fmt(format_args!("error: {}\n", chain(&error)));
            ExitCode::from(code)
        }
    }
}

/// The whole chain of causes on one line. Some errors tell their cause themselves; it is not told twice.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
    }
    text
}

/// `assize ... | head` ends when `head` does, without a word.
fn is_not_read(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(cli::OutputError::NotRead))
}
