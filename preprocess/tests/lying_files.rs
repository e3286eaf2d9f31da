//! Files whose header says what is not so: refused, or read as if it said nothing.

#![allow(clippy::unwrap_used)]

use assize_preprocess::audio::{self, AudioError, AudioLimits};
use assize_preprocess::video::{self, FRAMES, RgbFrame, VideoError, VideoFrames, VideoLimits};

fn media(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/media/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn frames(bytes: &[u8]) -> Result<VideoFrames<RgbFrame>, VideoError> {
    video::sample(bytes, FRAMES, &VideoLimits::default())
}

/// Where the body of the first box of a name starts.
fn inside(bytes: &[u8], name: &[u8]) -> usize {
    bytes.windows(name.len()).position(|w| w == name).unwrap() + name.len()
}

/// The number at `offset` in the first box of a name.
fn number(bytes: &[u8], name: &[u8], offset: usize) -> u32 {
    let at = inside(bytes, name) + offset;
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The bytes with another number there.
fn with(bytes: &[u8], name: &[u8], offset: usize, value: u32) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let at = inside(bytes, name) + offset;
    changed[at..at + 4].copy_from_slice(&value.to_be_bytes());
    changed
}

/// The bytes with a box that readers skip.
fn without(bytes: &[u8], name: &[u8]) -> Vec<u8> {
    let at = inside(bytes, name) - 4;
    let mut changed = bytes.to_vec();
    changed[at..at + 4].copy_from_slice(b"free");
    changed
}

const MP4: [&str; 5] = [
    "h264.mp4",
    "h264_with_sound.mov",
    "nine_frames.mp4",
    "av1.mp4",
    "edit_list.mp4",
];

/// Places of numbers in version 0 of their boxes: the box, the offset, and what is written there.
fn lies(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut lie = |name: &[u8], offset: usize, values: &[u32]| {
        for value in values {
            let said = format!("{} at {offset}: {value}", String::from_utf8_lossy(name));
            all.push((said, with(bytes, name, offset, *value)));
        }
    };
    let (film, scale) = (number(bytes, b"mvhd", 12), number(bytes, b"mdhd", 12));
    lie(
        b"mdhd",
        12,
        &[0, 1, 25, scale / 100, scale / 2, scale * 10, u32::MAX],
    );
    lie(b"mvhd", 12, &[film * 2, film * 10, u32::MAX]);
    lie(b"elst", 8, &[1, number(bytes, b"elst", 8) / 2]);
    let (count, each) = (number(bytes, b"stts", 8), number(bytes, b"stts", 12));
    lie(b"stts", 8, &[0, 1, count / 2, count - 1, count + 1, count * 2]);
    lie(
        b"stts",
        12,
        &[0, 1, 5, each / 4, each * 100, 0x7fff_ffff, u32::MAX],
    );
    let (samples, held) = (number(bytes, b"stsz", 8), number(bytes, b"stsc", 12));
    lie(b"stsz", 8, &[1, samples / 2, samples - 1]);
    lie(
        b"stsc",
        12,
        &[0, 1, held / 2].map(|n| if n == held { n + 1 } else { n }),
    );
    all
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    for name in MP4 {
        let honest = media(name);
        assert!(frames(&honest).is_ok(), "{name}");
        for (lie, bytes) in lies(&honest) {
            let got = frames(&bytes);
            assert!(
                matches!(got, Err(VideoError::Damaged { .. })),
                "{name}, {lie}: {:?}",
                got.map(|g| (g.frames.len(), g.total_frames))
            );
        }
        for table in [&b"mdhd"[..], b"stts", b"stsz"] {
            let error = frames(&without(&honest, table)).unwrap_err();
            assert!(matches!(error, VideoError::Damaged { .. }), "{name}: {error}");
        }
    }
    let honest = media("chirp.m4a");
    for (lie, bytes) in lies(&honest) {
        let got = audio::decode(&bytes, &AudioLimits::default());
        assert!(
            matches!(got, Err(AudioError::Damaged { .. })),
            "{lie}: {:?}",
            got.map(|g| g.duration())
        );
    }
}

#[test]
fn a_contradiction_is_named_with_its_numbers() {
    let honest = media("h264.mp4");
    let error = |bytes: &[u8]| frames(bytes).unwrap_err().to_string();
    let said = error(&with(&honest, b"mdhd", 12, 25));
    assert!(said.contains("leaves out 99 of 100 samples"), "{said}");
    assert!(said.contains("25 and 1000 units a second"), "{said}");
    assert!(said.contains("convert it to MP4"), "{said}");
    let said = error(&with(&honest, b"stts", 8, 7));
    assert!(
        said.contains("100 samples and durations (`stts`) for 7"),
        "{said}"
    );
    let said = error(&without(&honest, b"mdhd"));
    assert!(said.contains("no table `mdhd`"), "{said}");
}

/// Without an edit list nothing hangs on the times of samples: frames come in the order in which the decoder shows them.
#[test]
fn frames_are_chosen_by_their_order_whatever_their_times() {
    for name in ["h264.mp4", "nine_frames.mp4", "hevc_open_gop.mp4"] {
        let bytes = without(&media(name), b"edts");
        let honest = frames(&bytes).unwrap();
        let pictures = |video: &VideoFrames<RgbFrame>| -> Vec<(usize, RgbFrame)> {
            video
                .frames
                .iter()
                .map(|f| (f.index, f.picture.clone()))
                .collect()
        };
        let mut changed = 0;
        for entry in 1..8 {
            // The delay from decoding to showing; two samples change places, or one comes long before or after its time.
            let at = 8 + 8 * entry + 4;
            let (delay, next) = (number(&bytes, b"ctts", at), number(&bytes, b"ctts", at + 8));
            let swapped = with(&with(&bytes, b"ctts", at, next), b"ctts", at + 8, delay);
            let late = with(&bytes, b"ctts", at, delay + 5 * 512);
            for lying in [swapped, late, with(&bytes, b"ctts", at, 0)] {
                changed += u32::from(lying != bytes);
                match frames(&lying) {
                    Ok(got) => assert_eq!(pictures(&got), pictures(&honest), "{name}, entry {entry}"),
                    Err(error) => assert!(matches!(error, VideoError::Damaged { .. }), "{error}"),
                }
            }
        }
        assert!(changed > 8, "{name}");
    }
}

/// The bytes with others after the first place of `name`, `offset` bytes on.
fn with_bytes(bytes: &[u8], name: &[u8], offset: usize, value: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let at = inside(bytes, name) + offset;
    changed[at..at + value.len()].copy_from_slice(value);
    changed
}

#[test]
fn avi_frames_are_all_read_or_none() {
    for name in ["mjpeg.avi", "h264.avi", "mpeg4_b_frames.avi"] {
        let honest = media(name);
        let expected = frames(&honest).unwrap();
        // Counts of frames, in the main header and in that of the stream, are not needed.
        for count in [0_u32, 1, 5, 1_000] {
            for (header, offset) in [(b"avih", 20), (b"strh", 36)] {
                let lying = with_bytes(&honest, header, offset, &count.to_le_bytes());
                let got = frames(&lying).unwrap();
                assert_eq!(got.frames, expected.frames, "{name}, {count}");
            }
        }
        // Two rates, of which one is wrong.
        for (header, offset, value) in [
            (b"avih", 4, 400_000),
            (b"avih", 4, 1),
            (b"strh", 24, 10),
            (b"strh", 28, 2_500),
        ] {
            let lying = with_bytes(&honest, header, offset, &u32::to_le_bytes(value));
            let said = frames(&lying).unwrap_err().to_string();
            assert!(said.contains("microseconds a frame"), "{name}: {said}");
        }
        // An index of which all entries lead to the same picture.
        let mut lying = honest.clone();
        let index = inside(&honest, b"idx1") + 4;
        let second = honest[index + 24..index + 28].to_vec();
        for entry in (index + 32..lying.len() - 15).step_by(16) {
            lying[entry + 8..entry + 12].copy_from_slice(&second);
        }
        let said = frames(&lying).unwrap_err().to_string();
        assert!(said.contains("its index leads to"), "{name}: {said}");
    }
}

#[test]
fn matroska_times_agree_with_the_declared_rate_or_are_refused() {
    for name in [
        "vp9.webm",
        "no_cues.webm",
        "h264_open_gop.mkv",
        "variable_rate.mkv",
    ] {
        let honest = media(name);
        let expected = frames(&honest).unwrap();
        // The length of the segment is not needed.
        if name != "no_cues.webm" {
            for length in [0.0_f64, 1.0, 1e9] {
                let lying = with_bytes(&honest, &[0x44, 0x89, 0x88], 0, &length.to_be_bytes());
                assert_eq!(
                    frames(&lying).unwrap().frames,
                    expected.frames,
                    "{name}, {length}"
                );
            }
        }
        // Nanoseconds of a unit of time, and of a frame.
        for (element, value) in [
            (&[0x2a, 0xd7, 0xb1, 0x83][..], &[0, 0, 1][..]),
            (&[0x2a, 0xd7, 0xb1, 0x83], &[0, 0x10, 0]),
            (&[0x2a, 0xd7, 0xb1, 0x83], &[0xff, 0xff, 0xff]),
            (&[0x23, 0xe3, 0x83, 0x84], &[0, 0, 0x10, 0]),
            (&[0x23, 0xe3, 0x83, 0x84], &[0xf0, 0, 0, 0]),
        ] {
            let lying = with_bytes(&honest, element, 0, value);
            let said = frames(&lying).unwrap_err().to_string();
            assert!(said.contains("its time stamps are"), "{name}, {value:?}: {said}");
        }
    }
}
