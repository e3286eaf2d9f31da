//! Sounds of all kinds become the frames that the reference makes.

#![allow(clippy::unwrap_used)]

use std::f64::consts::TAU;
use std::time::Duration;

use assize_preprocess::audio::{self, AudioError, AudioLimits, SAMPLES_PER_FRAME, Waveform};
use proptest::prelude::*;
use safetensors::SafeTensors;

fn file(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn media(name: &str) -> Vec<u8> {
    file(&format!("media/{name}"))
}

fn array(file: &[u8], name: &str) -> Vec<f32> {
    let tensors = SafeTensors::deserialize(file).unwrap();
    let data = tensors.tensor(name).unwrap().data().to_vec();
    data.chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn decode(bytes: &[u8]) -> Result<Waveform, AudioError> {
    audio::decode(bytes, &AudioLimits::default())
}

/// A WAV file of float32 samples.
fn wav(rate: u32, channels: u16, samples: &[f32]) -> Vec<u8> {
    let size = u32::try_from(samples.len() * 4).unwrap();
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + size).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x03\0");
    file.extend(channels.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * u32::from(channels) * 4).to_le_bytes());
    file.extend((channels * 4).to_le_bytes());
    file.extend(b"\x20\0data");
    file.extend(size.to_le_bytes());
    file.extend(samples.iter().flat_map(|s| s.to_le_bytes()));
    file
}

fn sine(rate: u32, hertz: f64, count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (0.5 * (TAU * hertz * i as f64 / f64::from(rate)).sin()) as f32)
        .collect()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn golden_sounds_become_the_golden_frames_exactly() {
    let golden = file("golden/gemma4_unified_tiny/golden/audio.safetensors");
    for name in ["chirp_mono", "exact_3_frames", "one_sample", "stereo"] {
        let wav = file(&format!("golden/gemma4_unified_tiny/media/audio/{name}.wav"));
        let waveform = decode(&wav).unwrap();
        assert_eq!(
            waveform.samples(),
            array(&golden, &format!("{name}.waveform")),
            "{name}"
        );
        let frames = waveform.into_frames();
        let expected = array(&golden, &format!("{name}.input_features"));
        assert_eq!(frames.samples(), expected, "{name}");
        assert_eq!(frames.soft_tokens() * SAMPLES_PER_FRAME, expected.len());
        assert_eq!(frames.frames().len(), frames.soft_tokens());
        assert_eq!(frames.cut(), None);
    }
}

#[test]
fn resampling_agrees_with_soxr_hq() {
    let golden = media("soxr_hq.safetensors");
    for (name, tolerance) in [
        ("chirp_44100_stereo", 2e-4),
        ("chirp_48000_s24", 2e-4),
        ("chirp_8000_f32", 2e-4),
    ] {
        let samples = decode(&media(&format!("{name}.wav"))).unwrap();
        let expected = array(&golden, name);
        // The ends ring differently with filters of different lengths.
        let inner = 200..expected.len() - 200;
        let difference = largest_difference(&samples.samples()[inner.clone()], &expected[inner]);
        println!(
            "{name}: {difference:e}, ends {:e}",
            largest_difference(samples.samples(), &expected)
        );
        assert!(difference < tolerance, "{name}: {difference}");
    }
}

#[test]
fn a_sine_keeps_its_place_and_height_and_one_above_8_khz_vanishes() {
    for rate in [
        8_000, 11_025, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 44_101,
    ] {
        for hertz in [100.0, 1_000.0, 3_400.0, 7_200.0] {
            if hertz > 0.43 * f64::from(rate) {
                continue;
            }
            let count = rate as usize / 2 + 7;
            let got = decode(&wav(rate, 1, &sine(rate, hertz, count))).unwrap();
            let exact = (count * 16_000).div_ceil(rate as usize);
            assert_eq!(got.samples().len(), exact, "{rate} Hz");
            let inner = 2_000..exact - 2_000;
            let expected = sine(16_000, hertz, exact);
            let difference = largest_difference(&got.samples()[inner.clone()], &expected[inner]);
            assert!(difference < 1e-3, "{hertz} Hz at {rate} Hz: {difference}");
        }
        // The filter of an awkward rate is longer than this sound, and its ends ring through all of it.
        if rate > 17_000 && rate != 44_101 {
            let got = decode(&wav(rate, 1, &sine(rate, 8_050.0, rate as usize / 2))).unwrap();
            let inner = 2_000..got.samples().len() - 2_000;
            let left = got.samples()[inner].iter().fold(0.0_f32, |a, s| a.max(s.abs()));
            // 0.5 at -120 dB.
            assert!(left < 5e-7, "{rate} Hz: {left} is left");
        }
    }
}

