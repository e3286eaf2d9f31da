//! A demuxer that reads from bytes in memory.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Once;

use ffmpeg_next::Packet;
use ffmpeg_next::ffi::*;
use ffmpeg_next::packet::Mut as _;

use super::LibavError;
use crate::Until;

/// How much is read from the slice at a time.
const BUFFER: usize = 64 << 10;

/// An open file.
pub(crate) struct Input<'a> {
    context: NonNull<AVFormatContext>,
    io: NonNull<AVIOContext>,
    source: Box<Source<'a>>,
}

/// What the read and seek callbacks see.
struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
    until: Until,
}

/// One stream of an open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) index: c_int,
    /// The number that the file gives it: the track of an MP4.
    pub(crate) id: c_int,
    pub(crate) codec: AVCodecID,
    pub(crate) width: c_int,
    pub(crate) height: c_int,
    /// Whether pictures are stored as two fields, in as far as the file or the first packets say so.
    pub(crate) interlaced: bool,
    /// Seconds of one unit of a time stamp, as a fraction.
    pub(crate) time_base: (c_int, c_int),
    /// Pictures a second that the file declares, as a fraction; zero if it does not.
    pub(crate) frame_rate: (c_int, c_int),
}

impl<'a> Input<'a> {
    /// Opens `bytes` with one demuxer and reads on until the streams are known.
    ///
    /// # Errors
    ///
    /// The demuxer is missing, does not accept the bytes, or `until` is over.
    pub(crate) fn open(bytes: &'a [u8], demuxer: &CStr, until: Until) -> Result<Self, LibavError> {
        static QUIET: Once = Once::new();
        // SAFETY: sets a global integer; errors come back as codes, and standard error belongs to the server's log.
        QUIET.call_once(|| unsafe { av_log_set_level(AV_LOG_QUIET) });

        // SAFETY: `demuxer` is a C string that outlives the call.
        let format = unsafe { av_find_input_format(demuxer.as_ptr()) };
        if format.is_null() {
            return Err(LibavError::Missing(format!(
                "demuxer {}",
                demuxer.to_string_lossy()
            )));
        }
        let mut source = Box::new(Source { bytes, at: 0, until });
        let opaque = ptr::from_mut(source.as_mut()).cast::<c_void>();
        let io = new_io(opaque)?;
        // SAFETY: allocates; the result is checked.
        let context = unsafe { avformat_alloc_context() };
        let Some(mut context) = NonNull::new(context) else {
            free_io(io);
            return Err(out_of_memory("opening"));
        };
        // SAFETY: the context is new and this is its only user; `opaque` and `io` live as long as it does, in `Self`.
        unsafe {
            let context = context.as_mut();
            context.pb = io.as_ptr();
            context.io_open = Some(refuse_other_files);
            context.interrupt_callback = AVIOInterruptCB {
                callback: Some(is_late),
                opaque,
            };
        }
        let mut raw = context.as_ptr();
        // SAFETY: all pointers are valid; on failure the call frees the context and leaves `io` alone.
        let code = unsafe { avformat_open_input(&mut raw, ptr::null(), format, ptr::null_mut()) };
        if code < 0 {
            free_io(io);
            // Some demuxers call a refused read damage.
            return Err(if source.until.is_over() {
                LibavError::OutOfTime
            } else {
                LibavError::from_code("reading its header", code)
            });
        }
        let input = Self { context, io, source };
        // SAFETY: the context is open.
        let code = unsafe { avformat_find_stream_info(input.context.as_ptr(), ptr::null_mut()) };
        if code < 0 {
            return Err(LibavError::from_code("reading its streams", code));
        }
        input.in_time()?;
        Ok(input)
    }

    /// Whether there is time left.
    ///
    /// # Errors
    ///
    /// [`LibavError::OutOfTime`].
    pub(crate) fn in_time(&self) -> Result<(), LibavError> {
        if self.source.until.is_over() {
            return Err(LibavError::OutOfTime);
        }
        Ok(())
    }

