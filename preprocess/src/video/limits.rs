//! What one video may cost.

use std::time::Duration;

use crate::Until;

/// Limits on one video.
#[derive(Debug, Clone)]
pub struct VideoLimits {
    /// The most bytes that a file may have.
    pub bytes: usize,
    /// The most pixels that one frame may have.
    pub pixels: u64,
    /// The most frames that a video may have.
    pub frames: usize,
    /// The time that decoding may take.
    pub time: Duration,
    /// Until when anybody waits.
    pub until: Until,
}

impl Default for VideoLimits {
    fn default() -> Self {
        Self {
            bytes: 512 << 20,
            // 4K of every kind. A decoder holds up to twenty frames; at 8192 x 4320 those took 460 MB.
            pixels: 4096 * 2304,
            // Three hours at 60 frames a second.
            frames: 648_000,
            time: Duration::from_secs(30),
            until: Until::default(),
        }
    }
}