/// Seconds, channels, rate; and where the chirp (200 + 2400 t Hz) crosses zero upwards first, to see a shift.
#[test]
fn every_kind_of_file_decodes_to_its_whole_length_in_its_place() {
    for (name, seconds, channels, rate) in [
        ("chirp.flac", 0.25, 2, 44_100),
        ("chirp.mp3", 1.0, 2, 44_100),
        ("chirp_vorbis.ogg", 1.0, 2, 44_100),
        ("chirp_opus.ogg", 1.0, 2, 48_000),
        ("chirp_opus.webm", 1.0, 2, 48_000),
        ("chirp.m4a", 1.0, 2, 44_100),
        ("cover_art.m4a", 1.0, 2, 44_100),
        ("piped.wav", 0.25, 1, 16_000),
        ("chirp_16000_u8.wav", 0.25, 1, 16_000),
        ("h264_with_sound.mov", 3.0, 2, 44_100),
    ] {
        let got = decode(&media(name)).unwrap();
        assert_eq!(got.source().channels, channels, "{name}");
        assert_eq!(got.source().sample_rate, rate, "{name}");
        let missing = seconds - got.duration().as_secs_f64();
        // WebM counts in milliseconds, and AAC in a file without a sound length in frames of 23 ms.
        assert!(missing.abs() < 0.03, "{name}: {missing} s are missing");
        let left = |t: f64| 0.5 * (TAU * (200.0 * t + 1_200.0 * t * t)).sin();
        let right = |t: f64| 0.25 * (TAU * (300.0 * t + 800.0 * t * t)).sin();
        let expected: Vec<f64> = (0..got.samples().len().min(4_000))
            .map(|i| i as f64 / 16_000.0)
            .map(|t| {
                if channels == 2 {
                    (left(t) + right(t)) / 2.0
                } else {
                    left(t)
                }
            })
            .collect();
        let error: f64 = expected
            .iter()
            .zip(got.samples())
            .map(|(e, g)| (e - f64::from(*g)).powi(2))
            .sum();
        let power: f64 = expected.iter().map(|e| e * e).sum();
        println!("{name}: relative error {}", (error / power).sqrt());
        // A shift by one AAC frame gives 1.4; the sound of the video has only 32 kbit/s.
        let tolerance = if name.ends_with("mov") { 0.5 } else { 0.1 };
        assert!(
            (error / power).sqrt() < tolerance,
            "{name}: {}",
            (error / power).sqrt()
        );
    }
}

#[test]
fn formats_without_a_length_decode() {
    // An encoder's delay that the file does not tell is part of the sound.
    for (name, seconds) in [("chirp_no_header.mp3", 1.0), ("chirp.aac", 1.0)] {
        let got = decode(&media(name)).unwrap();
        let more = got.duration().as_secs_f64() - seconds;
        assert!((0.0..0.1).contains(&more), "{name}: {more}");
    }
    assert_eq!(decode(&media("six_channels.wav")).unwrap().source().channels, 6);
    let amr = decode(&media("sine.amr")).unwrap();
    assert_eq!(amr.source().sample_rate, 8_000);
    assert_eq!(amr.duration(), Duration::from_millis(200));
}

#[test]
fn thirty_seconds_are_kept_and_the_cut_is_said() {
    let long = decode(&media("31_seconds.flac")).unwrap();
    assert_eq!(long.cut().unwrap().full_length, Some(Duration::from_secs(31)));
    assert_eq!(long.duration(), Duration::from_secs(30));
    let frames = long.into_frames();
    assert_eq!(frames.soft_tokens(), 750);
    assert!(frames.samples().iter().all(|s| s.abs() < 1e-3));

    let whole = audio::decode(
        &media("31_seconds.flac"),
        &AudioLimits {
            length: Duration::from_secs(60),
            ..AudioLimits::default()
        },
    )
    .unwrap();
    assert_eq!(whole.cut(), None);
    assert_eq!(&whole.samples()[..480_000], frames.samples());
    assert!(whole.samples()[480_000..].iter().any(|s| s.abs() > 0.4));

    let exact = decode(&wav(16_000, 1, &vec![0.1; 480_000])).unwrap();
    assert_eq!((exact.cut(), exact.samples().len()), (None, 480_000));
    let one_more = decode(&wav(16_000, 1, &vec![0.1; 480_001])).unwrap();
    assert!(one_more.cut().is_some());
    // 30 s at 44.1 kHz exactly are not cut.
    let exact = decode(&wav(44_100, 1, &vec![0.1; 30 * 44_100])).unwrap();
    assert_eq!((exact.cut(), exact.samples().len()), (None, 480_000));
}

