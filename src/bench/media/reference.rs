//! The reference pipeline: one Python process that reads requests line by line and answers with its own times.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use assize_preprocess::prompt::MediaForm;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::BenchError;
use super::shape::VideoShape;
use crate::service::{MediumKind, RawMedium};

const SCRIPT: &str = include_str!("../../../benches/media_reference.py");
const REMEDY: &str = "install the reference into a virtual environment (python3 -m venv venv; venv/bin/pip install \
                      transformers==5.24.0 torch torchvision pillow numpy) and name it with --python venv/bin/python, \
                      or measure without it: --no-reference";

/// One way in which the reference takes a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// PIL, then the image processor.
    Image,
    /// The `ffmpeg` command, then the feature extractor.
    Audio,
    /// One `ffmpeg` command that decodes the whole video and keeps some frames, then the image processor.
    VideoWhole,
    /// One `ffmpeg` command for each frame, which starts at the key frame before it, then the image processor.
    VideoSeek,
}

impl Work {
    /// Every way for a kind of medium.
    pub(super) fn all(kind: MediumKind) -> &'static [Self] {
        match kind {
            MediumKind::Image => &[Self::Image],
            MediumKind::Audio => &[Self::Audio],
            MediumKind::Video => &[Self::VideoWhole, Self::VideoSeek],
        }
    }

    /// What it is, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Image => "PIL, processor",
            Self::Audio => "ffmpeg, feature extractor",
            Self::VideoWhole => "one ffmpeg, processor",
            Self::VideoSeek => "an ffmpeg a frame, processor",
        }
    }

    /// The request for one file, which gives what `form` gives.
    pub(super) fn request(
        self,
        form: &MediaForm,
        path: &Path,
        raw: &RawMedium,
    ) -> Result<String, BenchError> {
        let path = std::path::absolute(path).map_err(|source| BenchError::Io {
            path: path.to_owned(),
            source,
        })?;
        let request: Value = match self {
            Self::Image => json!({
                "kind": "image",
                "path": path,
                "soft_tokens": form.image.as_ref().map(|image| image.soft_tokens),
            }),
            Self::Audio => json!({
                "kind": "audio",
                "path": path,
                "seconds": form.audio.as_ref().map(|audio| audio.seconds),
            }),
            Self::VideoWhole | Self::VideoSeek => {
                let shape = VideoShape::of(&raw.bytes)?;
                json!({
                    "kind": "video",
                    "path": path,
                    "soft_tokens": form.video.as_ref().map(|video| video.soft_tokens),
                    "indices": shape.indices,
                    "rate": shape.rate,
                    "width": shape.width,
                    "height": shape.height,
                    "seek": self == Self::VideoSeek,
                })
            }
        };
        Ok(request.to_string())
    }
}

/// What the reference says of one request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Reply {
    /// Its time from the file to the array.
    pub ns: u64,
    /// Soft tokens and numbers of each.
    pub shape: Vec<usize>,
    /// Of all float32 values, little-endian, row by row.
    pub sha256: String,
    /// Mean of their squares.
    pub mean_square: f64,
}

/// The running reference.
pub(super) struct Reference {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    python: PathBuf,
    versions: BTreeMap<String, String>,
}

