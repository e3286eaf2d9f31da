//! The decoded samples of a sound, averaged to one channel as they arrive.

use super::{AudioError, AudioLimits, resample};
use crate::Until;

/// Largest sample that is taken: 32-bit integers that were written as floats without being scaled still pass. The squares
/// of much larger ones would overflow in the model, which would then hear silence.
const LOUDEST: f32 = 4.3e9;

/// Whether a decoder should go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// More samples are wanted.
    More,
    /// There are enough for the limit; what follows is not decoded.
    Enough,
}

/// Collects samples at the rate of the file. Decoders push into it.
#[derive(Debug)]
pub(super) struct Mono {
    limits: AudioLimits,
    until: Until,
    /// Set by the first samples.
    source: Option<Source>,
    samples: Vec<f32>,
    /// Whether the file holds other sound tracks.
    pub(super) others: bool,
}

/// What the first samples say of the whole sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) rate: u32,
    pub(super) channels: usize,
}

impl Mono {
    pub(super) fn new(limits: &AudioLimits) -> Self {
        Self {
            limits: limits.clone(),
            until: limits.until.within(limits.time),
            source: None,
            samples: Vec::new(),
            others: false,
        }
    }

    /// When decoding must be done.
    pub(super) fn until(&self) -> Until {
        self.until.clone()
    }

    /// Samples of one channel so far, at the rate of the file.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Adds interleaved samples in [-1, 1]: their mean over the channels, as the reference's `mean(axis)` in float32.
    ///
    /// # Errors
    ///
    /// A sample that is not finite, a rate that is out of range or changes, no channels, or no time left.
    pub(super) fn push(
        &mut self,
        kind: &'static str,
        rate: u32,
        channels: usize,
        interleaved: &[f32],
    ) -> Result<Next, AudioError> {
        if self.until.is_over() {
            return Err(AudioError::OutOfTime {
                limit: self.limits.time,
            });
        }
        if channels == 0 {
            return Err(AudioError::NoAudioStream { kind });
        }
        if !resample::RATES.contains(&rate) {
            return Err(AudioError::SampleRate { rate });
        }
        let source = *self.source.get_or_insert(Source { rate, channels });
        if source.rate != rate {
            return Err(AudioError::Damaged {
                kind,
                reason: format!("the sample rate changes from {} to {rate} Hz", source.rate),
            });
        }
        let count = channels as f32;
        self.samples.reserve(interleaved.len() / channels);
        for frame in interleaved.chunks_exact(channels) {
            // Neither an infinite sample nor one that is no number lies within.
            let within = |s: &f32| s.abs() <= LOUDEST;
            if let Some(channel) = frame.iter().position(|s| !within(s)) {
                let (sample, value) = (self.samples.len(), frame[channel]);
                return Err(if value.is_finite() {
                    AudioError::TooLoud {
                        sample,
                        channel,
                        value,
                    }
                } else {
                    AudioError::NotFinite {
                        sample,
                        channel,
                        value,
                    }
                });
            }
            self.samples.push(frame.iter().sum::<f32>() / count);
        }
        Ok(
            if self.samples.len() > resample::source_samples(rate, self.limits.length) {
                Next::Enough
            } else {
                Next::More
            },
        )
    }

    /// Drops what an encoder put before and after the sound.
    pub(super) fn trim(&mut self, start: usize, end: usize) {
        self.samples.truncate(self.samples.len().saturating_sub(end));
        self.samples.drain(..start.min(self.samples.len()));
    }

    /// The samples and where they came from.
    ///
    /// # Errors
    ///
    /// [`AudioError::Empty`] if there are none.
    pub(super) fn finish(self) -> Result<(Vec<f32>, Source), AudioError> {
        match self.source {
            Some(source) if !self.samples.is_empty() => Ok((self.samples, source)),
            _ => Err(AudioError::Empty),
        }
    }
}
