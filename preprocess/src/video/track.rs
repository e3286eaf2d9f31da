//! The video track of an open file.

use ffmpeg_next::ffi::{AV_FRAME_FLAG_CORRUPT, AV_NOPTS_VALUE, AVCodecID, AVMediaType};
use ffmpeg_next::{Frame, Packet};

use super::colour::RgbConverter;
use super::kind::VideoKind;
use super::rotation::Orientation;
use super::{FrameTime, RgbFrame, VideoError, VideoLimits};
use crate::Until;
use crate::libav::{Decoder, Input, LibavError, Received, Stream, codec_name};

/// Decoders that may run. FFmpeg has hundreds, many of them old and seldom tested.
const CODECS: [AVCodecID; 11] = [
    AVCodecID::AV_CODEC_ID_H264,
    AVCodecID::AV_CODEC_ID_HEVC,
    AVCodecID::AV_CODEC_ID_VP8,
    AVCodecID::AV_CODEC_ID_VP9,
    AVCodecID::AV_CODEC_ID_AV1,
    AVCodecID::AV_CODEC_ID_MPEG4,
    AVCodecID::AV_CODEC_ID_MSMPEG4V3,
    AVCodecID::AV_CODEC_ID_H263,
    AVCodecID::AV_CODEC_ID_MPEG2VIDEO,
    AVCodecID::AV_CODEC_ID_MJPEG,
    AVCodecID::AV_CODEC_ID_PRORES,
];

/// Threads that decode one video.
pub(super) const THREADS: i32 = 2;

/// A file that is being read, from its first packet on.
pub(super) struct VideoTrack<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) kind: VideoKind,
    pub(super) limits: &'a VideoLimits,
    pub(super) input: Input<'a>,
    pub(super) stream: Stream,
    pub(super) until: Until,
}

impl<'a> VideoTrack<'a> {
    pub(super) fn open(
        bytes: &'a [u8],
        kind: VideoKind,
        limits: &'a VideoLimits,
        until: Until,
    ) -> Result<Self, VideoError> {
        let failed = |e| failed(kind, limits, e);
        let mut input = Input::open(bytes, kind.demuxer(), until.clone()).map_err(failed)?;
        let stream = input
            .best_stream(AVMediaType::AVMEDIA_TYPE_VIDEO)
            .ok_or(VideoError::NoVideoStream { kind: kind.name() })?;
        if !CODECS.contains(&stream.codec) {
            return Err(VideoError::UnsupportedKind(format!(
                "the pictures of this {} file are coded as {}",
                kind.name(),
                codec_name(stream.codec)
            )));
        }
        let pixels = u64::try_from(stream.width).unwrap_or(0) * u64::try_from(stream.height).unwrap_or(0);
        if pixels > limits.pixels {
            return Err(VideoError::TooLarge {
                what: "pixels a frame",
                value: pixels,
                limit: limits.pixels,
            });
        }
        input.only(stream);
        Ok(Self {
            bytes,
            kind,
            limits,
            input,
            stream,
            until,
        })
    }

    /// Opens the file again, at its first packet.
    pub(super) fn reopen(&mut self) -> Result<(), VideoError> {
        *self = Self::open(self.bytes, self.kind, self.limits, self.until.clone())?;
        Ok(())
    }

    /// Reads the next packet; `false` at the end.
    pub(super) fn read(&mut self, packet: &mut Packet) -> Result<bool, VideoError> {
        let more = self
            .input
            .read(self.stream, packet)
            .map_err(|e| failed(self.kind, self.limits, e))?;
        if more && packet.is_corrupt() {
            return Err(self.damaged("the file ends within a packet"));
        }
        Ok(more)
    }

