//! What can be wrong with a video.

use std::time::Duration;

/// Why a video could not be sampled.
///
/// The variants fall into the four answers of an HTTP edge: unknown kind ([`Self::UnsupportedKind`]), too large
/// ([`Self::TooLarge`]), out of time ([`Self::OutOfTime`]), and damaged or unusable content (all others).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VideoError {
    /// The bytes, or the codec in them, are of no kind that is decoded here.
    #[error(
        "video: {0}; send MP4, MOV, WebM, MKV or AVI with H.264, H.265, VP8, VP9, AV1, MPEG-4 or Motion JPEG"
    )]
    UnsupportedKind(String),
    /// The file is over one of the limits.
    #[error("video: it has {value} {what} and the limit is {limit}: send a shorter or smaller one")]
    TooLarge {
        /// `bytes`, `pixels a frame` or `frames`.
        what: &'static str,
        /// How many it has; for frames, at least so many.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// Decoding took longer than the limit.
    #[error("video: decoding took longer than the limit of {limit:?}: send a shorter or smaller one")]
    OutOfTime {
        /// [`VideoLimits::time`](super::VideoLimits::time).
        limit: Duration,
    },
    /// The file breaks the rules of its own kind, or ends before its time.
    #[error("video: the {kind} file is damaged: {reason}; send it again, or convert it to MP4 with H.264")]
    Damaged {
        /// The kind of file.
        kind: &'static str,
        /// What the decoder said.
        reason: String,
    },
    /// The file is well formed and holds no moving pictures. Cover art is none.
    #[error("video: the {kind} file has no video track: send one that has")]
    NoVideoStream {
        /// The kind of file.
        kind: &'static str,
    },
    /// The video track has no frames.
    #[error("video: the video has no frames: send at least one")]
    Empty,
    /// The file asks for a turn that is no multiple of a right angle.
    #[error("video: the file asks to be shown turned by {degrees} degrees: turn it by 0, 90, 180 or 270")]
    Rotation {
        /// The angle, clockwise.
        degrees: i32,
    },
}
