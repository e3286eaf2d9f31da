//! When frames are shown: the rate of a video and the time of one frame.

use std::fmt;

/// Frames a second, averaged over the whole video.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct FrameRate(f64);

impl FrameRate {
    /// What the reference assumes of frames that come without a rate.
    pub const ASSUMED: Self = Self(24.0);

    /// A rate, if it is finite and positive.
    #[must_use]
    pub fn new(per_second: f64) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Self(per_second))
    }

    /// Frames a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.0
    }

    /// The time text of Gemma 4's own form of a video, "MM:SS": t = index / rate, minutes = trunc(t div 60), seconds = trunc(t mod 60).
    /// Minutes go past 59.
    #[must_use]
    pub fn time_text(self, index: usize) -> String {
        let seconds = index as f64 / self.0;
        format!("{:02}:{:02}", (seconds / 60.0) as u64, (seconds % 60.0) as u64)
    }
}

/// When a frame is shown: its own time stamp in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTime {
    /// The time stamp in units of the stream; can be negative.
    pub(super) ticks: i64,
    /// Seconds of one unit, as a fraction.
    pub(super) unit: (i32, i32),
}

impl FrameTime {
    /// Seconds from the start of the file.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.ticks as f64 * f64::from(self.unit.0) / f64::from(self.unit.1.max(1))
    }
}

impl fmt::Display for FrameTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_texts_are_truncated() {
        let rate = FrameRate::new(25.0).unwrap();
        assert_eq!(rate.time_text(0), "00:00");
        assert_eq!(rate.time_text(124), "00:04");
        assert_eq!(rate.time_text(25 * 60), "01:00");
        assert_eq!(rate.time_text(25 * 3_725 + 24), "62:05");
        assert_eq!(FrameRate::new(0.0), None);
        assert_eq!(FrameRate::new(f64::INFINITY), None);
    }
}
