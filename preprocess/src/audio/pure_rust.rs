//! Decoding in Rust, by symphonia: WAV, MP3, FLAC, Ogg Vorbis, ADTS AAC.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use symphonia::core::audio::SampleBuffer;
use symphonia::core::codecs::{CODEC_TYPE_NULL, CodecParameters, Decoder, DecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::{FormatOptions, FormatReader};
use symphonia::core::io::{MediaSourceStream, ReadOnlySource};

use super::mono::{Mono, Next};
use super::mpeg_stream::{self, FrameKind};
use super::{AudioError, AudioKind, wav_size};
use crate::completeness;

/// Decodes into `mono` until the end, or until it has enough; says what length the file declares.
///
/// # Errors
///
/// [`AudioError::Damaged`] and what [`Mono::push`] finds.
pub(super) fn decode(kind: AudioKind, bytes: &[u8], mono: &mut Mono) -> Result<Option<Duration>, AudioError> {
    // The decoders are safe Rust, and some overflow or index out of range on hostile bytes.
    catch_unwind(AssertUnwindSafe(|| decode_track(kind, bytes, mono)))
        .unwrap_or_else(|_| Err(damaged(kind, "the decoder gave up on it")))
}

fn decode_track(kind: AudioKind, bytes: &[u8], mono: &mut Mono) -> Result<Option<Duration>, AudioError> {
    let mut reader = open(kind, bytes)?;
    let track = reader
        .tracks()
        .iter()
        .find(|t| t.codec_params.codec != CODEC_TYPE_NULL)
        .ok_or(AudioError::NoAudioStream { kind: kind.name() })?;
    let (id, params) = (track.id, track.codec_params.clone());
    let mut decoder = symphonia::default::get_codecs()
        .make(&params, &DecoderOptions::default())
        .map_err(|e| failed(kind, &e))?;
    let (ended, read) = decode_packets(kind, id, reader.as_mut(), decoder.as_mut(), mono)?;
    let declared = Declared::of(kind, &params);
    if ended {
        declared.check(kind, mono.len())?;
        // A last frame that is cut off is dropped by its reader.
        if let Some(frames) = flac_frames(kind, bytes).filter(|frames| read < *frames) {
            let reason = format!("{read} of the {frames} bytes of its frames are whole");
            return Err(damaged(kind, &reason));
        }
        mono.trim(declared.before, declared.after);
    } else {
        mono.trim(declared.before, 0);
    }
    Ok(declared.duration(&params))
}

/// Bytes behind the metadata blocks of a FLAC file (RFC 9639, section 8.1).
fn flac_frames(kind: AudioKind, file: &[u8]) -> Option<usize> {
    if kind != AudioKind::Flac {
        return None;
    }
    let file = mpeg_stream::without_last_tags(file);
    let mut at = 4_usize;
    loop {
        let [first, a, b, c] = *file.get(at..)?.first_chunk()?;
        at = at.checked_add(4 + u32::from_be_bytes([0, a, b, c]) as usize)?;
        if first & 0x80 != 0 {
            return file.len().checked_sub(at);
        }
    }
}

/// Whether the file was decoded to its end, and how many bytes of packets were.
fn decode_packets(
    kind: AudioKind,
    track: u32,
    reader: &mut dyn FormatReader,
    decoder: &mut dyn Decoder,
    mono: &mut Mono,
) -> Result<(bool, usize), AudioError> {
    let mut read = 0;
    let mut interleaved: Option<SampleBuffer<f32>> = None;
    loop {
        let packet = match reader.next_packet() {
            Ok(packet) => packet,
            // The readers say "end of stream" in this way, and nothing else.
            Err(Error::IoError(e)) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Ok((true, read));
            }
            Err(e) => return Err(failed(kind, &e)),
        };
        if packet.track_id() != track {
            continue;
        }
        read += packet.buf().len();
        let decoded = decoder.decode(&packet).map_err(|e| failed(kind, &e))?;
        let spec = *decoded.spec();
        let frames = decoded.frames();
        if frames == 0 {
            continue;
        }
        let buffer = match &mut interleaved {
            Some(buffer) if buffer.capacity() >= frames * spec.channels.count() => buffer,
            other => other.insert(SampleBuffer::new(decoded.capacity() as u64, spec)),
        };
        buffer.copy_interleaved_ref(decoded);
        let next = mono.push(kind.name(), spec.rate, spec.channels.count(), buffer.samples())?;
        if next == Next::Enough {
            return Ok((false, read));
        }
    }
}

