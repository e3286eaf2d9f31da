//! Results on standard output: whatever is not written there is an error.

use std::io::{ErrorKind, Write as _};

use super::standard_output::was_closed;

/// Why a result did not reach standard output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The process was started without one.
    #[error("standard output is closed: the result cannot be printed")]
    Closed,
    /// Whoever read it has read enough.
    #[error("standard output is no longer read")]
    NotRead,
    /// It takes no more.
    #[error("writing to standard output: {0}")]
    Write(std::io::Error),
}

impl From<std::io::Error> for OutputError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::NotRead,
            _ => Self::Write(error),
        }
    }
}

/// Writes `text` as it is.
pub fn print(text: &str) -> Result<(), OutputError> {
    if was_closed() {
        return Err(OutputError::Closed);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes `text` and ends the line.
pub fn print_line(text: impl std::fmt::Display) -> Result<(), OutputError> {
    print(&format!("{text}\n"))
}

/// Writes the help or the version, which clap holds as an error.
pub fn print_help(help: &clap::Error) -> Result<(), OutputError> {
    if was_closed() {
        return Err(OutputError::Closed);
    }
    help.print()?;
    Ok(std::io::stdout().flush()?)
}
