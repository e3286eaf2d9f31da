//! A decoder of one stream.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use ffmpeg_next::Packet;
use ffmpeg_next::ffi::*;
use ffmpeg_next::packet::Ref as _;

use super::input::out_of_memory;
use super::{Input, LibavError, Stream, codec_name};

const MPEG_FAMILY: [AVCodecID; 4] = [
    AVCodecID::AV_CODEC_ID_MPEG4,
    AVCodecID::AV_CODEC_ID_MSMPEG4V3,
    AVCodecID::AV_CODEC_ID_H263,
    AVCodecID::AV_CODEC_ID_MPEG2VIDEO,
];

/// An open decoder.
pub(crate) struct Decoder {
    context: NonNull<AVCodecContext>,
}

/// What a decoder had to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// A frame.
    Frame,
    /// Nothing until it gets another packet.
    Again,
    /// Nothing more at all.
    End,
}

impl Decoder {
    /// Opens the decoder of a stream with `threads` threads. Pictures of more than `max_pixels` are errors.
    ///
    /// # Errors
    ///
    /// FFmpeg was built without this decoder, or it does not accept the stream's header.
    pub(crate) fn open(
        input: &Input<'_>,
        stream: Stream,
        threads: c_int,
        max_pixels: u64,
    ) -> Result<Self, LibavError> {
        // SAFETY: a look-up in a static table.
        let codec = unsafe { avcodec_find_decoder(stream.codec) };
        if codec.is_null() {
            return Err(LibavError::Missing(format!(
                "decoder for {}",
                codec_name(stream.codec)
            )));
        }
        // SAFETY: allocates; the result is checked.
        let context = unsafe { avcodec_alloc_context3(codec) };
        let mut decoder = Self {
            context: NonNull::new(context).ok_or_else(|| out_of_memory("opening the decoder"))?,
        };
        // SAFETY: the context is new; the parameters live as long as `input`.
        let code =
            unsafe { avcodec_parameters_to_context(decoder.context.as_ptr(), input.parameters(stream)) };
        if code < 0 {
            return Err(LibavError::from_code("reading the codec's header", code));
        }
        // SAFETY: the context is not open yet and has no other user.
        unsafe {
            let context = decoder.context.as_mut();
            // Decoders of this family that stop at damage end the process where several threads decode frames (FFmpeg 5.1,
            // an assertion in decode.c).
            context.thread_count = if MPEG_FAMILY.contains(&stream.codec) {
                1
            } else {
                threads
            };
            // Damage is an error, never something to guess over.
            context.err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
            context.error_concealment = 0;
            context.max_pixels = i64::try_from(max_pixels).unwrap_or(i64::MAX);
            context.pkt_timebase = AVRational {
                num: stream.time_base.0,
                den: stream.time_base.1,
            };
        }
        // SAFETY: the context was made for this codec; no options.
        let code = unsafe { avcodec_open2(decoder.context.as_ptr(), codec, ptr::null_mut()) };
        if code < 0 {
            return Err(LibavError::from_code("opening the decoder", code));
        }
        Ok(decoder)
    }

    /// Gives the decoder a packet, or tells it with `None` that there are no more. All frames must have been received
    /// before, or the packet is not taken: `false`.
    ///
    /// # Errors
    ///
    /// The packet is damaged.
    pub(crate) fn send(&mut self, packet: Option<&Packet>) -> Result<bool, LibavError> {
        let raw = packet.map_or(ptr::null(), |p| p.as_ptr());
        // SAFETY: the context is open, the packet valid or null.
        let code = unsafe { avcodec_send_packet(self.context.as_ptr(), raw) };
        match code {
            0.. => Ok(true),
            _ if code == AVERROR(EAGAIN) => Ok(false),
            // Draining a decoder that is drained already.
            AVERROR_EOF if packet.is_none() => Ok(true),
            _ => Err(LibavError::from_code("decoding", code)),
        }
    }

    /// Takes the next frame, if there is one.
    ///
    /// # Errors
    ///
    /// A packet that was sent before is damaged.
    pub(crate) fn receive(&mut self, frame: &mut ffmpeg_next::Frame) -> Result<Received, LibavError> {
        // SAFETY: both are valid; the old content of the frame is released by the call.
        let code = unsafe { avcodec_receive_frame(self.context.as_ptr(), frame.as_mut_ptr()) };
        match code {
            0.. => Ok(Received::Frame),
            _ if code == AVERROR(EAGAIN) => Ok(Received::Again),
            AVERROR_EOF => Ok(Received::End),
            _ => Err(LibavError::from_code("decoding", code)),
        }
    }

    /// Forgets all packets and frames, so that decoding can start at another key frame.
    pub(crate) fn restart(&mut self) {
        // SAFETY: the context is open.
        unsafe { avcodec_flush_buffers(self.context.as_ptr()) };
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        let mut raw = self.context.as_ptr();
        // SAFETY: made in `open`, freed once.
        unsafe { avcodec_free_context(&mut raw) };
    }
}
