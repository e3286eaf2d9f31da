//! What can be wrong with a sound.

use std::time::Duration;

/// Why a sound could not be decoded.
///
/// The variants fall into the four answers of an HTTP edge: unknown kind ([`Self::UnsupportedKind`]), too large
/// ([`Self::TooLarge`]), out of time ([`Self::OutOfTime`]), and damaged or unusable content (all others).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AudioError {
    /// The bytes are of no kind that is decoded here.
    #[error("audio: {0}; send WAV, MP3, FLAC, Ogg (Vorbis or Opus), AAC, M4A, WebM or AMR")]
    UnsupportedKind(String),
    /// The file has more bytes than the limit.
    #[error(
        "audio: the file has {bytes} bytes and the limit is {limit}: send a shorter or a compressed sound"
    )]
    TooLarge {
        /// Size of the file.
        bytes: usize,
        /// [`AudioLimits::bytes`](super::AudioLimits::bytes).
        limit: usize,
    },
    /// Decoding took longer than the limit.
    #[error("audio: decoding took longer than the limit of {limit:?}: send a shorter or a simpler file")]
    OutOfTime {
        /// [`AudioLimits::time`](super::AudioLimits::time).
        limit: Duration,
    },
    /// The file breaks the rules of its own kind, or ends before its time.
    #[error("audio: the {kind} file is damaged: {reason}; send it again, or convert it to WAV")]
    Damaged {
        /// The kind of file.
        kind: &'static str,
        /// What the decoder said.
        reason: String,
    },
    /// Several recordings stand in one file, one behind the other.
    #[error(
        "audio: the {kind} file holds several recordings one behind the other (it is chained): send one in each file, or \
         join them, as `ffmpeg -i in.ogg out.wav` does"
    )]
    SeveralSounds {
        /// The kind of file.
        kind: &'static str,
    },
    /// The file is well formed and holds no sound track.
    #[error("audio: the {kind} file has no sound track: send one that has")]
    NoAudioStream {
        /// The kind of file.
        kind: &'static str,
    },
    /// The sound track has no samples.
    #[error("audio: there are no samples: send at least one")]
    Empty,
    /// A floating-point sample is not a number, or is infinite.
    #[error("audio: sample {sample} of channel {channel} is {value}: samples must be finite numbers")]
    NotFinite {
        /// Index of the sample in its channel, from 0, at the rate of the file.
        sample: usize,
        /// Index of the channel, from 0.
        channel: usize,
        /// The sample.
        value: f32,
    },
    /// A floating-point sample is beyond all measure.
    #[error("audio: sample {sample} of channel {channel} is {value}: scale the samples to -1 to 1")]
    TooLoud {
        /// Index of the sample in its channel, from 0, at the rate of the file.
        sample: usize,
        /// Index of the channel, from 0.
        channel: usize,
        /// The sample.
        value: f32,
    },
    /// The sample rate is outside of what is resampled.
    #[error("audio: the sample rate is {rate} Hz: use 1000 to 768000 Hz")]
    SampleRate {
        /// The rate that the file declares.
        rate: u32,
    },
}