    /// The stream of a medium that FFmpeg thinks the main one. Cover art is not a video stream.
    pub(crate) fn best_stream(&self, medium: AVMediaType) -> Option<Stream> {
        // SAFETY: the context is open; a null decoder pointer is allowed.
        let index = unsafe { av_find_best_stream(self.context.as_ptr(), medium, -1, -1, ptr::null_mut(), 0) };
        let raw = self.raw_streams().get(usize::try_from(index).ok()?)?;
        // SAFETY: an open context's streams and their parameters are valid until it is closed.
        let (stream, parameters) = unsafe { (&**raw, &*(**raw).codecpar) };
        if stream.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 {
            return None;
        }
        Some(Stream {
            index,
            id: stream.id,
            codec: parameters.codec_id,
            width: parameters.width,
            height: parameters.height,
            interlaced: !matches!(
                parameters.field_order,
                AVFieldOrder::AV_FIELD_UNKNOWN | AVFieldOrder::AV_FIELD_PROGRESSIVE
            ),
            time_base: (stream.time_base.num, stream.time_base.den),
            frame_rate: (stream.avg_frame_rate.num, stream.avg_frame_rate.den),
        })
    }

    /// Streams of this medium; cover art is none.
    pub(crate) fn count(&self, medium: AVMediaType) -> usize {
        // SAFETY: as in `best_stream`.
        let is = |stream: &&*mut AVStream| unsafe {
            let stream = &***stream;
            stream.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 && (*stream.codecpar).codec_type == medium
        };
        self.raw_streams().iter().filter(is).count()
    }

    /// Whether any stream is of this medium.
    pub(crate) fn has(&self, medium: AVMediaType) -> bool {
        self.count(medium) > 0
    }

    /// The length that the file declares, in microseconds.
    pub(crate) fn declared_microseconds(&self) -> Option<u64> {
        // SAFETY: the context is open.
        u64::try_from(unsafe { self.context.as_ref().duration }).ok()
    }

    /// The codec's own header, such as H.264's parameter sets.
    pub(crate) fn extradata(&self, stream: Stream) -> &[u8] {
        let parameters = self.parameters(stream);
        // SAFETY: the parameters are valid as long as `self`, and `extradata` has `extradata_size` bytes.
        unsafe {
            let (data, size) = ((*parameters).extradata, (*parameters).extradata_size);
            match usize::try_from(size) {
                Ok(size) if !data.is_null() => std::slice::from_raw_parts(data, size),
                _ => &[],
            }
        }
    }

    /// How the picture is to be turned: the stream's display matrix.
    pub(crate) fn display_matrix(&self, stream: Stream) -> Option<[i32; 9]> {
        let raw = self.raw_streams().get(stream.index as usize)?;
        // SAFETY: the stream is valid; the side data, if any, has `size` bytes.
        unsafe {
            let mut size = 0;
            let kind = AVPacketSideDataType::AV_PKT_DATA_DISPLAYMATRIX;
            let data = av_stream_get_side_data(*raw, kind, &mut size);
            (!data.is_null() && size >= size_of::<[i32; 9]>())
                .then(|| data.cast::<[i32; 9]>().read_unaligned())
        }
    }

    pub(super) fn parameters(&self, stream: Stream) -> *const AVCodecParameters {
        match self.raw_streams().get(stream.index as usize) {
            // SAFETY: the stream is valid.
            Some(raw) => unsafe { (**raw).codecpar },
            None => ptr::null(),
        }
    }

    /// Reads packets of this stream only from now on.
    pub(crate) fn only(&mut self, stream: Stream) {
        for (index, raw) in self.raw_streams().iter().enumerate() {
            // SAFETY: the streams are valid, and nobody else uses them during `&mut self`.
            unsafe {
                (**raw).discard = if index == stream.index as usize {
                    AVDiscard::AVDISCARD_DEFAULT
                } else {
                    AVDiscard::AVDISCARD_ALL
                };
            }
        }
    }

    /// Reads the next packet of `stream`; `false` at the end of the file.
    ///
    /// # Errors
    ///
    /// The file ends within a packet, is damaged, or the time is up.
    pub(crate) fn read(&mut self, stream: Stream, packet: &mut Packet) -> Result<bool, LibavError> {
        loop {
            self.in_time()?;
            // SAFETY: both are valid; an old packet is released first.
            let code = unsafe {
                av_packet_unref(packet.as_mut_ptr());
                av_read_frame(self.context.as_ptr(), packet.as_mut_ptr())
            };
            if code == AVERROR_EOF {
                self.in_time()?;
                return Ok(false);
            }
            if code < 0 {
                return Err(LibavError::from_code("reading a packet", code));
            }
            if packet.stream() == stream.index as usize {
                return Ok(true);
            }
        }
    }

