//! The frames are the right ones, to the byte, whichever way they are reached.

use std::process::Command;

use proptest::prelude::*;

use std::time::{Duration, Instant};

use super::*;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/media");

/// Every video, its true number of frames, and whether key frames make it shorter to decode.
const VIDEOS: [(&str, usize, bool); 23] = [
    ("h264.mp4", 100, true),
    ("h264_with_sound.mov", 75, true),
    ("h264_open_gop.mkv", 75, false),
    ("h264_intra_refresh.mp4", 50, true),
    ("h264_interlaced.mp4", 50, false),
    ("h264_422_10bit.mp4", 50, true),
    ("h264.avi", 50, false),
    ("hevc_open_gop.mp4", 50, true),
    ("vp8_alt_ref.webm", 50, true),
    ("vp9.webm", 50, true),
    ("no_cues.webm", 50, true),
    ("av1.mp4", 50, true),
    ("mpeg4_b_frames.avi", 25, false),
    ("mjpeg.avi", 10, true),
    ("nine_frames.mp4", 9, true),
    ("odd_size.mp4", 50, true),
    ("full_range_bt709.mp4", 50, true),
    ("variable_rate.mkv", 35, true),
    ("rotated_90.mp4", 27, true),
    ("rotated_180.mp4", 27, true),
    ("rotated_270.mp4", 27, true),
    ("edit_list.mp4", 52, true),
    ("fragmented.mp4", 52, true),
];

fn media(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
}

fn by(bytes: &[u8], count: usize, way: Way) -> Result<VideoFrames<RgbFrame>, VideoError> {
    let count = NonZeroUsize::new(count).unwrap();
    sample_by(bytes, count, &VideoLimits::default(), way, &mut |frame| frame)
}

/// All frames as FFmpeg's command gives them; `None` where there is no command.
fn command(name: &str) -> Option<Vec<u8>> {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-i", &format!("{FOLDER}/{name}")])
        .args([
            "-map",
            "0:v",
            "-vsync",
            "passthrough",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-",
        ])
        .output()
        .ok()?;
    assert!(output.status.success(), "{name}");
    Some(output.stdout)
}

#[test]
fn both_ways_give_the_same_frames_and_ffmpegs_bytes() {
    for (name, total, _) in VIDEOS {
        let bytes = media(name);
        let reference = command(name);
        for count in [1, 3, 16, 1_000] {
            let everything = by(&bytes, count, Way::Everything).unwrap();
            let shortest = by(&bytes, count, Way::Shortest).unwrap();
            assert_eq!(shortest, everything, "{name}, {count} frames");
            assert_eq!(shortest.total_frames, total, "{name}");
            assert_eq!(shortest.frames.len(), count.min(shortest.total_frames), "{name}");
            for (place, frame) in shortest.frames.iter().enumerate() {
                let picture = &frame.picture;
                assert_eq!(picture.rgb.len(), picture.width * picture.height * 3);
                assert_eq!(frame.index, place * shortest.total_frames / shortest.frames.len());
                if let Some(reference) = &reference {
                    let size = picture.rgb.len();
                    assert_eq!(reference.len(), size * shortest.total_frames, "{name}");
                    let expected = &reference[frame.index * size..(frame.index + 1) * size];
                    assert!(picture.rgb == expected, "{name}, frame {}", frame.index);
                }
            }
        }
    }
    if command("h264.mp4").is_none() {
        eprintln!("not compared with the ffmpeg command: there is none");
    }
}

#[test]
fn the_short_way_is_taken_where_it_can_be() {
    for (name, _, short) in VIDEOS {
        let bytes = media(name);
        let limits = VideoLimits::default();
        let kind = VideoKind::of(&bytes).unwrap();
        let mut track = VideoTrack::open(&bytes, kind, &limits, crate::Until::default()).unwrap();
        let table = PacketTable::scan(&mut track).unwrap();
        let taken = table.shown.as_ref().is_some_and(|shown| {
            let count = shown.len().min(16);
            let frames = seek::sample(&mut track, &table, shown, count, &mut |_| ()).unwrap();
            frames.is_some()
        });
        assert_eq!(taken, short, "{name}");
    }
}

