//! What one sound may cost.

use std::time::Duration;

use crate::Until;

/// Limits on one sound.
#[derive(Debug, Clone)]
pub struct AudioLimits {
    /// The most bytes that a file may have; a larger one is [`AudioError::TooLarge`](super::AudioError::TooLarge).
    pub bytes: usize,
    /// What is kept of a longer sound, from its start. The model was made for 30 s, 750 soft tokens.
    pub length: Duration,
    /// The time that decoding may take, after which it is [`AudioError::OutOfTime`](super::AudioError::OutOfTime).
    pub time: Duration,
    /// Until when anybody waits.
    pub until: Until,
}

impl Default for AudioLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            length: Duration::from_secs(30),
            time: Duration::from_secs(10),
            until: Until::default(),
        }
    }
}
