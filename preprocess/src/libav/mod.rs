//! FFmpeg's libraries: a demuxer over bytes in memory and a decoder, for video and for sound that has no decoder in
//! Rust.
//!
//! Nothing here opens a file or a socket: the demuxer is chosen by the caller from the first bytes, it reads from a
//! slice, and a file that points to another one is refused. All of this crate's `unsafe` is in this folder and in
//! the colour conversion of video.

mod decoder;
mod error;
mod input;

use std::ffi::CStr;

use ffmpeg_next::ffi::{AVCodecID, avcodec_get_name};

pub(crate) use decoder::{Decoder, Received};
pub(crate) use error::LibavError;
pub(crate) use input::{Input, Stream};

/// The name of a codec as FFmpeg's commands show it, for example `pcm_alaw`.
pub(crate) fn codec_name(codec: AVCodecID) -> String {
    // SAFETY: the call gives a static text for any value.
    let name = unsafe { CStr::from_ptr(avcodec_get_name(codec)) };
    name.to_string_lossy().into_owned()
}
