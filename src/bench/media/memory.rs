//! What large media add to the memory of a process: each is read in a process of its own, which tells its peak.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::super::report::Record;
use super::super::{BenchError, memory_mib, peak_memory_mib};
use super::{MediaFiles, media_form, prepare, read};
use crate::service::MediumKind;

/// The memory of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaMemoryRecord {
    /// Always `media-memory`.
    pub test: String,
    /// What was read.
    pub what: String,
    /// Size of the file.
    pub file_bytes: u64,
    /// What became of it.
    pub outcome: String,
    /// Resident memory before the file was read, where the system tells.
    pub idle_mib: Option<f64>,
    /// Most resident memory until the end, the file's bytes included.
    pub peak_mib: Option<f64>,
    /// Their difference.
    pub added_mib: Option<f64>,
}

impl Record for MediaMemoryRecord {
    const COLUMNS: &'static [&'static str] = &[
        "what",
        "file_bytes",
        "outcome",
        "idle_mib",
        "peak_mib",
        "added_mib",
    ];
}

/// Reads a large picture, one that is too large, and a long video, each by `binary bench media --probe`.
///
/// # Errors
/// A file cannot be made, or a process fails.
pub fn media_memory(files: &MediaFiles, binary: &Path) -> Result<Vec<MediaMemoryRecord>, BenchError> {
    let cases = [
        (
            MediumKind::Image,
            "JPEG, 63 million pixels",
            files.large_picture()?,
        ),
        (
            MediumKind::Image,
            "JPEG, 101 million pixels",
            files.too_large_picture()?,
        ),
        (
            MediumKind::Video,
            "H.264, two hours of 320x240",
            files.long_film()?,
        ),
    ];
    let read = |(kind, what, path): (MediumKind, &str, std::path::PathBuf)| {
        let output = Command::new(binary)
            .args(["bench", "media", "--json", "--probe", kind.name()])
            .arg(format!("--{}", kind.name()))
            .arg(&path)
            .output()
            .map_err(|source| BenchError::Io {
                path: binary.to_owned(),
                source,
            })?;
        let failed = |reason: String| BenchError::Tool {
            tool: format!("reading {}", path.display()),
            reason,
        };
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let found: Vec<MediaMemoryRecord> =
            serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
        let found = found.into_iter().next();
        let found = found.ok_or_else(|| failed("it told nothing".into()))?;
        Ok(MediaMemoryRecord {
            what: what.to_owned(),
            ..found
        })
    };
    cases.into_iter().map(read).collect()
}

/// Reads one file in this process, which must have done nothing large before.
///
/// # Errors
/// The file cannot be read; one that the limits refuse is an outcome, not an error.
pub fn media_memory_probe(kind: MediumKind, path: &Path) -> Result<MediaMemoryRecord, BenchError> {
    let form = media_form()?;
    let idle_mib = memory_mib();
    let raw = read(kind, path)?;
    let outcome = match prepare(&form, &raw) {
        Ok(prepared) => format!("{} soft tokens", prepared.soft_tokens(kind)),
        Err(BenchError::Medium(error)) => format!("refused: {error}"),
        Err(other) => return Err(other),
    };
    let peak_mib = peak_memory_mib();
    Ok(MediaMemoryRecord {
        test: "media-memory".into(),
        what: path.display().to_string(),
        file_bytes: raw.bytes.len() as u64,
        outcome,
        idle_mib,
        peak_mib,
        added_mib: peak_mib.zip(idle_mib).map(|(peak, idle)| peak - idle),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_tells_what_became_of_a_file() {
        let found = media_memory_probe(MediumKind::Audio, Path::new("tests/media/chirp.mp3")).unwrap();
        assert!(found.outcome.ends_with("soft tokens"), "{}", found.outcome);
        let found = media_memory_probe(MediumKind::Image, Path::new("tests/media/make.sh")).unwrap();
        assert!(found.outcome.starts_with("refused: "), "{}", found.outcome);
        assert!(media_memory_probe(MediumKind::Image, Path::new("/nonexistent")).is_err());
    }
}