fn open(kind: AudioKind, bytes: &[u8]) -> Result<Box<dyn FormatReader>, AudioError> {
    if let Some(reason) = completeness::fault(bytes) {
        return Err(damaged(kind, &reason));
    }
    use symphonia::default::formats::{AdtsReader, FlacReader, MpaReader, OggReader, WavReader};
    let frames = match kind {
        AudioKind::Mp3 => Some(FrameKind::Mp3),
        AudioKind::Adts => Some(FrameKind::Adts),
        _ => None,
    };
    // Tags behind the sound are none of the reader's business.
    let sound = match frames.map(|kind| mpeg_stream::frames(kind, bytes)).transpose() {
        Ok(range) => range.and_then(|range| bytes.get(range)).unwrap_or(bytes),
        Err(reason) => return Err(damaged(kind, &reason)),
    };
    let sound = if kind == AudioKind::Flac {
        mpeg_stream::without_last_tags(sound)
    } else {
        sound
    };
    let mut owned = sound.to_vec();
    if kind == AudioKind::Wav {
        wav_size::settle(&mut owned).map_err(|reason| damaged(kind, &reason))?;
    }
    // Not seekable, so that no reader invents a length from a bit rate and then stops there.
    let source = ReadOnlySource::new(Cursor::new(owned));
    let stream = MediaSourceStream::new(Box::new(source), Default::default());
    let options = FormatOptions {
        // MP3 is trimmed here: its reader subtracts lengths that a file can make up.
        enable_gapless: kind != AudioKind::Mp3,
        ..FormatOptions::default()
    };
    Ok(match kind {
        AudioKind::Wav => Box::new(WavReader::try_new(stream, &options).map_err(|e| failed(kind, &e))?),
        AudioKind::Mp3 => Box::new(MpaReader::try_new(stream, &options).map_err(|e| failed(kind, &e))?),
        AudioKind::Flac => Box::new(FlacReader::try_new(stream, &options).map_err(|e| failed(kind, &e))?),
        AudioKind::OggVorbis => Box::new(OggReader::try_new(stream, &options).map_err(|e| failed(kind, &e))?),
        AudioKind::Adts => Box::new(AdtsReader::try_new(stream, &options).map_err(|e| failed(kind, &e))?),
        other => {
            return Err(AudioError::UnsupportedKind(format!(
                "{} is not decoded in Rust",
                other.name()
            )));
        }
    })
}

/// What the header of a file says about its length, in samples.
struct Declared {
    /// All samples that decoding gives.
    total: Option<usize>,
    /// Added before the sound by the encoder.
    before: usize,
    /// Added after it.
    after: usize,
    /// How many may be missing: the frames that a decoder needs to start up.
    slack: usize,
}

impl Declared {
    fn of(kind: AudioKind, params: &CodecParameters) -> Self {
        let samples = |n: u32| n as usize;
        let mp3 = kind == AudioKind::Mp3;
        Self {
            // Ogg and ADTS declare nothing at their start.
            total: match kind {
                AudioKind::Wav | AudioKind::Flac | AudioKind::Mp3 => params
                    .n_frames
                    .filter(|n| *n > 0)
                    .and_then(|n| usize::try_from(n).ok()),
                _ => None,
            },
            before: if mp3 { params.delay.map_or(0, samples) } else { 0 },
            after: if mp3 { params.padding.map_or(0, samples) } else { 0 },
            slack: if mp3 { 2 * 1152 } else { 0 },
        }
    }

    fn check(&self, kind: AudioKind, decoded: usize) -> Result<(), AudioError> {
        match self.total {
            Some(total) if decoded + self.slack < total => Err(damaged(
                kind,
                &format!("it ends after {decoded} of the {total} samples that it declares"),
            )),
            // Something that is no part of it was taken for more of it.
            Some(total) if kind == AudioKind::Flac && decoded > total => Err(damaged(
                kind,
                &format!("it goes on behind the {total} samples that it declares"),
            )),
            _ => Ok(()),
        }
    }

    fn duration(&self, params: &CodecParameters) -> Option<Duration> {
        let sound = self.total?.saturating_sub(self.before + self.after);
        Duration::try_from_secs_f64(sound as f64 / f64::from(params.sample_rate?)).ok()
    }
}

fn failed(kind: AudioKind, error: &Error) -> AudioError {
    match error {
        Error::Unsupported(what) => {
            AudioError::UnsupportedKind(format!("the {} file uses {what}", kind.name()))
        }
        other => damaged(kind, &other.to_string()),
    }
}

fn damaged(kind: AudioKind, reason: &str) -> AudioError {
    AudioError::Damaged {
        kind: kind.name(),
        reason: reason.to_owned(),
    }
}
