//! Why one of FFmpeg's libraries did not go on.

use ffmpeg_next::ffi::AVERROR_EXIT;

/// An error of FFmpeg's libraries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LibavError {
    /// The time is up.
    #[error("out of time")]
    OutOfTime,
    /// This build of FFmpeg lacks something.
    #[error("this FFmpeg has no {0}")]
    Missing(String),
    /// Anything else, in FFmpeg's own words.
    #[error("{step}: {reason}")]
    Failed {
        /// What was being done.
        step: &'static str,
        /// FFmpeg's text for its error code.
        reason: String,
    },
}

impl LibavError {
    pub(super) fn from_code(step: &'static str, code: i32) -> Self {
        if code == AVERROR_EXIT {
            return Self::OutOfTime;
        }
        Self::Failed {
            step,
            reason: ffmpeg_next::Error::from(code).to_string(),
        }
    }
}