    pub(super) fn damaged(&self, reason: &str) -> VideoError {
        VideoError::Damaged {
            kind: self.kind.name(),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn has_others(&self) -> bool {
        self.input.count(AVMediaType::AVMEDIA_TYPE_VIDEO) > 1
    }

    pub(super) fn has_sound(&self) -> bool {
        self.input.has(AVMediaType::AVMEDIA_TYPE_AUDIO)
    }
}

/// A track's decoder, with what makes pictures of its frames.
pub(super) struct PictureDecoder {
    decoder: Decoder,
    frame: Frame,
    converter: RgbConverter,
    orientation: Orientation,
    kind: VideoKind,
    limits: VideoLimits,
    unit: (i32, i32),
    last_time: Option<i64>,
}

impl PictureDecoder {
    /// Opens the decoder of a track with so many threads.
    pub(super) fn open(track: &VideoTrack<'_>, threads: i32) -> Result<Self, VideoError> {
        let decoder = Decoder::open(&track.input, track.stream, threads, track.limits.pixels)
            .map_err(|e| failed(track.kind, track.limits, e))?;
        Ok(Self {
            decoder,
            // SAFETY: an empty frame; the decoder fills it.
            frame: unsafe { Frame::empty() },
            converter: RgbConverter::default(),
            orientation: Orientation::of(track.input.display_matrix(track.stream))?,
            kind: track.kind,
            limits: track.limits.clone(),
            unit: track.stream.time_base,
            last_time: None,
        })
    }

    /// Makes ready for another key frame.
    pub(super) fn restart(&mut self) {
        self.decoder.restart();
        self.last_time = None;
    }

    /// Decodes a packet, or with `None` what is left, and shows each frame that comes out to `each`.
    ///
    /// # Errors
    ///
    /// A frame with a fault, even if the decoder covered it up.
    pub(super) fn decode(
        &mut self,
        packet: Option<&Packet>,
        mut each: impl FnMut(&mut Decoded<'_>) -> Result<(), VideoError>,
    ) -> Result<(), VideoError> {
        let (kind, limits) = (self.kind, self.limits.clone());
        let failed = |e| failed(kind, &limits, e);
        self.decoder.send(packet).map_err(failed)?;
        while self.decoder.receive(&mut self.frame).map_err(failed)? == Received::Frame {
            // SAFETY: `frame` holds a decoded frame; its public fields are plain data.
            let raw = unsafe { &*self.frame.as_ptr() };
            if raw.decode_error_flags != 0 || raw.flags & AV_FRAME_FLAG_CORRUPT != 0 {
                return Err(VideoError::Damaged {
                    kind: kind.name(),
                    reason: "a frame cannot be decoded without guessing".to_owned(),
                });
            }
            let ticks = match raw.best_effort_timestamp {
                // AVI has no time stamps of its own: a unit is a frame.
                AV_NOPTS_VALUE if kind == VideoKind::Avi => self.last_time.map_or(0, |t| t.saturating_add(1)),
                AV_NOPTS_VALUE => {
                    return Err(VideoError::Damaged {
                        kind: kind.name(),
                        reason: "a frame has no time stamp".to_owned(),
                    });
                }
                ticks => ticks,
            };
            self.last_time = Some(ticks);
            each(&mut Decoded {
                time: FrameTime {
                    ticks,
                    unit: self.unit,
                },
                frame: &self.frame,
                converter: &mut self.converter,
                orientation: self.orientation,
                kind,
            })?;
        }
        Ok(())
    }
}

/// A frame that was just decoded and is not yet a picture.
pub(super) struct Decoded<'a> {
    pub(super) time: FrameTime,
    frame: &'a Frame,
    converter: &'a mut RgbConverter,
    orientation: Orientation,
    kind: VideoKind,
}

impl Decoded<'_> {
    /// The frame as RGB, turned the right way up.
    pub(super) fn picture(&mut self) -> Result<RgbFrame, VideoError> {
        let picture = self
            .converter
            .convert(self.frame)
            .ok_or_else(|| VideoError::Damaged {
                kind: self.kind.name(),
                reason: "a frame has an unknown form".to_owned(),
            })?;
        Ok(self.orientation.apply(picture))
    }
}

fn failed(kind: VideoKind, limits: &VideoLimits, error: LibavError) -> VideoError {
    match error {
        LibavError::OutOfTime => VideoError::OutOfTime { limit: limits.time },
        missing @ LibavError::Missing(_) => {
            VideoError::UnsupportedKind(format!("the {} file: {missing}", kind.name()))
        }
        other => VideoError::Damaged {
            kind: kind.name(),
            reason: other.to_string(),
        },
    }
}
