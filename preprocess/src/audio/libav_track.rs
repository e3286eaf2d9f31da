//! Decoding by FFmpeg's libraries, of what has no full decoder in Rust: Opus, AMR, WebM, and AAC in MP4, whose edit
//! list says how much the encoder put before the sound, and whose high-efficiency profiles need a second stage.

use std::time::Duration;

use ffmpeg_next::ffi::{AVCodecID, AVMediaType, AVSampleFormat};
use ffmpeg_next::{Frame, Packet};

use super::mono::{Mono, Next};
use super::{AudioError, AudioKind, AudioLimits};
use crate::completeness;
use crate::libav::{Decoder, Input, LibavError, Received, codec_name};
use crate::mp4::TrackTables;

/// Decoders that may run. FFmpeg has hundreds, many of them old and seldom tested.
const CODECS: [AVCodecID; 14] = [
    AVCodecID::AV_CODEC_ID_OPUS,
    AVCodecID::AV_CODEC_ID_VORBIS,
    AVCodecID::AV_CODEC_ID_AAC,
    AVCodecID::AV_CODEC_ID_MP3,
    AVCodecID::AV_CODEC_ID_FLAC,
    AVCodecID::AV_CODEC_ID_ALAC,
    AVCodecID::AV_CODEC_ID_AMR_NB,
    AVCodecID::AV_CODEC_ID_AMR_WB,
    AVCodecID::AV_CODEC_ID_AC3,
    AVCodecID::AV_CODEC_ID_PCM_S16LE,
    AVCodecID::AV_CODEC_ID_PCM_S16BE,
    AVCodecID::AV_CODEC_ID_PCM_S24LE,
    AVCodecID::AV_CODEC_ID_PCM_U8,
    AVCodecID::AV_CODEC_ID_PCM_F32LE,
];

/// Decodes into `mono` until the end, or until it has enough; says what length the file declares.
///
/// # Errors
///
/// [`AudioError::Damaged`], [`AudioError::NoAudioStream`], [`AudioError::UnsupportedKind`] for another codec, and what
/// [`Mono::push`] finds.
pub(super) fn decode(
    kind: AudioKind,
    bytes: &[u8],
    limits: &AudioLimits,
    mono: &mut Mono,
) -> Result<Option<Duration>, AudioError> {
    if let Some(reason) = completeness::fault(bytes) {
        return Err(damaged(kind, reason));
    }
    let failed = |e| failed(kind, limits, e);
    let demuxer = match kind {
        AudioKind::Mp4 => c"mov",
        AudioKind::Matroska => c"matroska",
        AudioKind::Amr => c"amr",
        AudioKind::Wav => c"wav",
        _ => c"ogg",
    };
    let mut input = Input::open(bytes, demuxer, mono.until()).map_err(failed)?;
    let stream = input
        .best_stream(AVMediaType::AVMEDIA_TYPE_AUDIO)
        .ok_or(AudioError::NoAudioStream { kind: kind.name() })?;
    if !CODECS.contains(&stream.codec) {
        return Err(AudioError::UnsupportedKind(format!(
            "the sound of this {} file is coded as {}",
            kind.name(),
            codec_name(stream.codec)
        )));
    }
    if kind == AudioKind::Mp4
        && let Some(reason) = TrackTables::fault_of(bytes, stream.id)
    {
        return Err(damaged(kind, reason));
    }
    mono.others = input.count(AVMediaType::AVMEDIA_TYPE_AUDIO) > 1;
    input.only(stream);
    let mut decoder = Decoder::open(&input, stream, 1, 1).map_err(failed)?;
    let declared = input.declared_microseconds().map(Duration::from_micros);
    let (mut packet, mut frame) = (Packet::empty(), ffmpeg_next::frame::Audio::empty());
    let mut interleaved = Vec::new();
    loop {
        let more = input.read(stream, &mut packet).map_err(failed)?;
        if more && packet.is_corrupt() {
            return Err(damaged(kind, "a packet is incomplete".to_owned()));
        }
        decoder.send(more.then_some(&packet)).map_err(failed)?;
        while decoder.receive(&mut frame).map_err(failed)? == Received::Frame {
            let channels = interleave(&frame, &mut interleaved)
                .ok_or_else(|| damaged(kind, "a frame of samples has an unknown form".to_owned()))?;
            if mono.push(kind.name(), frame.rate(), channels, &interleaved)? == Next::Enough {
                return Ok(declared);
            }
        }
        if !more {
            return Ok(declared);
        }
    }
}