#[test]
fn samples_that_are_no_numbers_are_named() {
    let mut samples = vec![0.0; 2_000];
    samples[1_235] = f32::NAN;
    match decode(&wav(16_000, 2, &samples)) {
        Err(AudioError::NotFinite {
            sample: 617,
            channel: 1,
            value,
        }) => assert!(value.is_nan()),
        other => panic!("{other:?}"),
    }
    samples[1_235] = f32::NEG_INFINITY;
    assert!(
        decode(&wav(48_000, 1, &samples))
            .unwrap_err()
            .to_string()
            .contains("sample 1235")
    );
    // Squares beyond float32 would be silence to the model.
    samples[1_235] = 1e19;
    for rate in [16_000, 48_000] {
        let error = decode(&wav(rate, 1, &samples)).unwrap_err();
        assert!(
            matches!(
                error,
                AudioError::TooLoud {
                    sample: 1_235,
                    channel: 0,
                    ..
                }
            ),
            "{error}"
        );
    }
    samples[1_235] = 2_147_483_648.0;
    assert!(decode(&wav(16_000, 1, &samples)).is_ok(), "integers as floats");
}

#[test]
fn a_second_sound_in_one_file_is_told() {
    let two = [media("chirp.flac"), media("chirp.flac")].concat();
    let error = decode(&two).unwrap_err().to_string();
    assert!(error.contains("goes on behind the"), "{error}");
    assert!(!decode(&media("chirp.m4a")).unwrap().source().others);
    assert!(decode(&media("two_tracks.m4a")).unwrap().source().others);
}

#[test]
fn empty_foreign_and_too_large_files_are_told_apart() {
    assert_eq!(decode(&wav(16_000, 1, &[])), Err(AudioError::Empty));
    assert!(decode(&wav(16_000, 0, &[0.0; 8])).is_err());
    assert_eq!(decode(&[]), Err(AudioError::Empty));
    assert!(matches!(
        decode(b"#EXTM3U\nother.mp3\n"),
        Err(AudioError::UnsupportedKind(_))
    ));
    assert!(matches!(
        decode(&media("h264.mp4")),
        Err(AudioError::NoAudioStream { .. })
    ));
    assert!(matches!(
        decode(&wav(999, 1, &[0.0; 8])),
        Err(AudioError::SampleRate { rate: 999 })
    ));
    let limits = AudioLimits {
        bytes: 50,
        ..AudioLimits::default()
    };
    assert_eq!(
        audio::decode(&wav(16_000, 1, &[0.0; 8]), &limits),
        Err(AudioError::TooLarge { bytes: 76, limit: 50 })
    );
    let limits = AudioLimits {
        time: Duration::ZERO,
        ..AudioLimits::default()
    };
    for name in ["chirp.mp3", "chirp_opus.ogg"] {
        assert!(matches!(
            audio::decode(&media(name), &limits),
            Err(AudioError::OutOfTime { .. })
        ));
    }
}

#[test]
fn a_cut_off_file_is_an_error() {
    for name in [
        "chirp.flac",
        "chirp.mp3",
        "chirp_vorbis.ogg",
        "chirp_opus.ogg",
        "chirp_opus.webm",
        "chirp.m4a",
        "chirp_48000_s24.wav",
    ] {
        let whole = media(name);
        for keep in [0.3, 0.5, 0.77, 0.9] {
            let part = &whole[..(whole.len() as f64 * keep) as usize];
            let got = decode(part);
            assert!(
                got.is_err(),
                "{name} cut at {keep}: {:?}",
                got.map(|g| g.duration())
            );
        }
    }
}

/// Found by fuzzing: symphonia's AAC decoder indexes out of range.
#[test]
fn a_panic_of_a_decoder_is_damage() {
    let error = decode(&media("index_out_of_range.aac")).unwrap_err();
    assert!(
        matches!(error, AudioError::Damaged { kind: "AAC", .. }),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn damaged_bytes_never_panic(
        name in prop::sample::select(vec![
            "chirp.flac", "chirp.mp3", "chirp_vorbis.ogg", "chirp_opus.ogg", "chirp_opus.webm", "chirp.m4a",
            "chirp.aac", "chirp_16000_u8.wav", "sine.amr",
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
        near_start in any::<bool>(),
        keep in 0.1..1.0_f64,
    ) {
        let mut bytes = media(name);
        bytes.truncate(((bytes.len() as f64 * keep) as usize).max(12));
        let span = if near_start { bytes.len().min(400) } else { bytes.len() };
        for (at, value) in changes {
            let at = at.index(span);
            bytes[at] = value;
        }
        if let Ok(got) = decode(&bytes) {
            prop_assert!(got.samples().iter().all(|s| s.is_finite()));
            prop_assert!(!got.samples().is_empty() && got.samples().len() <= 480_000);
        }
    }
}
