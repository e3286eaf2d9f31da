//! Why one of FFmpeg's libraries did not go on.

use std::ffi::{CStr, c_char};

use ffmpeg_next::ffi::{AVERROR_EXIT, av_strerror};

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
            reason: text(code),
        }
    }
}

/// FFmpeg's text for one of its error codes.
fn text(code: i32) -> String {
    let mut buffer: [c_char; 128] = [0; 128];
    // SAFETY: the buffer has the size that is passed, and the call ends it with a zero.
    unsafe {
        av_strerror(code, buffer.as_mut_ptr(), buffer.len());
        CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned()
    }
}
