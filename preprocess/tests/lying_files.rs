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
