//! What the reference must be told of a video: which frames, and how large they are.

use assize_preprocess::video::{self, VideoLimits};

use super::super::BenchError;
use crate::service::MediumError;

/// The frames that are taken of a video.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VideoShape {
    /// Indices of the frames, from 0.
    pub indices: Vec<usize>,
    /// Frames a second.
    pub rate: f64,
    /// Pixels of a row, as shown.
    pub width: usize,
    /// Rows, as shown.
    pub height: usize,
}

impl VideoShape {
    /// Reads the shape of a video; not timed, so that the reference need not find it out.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, BenchError> {
        let limits = VideoLimits::default();
        let sizes = |frame: video::RgbFrame| (frame.width, frame.height);
        let found = video::sample_with(bytes, video::FRAMES, &limits, sizes).map_err(MediumError::from)?;
        let (width, height) = found.frames.first().map_or((0, 0), |frame| frame.picture);
        Ok(Self {
            indices: found.frames.iter().map(|frame| frame.index).collect(),
            rate: found.frame_rate.per_second(),
            width,
            height,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frames_of_a_video_are_those_of_the_index_rule() {
        let bytes = std::fs::read("tests/media/nine_frames.mp4").unwrap();
        let found = VideoShape::of(&bytes).unwrap();
        assert_eq!(found.indices, (0..9).collect::<Vec<_>>());
        assert!(found.width > 0 && found.height > 0 && found.rate > 0.0);
        assert!(VideoShape::of(b"no video").is_err());
    }
}
