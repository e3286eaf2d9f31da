//! Any bytes as a video, with the limits of the server.
#![no_main]

use assize_preprocess::image::{self, PixelScale, SoftTokenBudget};
use assize_preprocess::video::{self, VideoLimits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = VideoLimits::default();
    let budget = SoftTokenBudget::Tokens70;
    let sampled = video::sample_with(bytes, video::FRAMES, &limits, |frame| {
        let pixels = frame.width * frame.height;
        assert!(pixels > 0 && pixels as u64 <= limits.pixels);
        assert_eq!(frame.rgb.len(), 3 * pixels);
        let [width, height] = [frame.width, frame.height].map(|side| side as u32);
        let patches = image::patches_from_rgb(&frame.rgb, width, height, budget, PixelScale::Video);
        let count = patches.expect("a decoded frame has patches").len();
        assert!(count > 0 && count <= budget.tokens() as usize);
    });
    let video = match sampled {
        Ok(video) => video,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (count, total) = (video.frames.len(), video.total_frames);
    assert!(total > 0 && total <= limits.frames && count == total.min(video::FRAMES.get()));
    for (place, frame) in video.frames.iter().enumerate() {
        assert_eq!(frame.index, place * total / count);
    }
    let rate = video.frame_rate.per_second();
    assert!(rate.is_finite() && rate > 0.0);
    assert_eq!(video.time_texts().count(), count);
});