#[test]
fn rates_times_and_sound_are_told() {
    let video = by(&media("h264_with_sound.mov"), 16, Way::Shortest).unwrap();
    assert!(video.ignored_sound);
    assert!((video.frame_rate.per_second() - 25.0).abs() < 1e-9);
    let texts: Vec<String> = video.time_texts().collect();
    assert_eq!(texts[0], "00:00");
    assert_eq!(texts[15], "00:02");
    assert!(!by(&media("h264.mp4"), 16, Way::Shortest).unwrap().ignored_sound);

    // 25 frames at 25 a second, then 10 at 5 a second.
    let video = by(&media("variable_rate.mkv"), 35, Way::Shortest).unwrap();
    let seconds: Vec<f64> = video.frames.iter().map(|f| f.time.seconds()).collect();
    assert!((seconds[24] - 0.96).abs() < 0.002, "{seconds:?}");
    assert!((seconds[25] - 1.0).abs() < 0.002, "{seconds:?}");
    assert!((seconds[34] - 2.8).abs() < 0.002, "{seconds:?}");
    assert!((video.frame_rate.per_second() - 34.0 / 2.8).abs() < 0.05);
}

#[test]
fn rotation_changes_width_and_height() {
    let size = |name| {
        let video = by(&media(name), 1, Way::Shortest).unwrap();
        (video.frames[0].picture.width, video.frames[0].picture.height)
    };
    assert_eq!(size("h264.mp4"), (128, 72));
    assert_eq!(size("rotated_90.mp4"), (72, 128));
    assert_eq!(size("rotated_180.mp4"), (128, 72));
    assert_eq!(size("rotated_270.mp4"), (72, 128));
}

#[test]
fn a_lying_length_does_not_matter() {
    let mut bytes = media("h264.mp4");
    // The durations in mvhd, tkhd and mdhd become ten times as long.
    for (name, offset) in [(b"mvhd", 20), (b"tkhd", 24), (b"mdhd", 20)] {
        let at = bytes.windows(4).position(|w| w == name).unwrap() + offset;
        let duration = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        bytes[at..at + 4].copy_from_slice(&(duration * 10).to_be_bytes());
    }
    let lying = by(&bytes, 16, Way::Shortest).unwrap();
    let honest = by(&media("h264.mp4"), 16, Way::Shortest).unwrap();
    assert_eq!(lying.frames, honest.frames);
    assert!(
        (lying.frame_rate.per_second() - 25.0).abs() < 0.3,
        "{:?}",
        lying.frame_rate
    );
}

#[test]
fn a_broken_index_leads_to_the_right_frames() {
    let mut bytes = media("vp9.webm");
    // The cluster positions in the cues (element F1) all point to the wrong place.
    let cues = bytes
        .windows(4)
        .rposition(|w| w == [0x1c, 0x53, 0xbb, 0x6b])
        .unwrap();
    let mut changed = 0;
    for at in cues..bytes.len() - 3 {
        if bytes[at] == 0xf1 && (0x81..=0x84).contains(&bytes[at + 1]) {
            bytes[at + 2] ^= 0x15;
            changed += 1;
        }
    }
    assert!(changed > 0);
    let broken = by(&bytes, 16, Way::Shortest).unwrap();
    assert_eq!(broken, by(&media("vp9.webm"), 16, Way::Everything).unwrap());
}

#[test]
fn a_cut_off_file_is_an_error() {
    for name in [
        "h264.mp4",
        "h264_open_gop.mkv",
        "vp9.webm",
        "mjpeg.avi",
        "av1.mp4",
    ] {
        let whole = media(name);
        for keep in [0.02, 0.3, 0.6, 0.9, 0.999] {
            let part = &whole[..(whole.len() as f64 * keep) as usize];
            for way in [Way::Shortest, Way::Everything] {
                assert!(by(part, 16, way).is_err(), "{name} cut at {keep}");
            }
        }
    }
}

