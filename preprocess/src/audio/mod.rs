//! Sound: from the bytes of a file to the frames that the model embeds.
//!
//! A sound is decoded, averaged to one channel, resampled to 16 kHz and cut into frames of 640 samples, one soft
//! token each, 25 a second. There is no spectrogram and no loudness step: the samples themselves, in [-1, 1], are the
//! model's input.

mod error;
mod frames;
mod kind;
mod libav_track;
mod limits;
mod mono;
mod mpeg_stream;
mod pure_rust;
mod resample;
mod wav_size;

use std::time::Duration;

pub use error::AudioError;
pub use frames::{AudioFrames, SAMPLES_PER_FRAME};
use kind::AudioKind;
pub use limits::AudioLimits;
use mono::Mono;

use crate::completeness::ogg_is_chained;

/// The sample rate of the model, in Hz.
pub const SAMPLE_RATE: u32 = 16_000;

/// A decoded sound: one channel at [`SAMPLE_RATE`].
#[derive(Debug, Clone, PartialEq)]
pub struct Waveform {
    samples: Vec<f32>,
    source: AudioSource,
    cut: Option<AudioCut>,
}

/// What the file held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioSource {
    /// Sample rate of the file, in Hz.
    pub sample_rate: u32,
    /// Channels of the file, at its start.
    pub channels: usize,
    /// Whether the file holds other sound tracks, which are not read.
    pub others: bool,
}

/// Says that a sound was longer than [`AudioLimits::length`], and that its rest was not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioCut {
    /// The length of the whole sound as the file declares it, if it does: nothing past the cut was decoded to check.
    pub full_length: Option<Duration>,
}

impl Waveform {
    /// The samples, one channel at [`SAMPLE_RATE`], nominally in [-1, 1].
    #[must_use]
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// What the file held.
    #[must_use]
    pub fn source(&self) -> AudioSource {
        self.source
    }

    /// Whether the end was cut off.
    #[must_use]
    pub fn cut(&self) -> Option<AudioCut> {
        self.cut
    }

    /// The length of what was kept.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.samples.len() as f64 / f64::from(SAMPLE_RATE))
    }

    /// The model's frames of this sound.
    #[must_use]
    pub fn into_frames(self) -> AudioFrames {
        AudioFrames::new(self)
    }
}

/// Decodes the bytes of a WAV, MP3, FLAC, Ogg (Vorbis or Opus), AAC, M4A, WebM, Matroska or AMR file to one channel
/// at 16 kHz, at most [`AudioLimits::length`] of it.
///
/// Integer samples are divided by 2^(bits - 1), channels are averaged. What an encoder added before and after the
/// sound is dropped where the file says so. A file at 16 kHz is not resampled.
///
/// # Errors
///
/// See [`AudioError`]. A damaged file is an error, never a part of the sound; only MP3 and ADTS AAC files that declare
/// no length can end early, between two frames, without anybody being able to tell.
pub fn decode(bytes: &[u8], limits: &AudioLimits) -> Result<Waveform, AudioError> {
    if bytes.len() > limits.bytes {
        return Err(AudioError::TooLarge {
            bytes: bytes.len(),
            limit: limits.bytes,
        });
    }
    if bytes.is_empty() {
        return Err(AudioError::Empty);
    }
    let kind = AudioKind::of(bytes).map_err(AudioError::UnsupportedKind)?;
    if matches!(kind, AudioKind::OggVorbis | AudioKind::OggOpus) && ogg_is_chained(bytes) {
        return Err(AudioError::SeveralSounds { kind: kind.name() });
    }
    let mut mono = Mono::new(limits);
    let full_length = match kind {
        // Plain WAV files of more than two channels are beyond symphonia.
        AudioKind::Wav => match pure_rust::decode(kind, bytes, &mut mono) {
            Err(AudioError::UnsupportedKind(_) | AudioError::Damaged { .. })
                if mono.len() == 0 && wav_size::settle(&mut bytes.to_vec()).is_ok() =>
            {
                libav_track::decode(kind, bytes, limits, &mut mono)?
            }
            result => result?,
        },
        AudioKind::Mp3 | AudioKind::Flac | AudioKind::OggVorbis | AudioKind::Adts => {
            pure_rust::decode(kind, bytes, &mut mono)?
        }
        AudioKind::OggOpus | AudioKind::Mp4 | AudioKind::Matroska | AudioKind::Amr => {
            libav_track::decode(kind, bytes, limits, &mut mono)?
        }
    };
    let others = mono.others;
    let (samples, source) = mono.finish()?;
    let mut samples = resample::to_16_khz(samples, source.rate).map_err(|reason| AudioError::Damaged {
        kind: kind.name(),
        reason,
    })?;
    let most = (limits.length.as_secs_f64() * f64::from(SAMPLE_RATE)) as usize;
    let cut = (samples.len() > most).then_some(AudioCut { full_length });
    samples.truncate(most);
    if samples.is_empty() {
        return Err(AudioError::Empty);
    }
    Ok(Waveform {
        samples,
        source: AudioSource {
            sample_rate: source.rate,
            channels: source.channels,
            others,
        },
        cut,
    })
}