impl Reference {
    /// Starts it and waits until its packages are loaded.
    ///
    /// # Errors
    /// There is no such interpreter, or it lacks packages.
    pub(super) fn start(python: &Path) -> Result<Self, BenchError> {
        let cannot = |reason: String| BenchError::Tool {
            tool: python.display().to_string(),
            reason: format!("{reason}; {REMEDY}"),
        };
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot("it has no standard input or output".into()));
        };
        let mut reference = Self {
            child,
            requests,
            answers: BufReader::new(answers),
            python: python.to_owned(),
            versions: BTreeMap::new(),
        };
        let line = reference.line()?;
        reference.versions = first_line(&line).map_err(cannot)?;
        Ok(reference)
    }

    /// Versions of Python and of its packages.
    pub(super) fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// Sends one request and waits for its answer.
    ///
    /// # Errors
    /// The reference failed or ended.
    pub(super) fn run(&mut self, request: &str) -> Result<Reply, BenchError> {
        let written = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        written.map_err(|error| self.error(error))?;
        let line = self.line()?;
        reply(&line).map_err(|reason| self.error(reason))
    }

    fn line(&mut self) -> Result<String, BenchError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(self.error(format!("it ended before it answered; {REMEDY}"))),
            Ok(_) => Ok(line),
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, reason: impl std::fmt::Display) -> BenchError {
        BenchError::Tool {
            tool: format!("the reference on {}", self.python.display()),
            reason: reason.to_string(),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The versions that the first line tells, or what is missing.
fn first_line(line: &str) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum First {
        Ready(BTreeMap<String, String>),
        Missing(Vec<String>),
    }
    match serde_json::from_str(line) {
        Ok(First::Ready(versions)) => Ok(versions),
        Ok(First::Missing(packages)) => Err(format!("it lacks {}", packages.join(", "))),
        Err(error) => Err(format!(
            "it began with {line:?}, which is no line of ours: {error}"
        )),
    }
}

fn reply(line: &str) -> Result<Reply, String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Failed { error: String },
        Done(Reply),
    }
    match serde_json::from_str(line) {
        Ok(Line::Done(reply)) if reply.ns > 0 && reply.mean_square.is_finite() => Ok(reply),
        Ok(Line::Done(reply)) => Err(format!("it answered with {reply:?}, which no measurement gives")),
        Ok(Line::Failed { error }) => Err(error),
        Err(error) => Err(format!("it answered {line:?}, which is no answer: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::media_form;
    use super::*;

    #[test]
    fn the_first_line_tells_versions_or_what_is_missing() {
        let found = first_line(r#"{"ready": {"torch": "2.15.0"}}"#).unwrap();
        assert_eq!(found["torch"], "2.15.0");
        let missing = first_line(r#"{"missing": ["torch", "pillow"]}"#).unwrap_err();
        assert_eq!(missing, "it lacks torch, pillow");
        assert!(first_line("Welcome!\n").unwrap_err().contains("Welcome"));
    }

    #[test]
    fn replies_are_parsed_and_failures_told() {
        let found = reply(r#"{"ns": 5, "shape": [264, 6912], "sha256": "ab", "mean_square": 0.5}"#).unwrap();
        assert_eq!((found.ns, found.shape), (5, vec![264, 6912]));
        assert_eq!(reply(r#"{"error": "OSError: x"}"#).unwrap_err(), "OSError: x");
        for broken in [
            "",
            "7",
            r#"{"ns": 5}"#,
            r#"{"ns": 0, "shape": [1, 1], "sha256": "", "mean_square": 0.5}"#,
            r#"{"ns": 5, "shape": [1, 1], "sha256": "", "mean_square": NaN}"#,
        ] {
            assert!(reply(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_interpreter_that_is_missing_or_silent_is_an_error_with_the_remedy() {
        for python in ["/nonexistent/python", "/bin/true"] {
            let found = Reference::start(Path::new(python)).err();
            let message = found.map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains("pip install transformers==5.24.0"), "{message}");
        }
    }

    #[test]
    fn requests_name_the_budgets_of_the_form() {
        let form = media_form().unwrap();
        let path = Path::new("tests/media/nine_frames.mp4");
        let raw = RawMedium {
            kind: MediumKind::Video,
            bytes: std::fs::read(path).unwrap().into(),
        };
        let found: Value =
            serde_json::from_str(&Work::VideoSeek.request(&form, path, &raw).unwrap()).unwrap();
        assert_eq!(found["soft_tokens"], 280);
        assert_eq!(found["seek"], true);
        assert_eq!(found["indices"].as_array().unwrap().len(), 9);
        assert!(Path::new(found["path"].as_str().unwrap()).is_absolute());
        let found: Value = serde_json::from_str(&Work::Audio.request(&form, path, &raw).unwrap()).unwrap();
        assert_eq!(found["seconds"], 30);
    }
}