    /// Goes to the key frame at or before a time stamp. Whether it did is for the caller to check.
    pub(crate) fn seek(&mut self, stream: Stream, time_stamp: i64) -> bool {
        // SAFETY: the context is open and the stream is one of its own.
        unsafe {
            av_seek_frame(
                self.context.as_ptr(),
                stream.index,
                time_stamp,
                AVSEEK_FLAG_BACKWARD,
            ) >= 0
        }
    }

    fn raw_streams(&self) -> &[*mut AVStream] {
        // SAFETY: an open context has `nb_streams` streams.
        unsafe {
            let context = self.context.as_ref();
            if context.streams.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(context.streams, context.nb_streams as usize)
        }
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        let mut raw = self.context.as_ptr();
        // SAFETY: opened in `open` and not used afterwards; with an own `pb` the call leaves that alone.
        unsafe { avformat_close_input(&mut raw) };
        free_io(self.io);
    }
}

fn new_io(opaque: *mut c_void) -> Result<NonNull<AVIOContext>, LibavError> {
    // SAFETY: the buffer is FFmpeg's own allocation, as the call asks, and is freed in `free_io`, or here.
    unsafe {
        let mut buffer = av_malloc(BUFFER);
        if buffer.is_null() {
            return Err(out_of_memory("opening"));
        }
        let io = avio_alloc_context(
            buffer.cast(),
            BUFFER as c_int,
            0,
            opaque,
            Some(read_slice),
            None,
            Some(seek_slice),
        );
        NonNull::new(io).ok_or_else(|| {
            av_freep(ptr::from_mut(&mut buffer).cast());
            out_of_memory("opening")
        })
    }
}

fn free_io(io: NonNull<AVIOContext>) {
    let mut raw = io.as_ptr();
    // SAFETY: made by `new_io`, freed once; FFmpeg may have replaced the buffer, so it is taken from the context.
    unsafe {
        av_freep(ptr::addr_of_mut!((*raw).buffer).cast());
        avio_context_free(&mut raw);
    }
}

pub(super) fn out_of_memory(step: &'static str) -> LibavError {
    LibavError::from_code(step, AVERROR(ENOMEM))
}

unsafe extern "C" fn read_slice(opaque: *mut c_void, buffer: *mut u8, size: c_int) -> c_int {
    // SAFETY: `opaque` is the boxed `Source` of the `Input` that is reading.
    let source = unsafe { &mut *opaque.cast::<Source<'_>>() };
    if source.until.is_over() {
        return AVERROR_EXIT;
    }
    let left = source.bytes.get(source.at..).unwrap_or_default();
    let count = left.len().min(usize::try_from(size).unwrap_or(0));
    if count == 0 {
        return AVERROR_EOF;
    }
    // SAFETY: `buffer` has room for `size` bytes and is no part of the slice.
    unsafe { ptr::copy_nonoverlapping(left.as_ptr(), buffer, count) };
    source.at += count;
    count as c_int
}

unsafe extern "C" fn seek_slice(opaque: *mut c_void, offset: i64, whence: c_int) -> i64 {
    // SAFETY: as in `read_slice`.
    let source = unsafe { &mut *opaque.cast::<Source<'_>>() };
    let length = source.bytes.len() as i64;
    let base = match whence & !AVSEEK_FORCE {
        AVSEEK_SIZE => return length,
        SEEK_SET => 0,
        SEEK_CUR => source.at as i64,
        SEEK_END => length,
        _ => return i64::from(AVERROR(EINVAL)),
    };
    match base.checked_add(offset).map(usize::try_from) {
        Some(Ok(at)) => {
            source.at = at;
            at as i64
        }
        _ => i64::from(AVERROR(EINVAL)),
    }
}

unsafe extern "C" fn is_late(opaque: *mut c_void) -> c_int {
    // SAFETY: as in `read_slice`, and the field is never written after the box was made.
    let until = unsafe { &(*opaque.cast::<Source<'_>>()).until };
    c_int::from(until.is_over())
}

unsafe extern "C" fn refuse_other_files(
    _: *mut AVFormatContext,
    _: *mut *mut AVIOContext,
    _: *const std::ffi::c_char,
    _: c_int,
    _: *mut *mut AVDictionary,
) -> c_int {
    AVERROR(EPERM)
}
