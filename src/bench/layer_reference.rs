//! One decoder layer in transformers: a Python process that lives as long as the measurement.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use assize_models::TokenId;

use super::{BenchError, Runner};

/// What the process runs.
const SCRIPT: &str = include_str!("../../benches/layer_reference.py");

/// The process, ended when this is dropped.
pub(super) struct LayerReference {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    version: String,
    rows: usize,
}

fn failed(reason: impl std::fmt::Display) -> BenchError {
    BenchError::Peer {
        what: "Python".into(),
        reason: reason.to_string(),
    }
}

impl LayerReference {
    /// Loads the layer with number `layer` of the checkpoint in `folder` in bf16.
    ///
    /// # Errors
    /// There is no such Python, or it lacks transformers or torch; what it says is on standard error.
    pub(super) fn start(
        python: &Path,
        folder: &Path,
        layer: usize,
        threads: usize,
    ) -> Result<Self, BenchError> {
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(folder)
            .args([layer.to_string(), "bfloat16".into(), threads.to_string()])
            // A library path meant for the engine torch would give Python another libtorch than its own.
            .env_remove("LD_LIBRARY_PATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", python.display())))?;
        let (Some(to), Some(from)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed("no pipe to it"));
        };
        let mut reference = Self {
            process,
            to,
            from: BufReader::new(from),
            version: String::new(),
            rows: 0,
        };
        reference.version = reference.line()?;
        Ok(reference)
    }

    /// Versions of transformers and torch.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    fn line(&mut self) -> Result<String, BenchError> {
        let mut line = String::new();
        match self.from.read_line(&mut line).map_err(failed)? {
            0 => Err(failed(
                "it ended; what it says above is why. It needs `pip install transformers==5.24.0 torch`",
            )),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Runner for LayerReference {
    fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
        self.rows = tokens.len();
        Ok(())
    }

    fn run(&mut self) -> Result<(), BenchError> {
        writeln!(self.to, "{}", self.rows).map_err(failed)?;
        self.to.flush().map_err(failed)?;
        self.line()?;
        Ok(())
    }
}

impl Drop for LayerReference {
    fn drop(&mut self) {
        // Where it is gone already there is nothing to end.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
