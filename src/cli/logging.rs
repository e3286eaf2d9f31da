//! Logs go to stderr; stdout belongs to results.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Starts logging. `ASSIZE_LOG` filters (`debug`, `assize=debug,info`); `default` applies where it is not set.
///
/// # Errors
/// The filter is not valid.
pub fn start(format: LogFormat, default: &str) -> anyhow::Result<()> {
    let filter = match std::env::var("ASSIZE_LOG") {
        Ok(filter) => EnvFilter::try_new(&filter)
            .map_err(|error| anyhow::anyhow!("ASSIZE_LOG is {filter:?}: {error}"))?,
        Err(_) => EnvFilter::new(default),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match format {
        LogFormat::Text => subscriber
            .with_ansi(std::io::stderr().is_terminal())
            .compact()
            .init(),
        LogFormat::Json => subscriber.json().flatten_event(true).init(),
    }
    Ok(())
}