/// The samples of a frame as interleaved float32 in [-1, 1], and its channels; `None` for an unknown format.
fn interleave(frame: &Frame, to: &mut Vec<f32>) -> Option<usize> {
    // SAFETY: `frame` holds a decoded frame; its public fields are plain data.
    let raw = unsafe { &*frame.as_ptr() };
    let count = usize::try_from(raw.nb_samples).ok()?;
    let channels = usize::try_from(raw.ch_layout.nb_channels).ok()?;
    to.clear();
    if count == 0 || channels == 0 {
        return Some(channels);
    }
    let (planar, convert, size) = sample_form(raw.format)?;
    if planar {
        to.resize(count * channels, 0.0);
        for channel in 0..channels {
            // SAFETY: a planar frame has one plane of `nb_samples` samples a channel behind `extended_data`.
            let plane = unsafe {
                std::slice::from_raw_parts((*raw.extended_data.add(channel)).cast_const(), count * size)
            };
            for (place, sample) in plane.chunks_exact(size).enumerate() {
                to[place * channels + channel] = convert(sample);
            }
        }
    } else {
        // SAFETY: a packed frame has one plane of `nb_samples * channels` samples.
        let plane =
            unsafe { std::slice::from_raw_parts((*raw.extended_data).cast_const(), count * channels * size) };
        to.extend(plane.chunks_exact(size).map(convert));
    }
    Some(channels)
}

/// How the bytes of one sample become a float in [-1, 1].
type ToFloat = fn(&[u8]) -> f32;

/// Whether each channel has its own plane, how a sample becomes a float, and its size in bytes.
fn sample_form(format: i32) -> Option<(bool, ToFloat, usize)> {
    use AVSampleFormat::*;
    let forms: [(_, _, ToFloat, usize); 4] = [
        (AV_SAMPLE_FMT_U8, AV_SAMPLE_FMT_U8P, from_u8, 1),
        (AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16P, from_i16, 2),
        (AV_SAMPLE_FMT_S32, AV_SAMPLE_FMT_S32P, from_i32, 4),
        (AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_FLTP, from_f32, 4),
    ];
    forms.into_iter().find_map(|(packed, planar, convert, size)| {
        let is_planar = format == planar as i32;
        (is_planar || format == packed as i32).then_some((is_planar, convert, size))
    })
}

fn from_u8(b: &[u8]) -> f32 {
    b.first().map_or(0.0, |b| (f32::from(*b) - 128.0) / 128.0)
}

fn from_i16(b: &[u8]) -> f32 {
    b.first_chunk()
        .map_or(0.0, |b| f32::from(i16::from_ne_bytes(*b)) / 32_768.0)
}

fn from_i32(b: &[u8]) -> f32 {
    let exact = b.first_chunk().map_or(0.0, |b| f64::from(i32::from_ne_bytes(*b)));
    (exact / 2_147_483_648.0) as f32
}

fn from_f32(b: &[u8]) -> f32 {
    b.first_chunk().map_or(0.0, |b| f32::from_ne_bytes(*b))
}

fn failed(kind: AudioKind, limits: &AudioLimits, error: LibavError) -> AudioError {
    match error {
        LibavError::OutOfTime => AudioError::OutOfTime { limit: limits.time },
        missing @ LibavError::Missing(_) => {
            AudioError::UnsupportedKind(format!("the {} file: {missing}", kind.name()))
        }
        other => damaged(kind, other.to_string()),
    }
}

fn damaged(kind: AudioKind, reason: String) -> AudioError {
    AudioError::Damaged {
        kind: kind.name(),
        reason,
    }
}
