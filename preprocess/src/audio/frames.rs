//! The model's frames of a sound.

use std::time::Duration;

use super::{AudioCut, AudioSource, Waveform};

/// Samples in one frame: 40 ms at 16 kHz. One frame is one soft token.
pub const SAMPLES_PER_FRAME: usize = 640;

/// A sound as the model takes it: frames of [`SAMPLES_PER_FRAME`] samples, the last one filled up with zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct AudioFrames {
    samples: Vec<f32>,
    duration: Duration,
    source: AudioSource,
    cut: Option<AudioCut>,
}

impl AudioFrames {
    pub(super) fn new(waveform: Waveform) -> Self {
        let duration = waveform.duration();
        let Waveform {
            mut samples,
            source,
            cut,
        } = waveform;
        samples.resize(samples.len().next_multiple_of(SAMPLES_PER_FRAME), 0.0);
        Self {
            samples,
            duration,
            source,
            cut,
        }
    }

    /// All frames one after the other: float32 [T, 640], T = [`Self::soft_tokens`].
    #[must_use]
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// As [`Self::samples`], given away.
    #[must_use]
    pub fn into_samples(self) -> Vec<f32> {
        self.samples
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.samples.chunks_exact(SAMPLES_PER_FRAME)
    }

    /// How many soft tokens the sound becomes: its frames, ceil(n / 640) of n samples.
    #[must_use]
    pub fn soft_tokens(&self) -> usize {
        self.samples.len() / SAMPLES_PER_FRAME
    }

    /// The length of what was kept, without the zeros at the end.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
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
}