#[test]
fn limits_and_foreign_files_are_told_apart() {
    let bytes = media("h264.mp4");
    let with = |limits| sample(&bytes, FRAMES, &limits).unwrap_err();
    let limits = VideoLimits::default;
    let too_large = |e| matches!(e, VideoError::TooLarge { what, .. } if what == "frames");
    assert!(too_large(with(VideoLimits {
        frames: 99,
        ..limits()
    })));
    assert!(matches!(
        with(VideoLimits {
            bytes: 1_000,
            ..limits()
        }),
        VideoError::TooLarge {
            what: "bytes",
            limit: 1_000,
            ..
        }
    ));
    assert!(matches!(
        with(VideoLimits {
            pixels: 128 * 72 - 1,
            ..limits()
        }),
        VideoError::TooLarge {
            what: "pixels a frame",
            value: 9_216,
            ..
        }
    ));
    assert_eq!(
        with(VideoLimits {
            time: Duration::ZERO,
            ..limits()
        }),
        VideoError::OutOfTime {
            limit: Duration::ZERO
        }
    );
    assert!(
        sample(
            &bytes,
            FRAMES,
            &VideoLimits {
                frames: 100,
                ..limits()
            }
        )
        .is_ok()
    );
    for sound in ["chirp.m4a", "cover_art.m4a", "chirp_opus.webm"] {
        let error = sample(&media(sound), FRAMES, &limits()).unwrap_err();
        assert!(
            matches!(error, VideoError::NoVideoStream { .. }),
            "{sound}: {error}"
        );
    }
    for foreign in [
        &b"#EXTM3U\nhttp://"[..],
        b"ffconcat version 1.0\nfile x",
        b"\x89PNG\r\n\x1a\n",
    ] {
        assert!(matches!(
            sample(foreign, FRAMES, &limits()),
            Err(VideoError::UnsupportedKind(_))
        ));
    }
}

#[test]
fn indices_follow_the_rule() {
    let indices: Vec<usize> = (0..16).map(|i| sampled_index(i, 20, 16)).collect();
    assert_eq!(indices, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18]);
    assert_eq!(
        sampled_index(15, usize::MAX, 16),
        (usize::MAX as u128 * 15 / 16) as usize
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn damaged_bytes_never_panic_or_hang(
        name in prop::sample::select(VIDEOS.map(|v| v.0).to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ends in any::<bool>(),
    ) {
        let mut bytes = media(name);
        let length = bytes.len();
        for (at, value) in changes {
            // Headers stand at the start, or at the end.
            let at = if ends { length - 1 - at.index(3_000.min(length)) } else { at.index(length) };
            bytes[at] = value;
        }
        let start = Instant::now();
        if let Ok(video) = by(&bytes, 16, Way::Shortest) {
            prop_assert_eq!(video.frames.len(), video.total_frames.min(16));
        }
        prop_assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn damage_that_the_decoder_sees_is_no_picture() {
    // Twelve bytes in the middle of the data; how many of twenty places the decoder can tell depends on the coding.
    for (name, least) in [
        ("mjpeg.avi", 10),
        ("h264.mp4", 3),
        ("av1.mp4", 8),
        ("mpeg4_b_frames.avi", 15),
    ] {
        let whole = media(name);
        let refused = (1..=20).filter(|place| {
            let mut bytes = whole.clone();
            let at = whole.len() / 8 + place * whole.len() / 32;
            for byte in &mut bytes[at..at + 12] {
                *byte ^= 0xa5;
            }
            by(&bytes, 100, Way::Everything).is_err()
        });
        let refused = refused.count();
        assert!(refused >= least, "{name}: {refused} of 20");
        println!("{name}: {refused} of 20");
    }
}
