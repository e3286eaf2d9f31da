//! FFmpeg's libraries: a demuxer over bytes in memory and a decoder, for video and for sound that has no decoder in
//! Rust.
//!
//! Nothing here opens a file or a socket: the demuxer is chosen by the caller from the first bytes, it reads from a
//! slice, and a file that points to another one is refused. All of this crate's `unsafe` is in this folder and in
//! the colour conversion of video.

mod decoder;
mod error;
mod input;

pub(crate) use decoder::{Decoder, Received};
pub(crate) use error::LibavError;
pub(crate) use input::{Input, Stream};
