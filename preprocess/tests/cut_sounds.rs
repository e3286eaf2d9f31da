//! A sound that lacks its end, or something in its midst, is no sound; tags behind a whole one do no harm.

#![allow(clippy::unwrap_used)]

use assize_preprocess::audio::{self, AudioError, AudioLimits, Waveform};
use assize_preprocess::video::{self, FRAMES, VideoLimits};

fn media(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/media/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn decode(bytes: &[u8]) -> Result<Waveform, AudioError> {
    audio::decode(bytes, &AudioLimits::default())
}

fn damage(bytes: &[u8], what: &str) -> String {
    match decode(bytes) {
        Err(error @ AudioError::Damaged { .. }) => error.to_string(),
        other => panic!("{what}: {:?}", other.map(|sound| sound.duration())),
    }
}

/// 128 bytes at the end of a file.
fn id3v1() -> Vec<u8> {
    let mut tag = b"TAGtitle".to_vec();
    tag.resize(128, 0);
    tag
}

/// One item and a footer, and a header if it is of version 2.
fn ape(version: u32) -> Vec<u8> {
    let item = b"\x03\0\0\0\0\0\0\0Title\0abc";
    let mark = |flags: u32| {
        let mut mark = b"APETAGEX".to_vec();
        for number in [version, item.len() as u32 + 32, 1, flags, 0, 0] {
            mark.extend(number.to_le_bytes());
        }
        mark
    };
    match version {
        2_000 => [&mark(0xa000_0000)[..], item, &mark(0x8000_0000)].concat(),
        _ => [&item[..], &mark(0)].concat(),
    }
}

#[test]
fn a_last_frame_that_is_cut_off_is_damage() {
    for name in ["chirp.mp3", "chirp_no_header.mp3", "chirp.aac"] {
        let whole = media(name);
        for missing in [1, 2, 30, 100, whole.len() / 2] {
            let cut = &whole[..whole.len() - missing];
            let said = damage(cut, name);
            assert!(said.contains("ends within"), "{name}, {missing}: {said}");
            damage(&[cut, &id3v1()].concat(), name);
        }
        let mut zeroed = whole.clone();
        let middle = whole.len() / 2;
        zeroed[middle..middle + 700].fill(0);
        assert!(damage(&zeroed, name).contains("there is no frame"), "{name}");
    }
    let said = damage(&media("chirp.mp3")[..8_611], "one byte");
    assert!(said.contains("1 bytes too early"), "{said}");
}

#[test]
fn a_frame_less_than_the_header_counts_is_damage() {
    // 64 kbit/s at 44.1 kHz: frames of 208 or 209 bytes.
    let whole = media("chirp.mp3");
    let last = (0..whole.len() - 205)
        .rfind(|at| {
            whole[*at..].starts_with(&[0xff, 0xfb, 0x50]) || whole[*at..].starts_with(&[0xff, 0xfb, 0x52])
        })
        .unwrap();
    let said = damage(&whole[..last], "a frame less");
    assert!(said.contains("39 of the 40 frames"), "{said}");
}

#[test]
fn tags_behind_the_sound_do_no_harm() {
    for name in ["chirp.mp3", "chirp_no_header.mp3", "chirp.aac", "chirp.flac"] {
        let whole = media(name);
        let honest = decode(&whole).unwrap();
        let id3v2 = [&b"ID3\x04\0\0\0\0\0\x0a"[..], &[0; 10]].concat();
        let lyrics = b"LYRICSBEGININD0000200000021LYRICS200".to_vec();
        let mut tags = vec![
            id3v1(),
            ape(2_000),
            ape(1_000),
            [ape(2_000), id3v1()].concat(),
            [ape(1_000), id3v1()].concat(),
        ];
        if name != "chirp.flac" {
            tags.extend([id3v2, [lyrics, id3v1()].concat(), vec![0; 300]]);
        }
        for (number, tag) in tags.iter().enumerate() {
            let got = decode(&[&whole[..], tag].concat());
            assert!(
                got.as_ref() == Ok(&honest),
                "{name}, tag {number}: {:?}",
                got.map(|g| g.duration())
            );
        }
    }
}

#[test]
fn flac_without_a_length_is_whole_or_damaged() {
    let mut whole = media("chirp.flac");
    // The 36 bits of the count of samples, in the stream's first block.
    whole[21] &= 0xf0;
    whole[22..26].fill(0);
    assert_eq!(
        decode(&whole).unwrap().samples(),
        decode(&media("chirp.flac")).unwrap().samples()
    );
    for missing in [1, 700, whole.len() / 2] {
        let said = damage(&whole[..whole.len() - missing], "flac");
        assert!(said.contains("bytes of its frames are whole"), "{said}");
    }
}

#[test]
fn amr_and_ogg_that_end_early_are_damaged() {
    for missing in [1, 5, 12] {
        let whole = media("sine.amr");
        damage(&whole[..whole.len() - missing], "amr");
    }
    for name in ["chirp_vorbis.ogg", "chirp_opus.ogg"] {
        let whole = media(name);
        let last_page = whole.windows(4).rposition(|w| w == b"OggS").unwrap();
        let said = damage(&whole[..last_page], name);
        assert!(said.contains("does not say that it is the last"), "{said}");
        damage(&whole[..whole.len() - 1], name);
    }
}

#[test]
fn recordings_one_behind_the_other_are_told_from_damage() {
    for name in ["chirp_vorbis.ogg", "chirp_opus.ogg"] {
        let error = decode(&[media(name), media(name)].concat()).unwrap_err();
        assert!(matches!(error, AudioError::SeveralSounds { .. }), "{error}");
        let said = error.to_string();
        assert!(
            said.contains("one behind the other") && said.contains("ffmpeg -i"),
            "{said}"
        );
    }
}

#[test]
fn samples_that_a_wav_file_does_not_count_are_damage() {
    for name in ["chirp_44100_stereo.wav", "chirp_16000_u8.wav", "six_channels.wav"] {
        let whole = media(name);
        let at = whole.windows(4).position(|w| w == b"data").unwrap() + 4;
        let size = u32::from_le_bytes(whole[at..at + 4].try_into().unwrap());
        for lie in [100, size / 2, size - 2, size + 2, size * 2] {
            let mut lying = whole.clone();
            lying[at..at + 4].copy_from_slice(&lie.to_le_bytes());
            assert!(damage(&lying, name).contains("declares"), "{name}, {lie}");
        }
        damage(&whole[..whole.len() - 1], name);
        // More chunks behind the samples, within the file's size or not.
        let chunk = b"LIST\x04\0\0\0abcd";
        let mut more = [&whole[..], chunk].concat();
        let honest = decode(&whole).unwrap();
        assert_eq!(decode(&more).unwrap(), honest, "{name}");
        let riff = u32::from_le_bytes(whole[4..8].try_into().unwrap()) + chunk.len() as u32;
        more[4..8].copy_from_slice(&riff.to_le_bytes());
        assert_eq!(decode(&more).unwrap(), honest, "{name}");
    }
}

#[test]
fn a_codec_that_is_not_read_has_its_usual_name() {
    let renamed = |file: &str, from: &[u8], to: &[u8]| {
        let mut bytes = media(file);
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        bytes[at..at + from.len()].copy_from_slice(to);
        bytes
    };
    let error = decode(&renamed("chirp_opus.webm", b"A_OPUS", b"A_DTS\0")).unwrap_err();
    assert!(error.to_string().contains("is coded as dts;"), "{error}");
    let svq3 = renamed("nine_frames.mp4", b"avc1\0\0\0\0", b"SVQ3\0\0\0\0");
    let error = video::sample(&svq3, FRAMES, &VideoLimits::default()).unwrap_err();
    assert!(error.to_string().contains("are coded as svq3;"), "{error}");
}
