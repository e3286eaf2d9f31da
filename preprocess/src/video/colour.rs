//! From a decoded frame to RGB bytes, as FFmpeg's command does with `-pix_fmt rgb24`: libswscale, bicubic, with the
//! frame's own matrix and range, and BT.601 where the file names none.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};

use ffmpeg_next::ffi::*;

use super::RgbFrame;

/// What a conversion depends on: size, pixel format, matrix, range.
type Form = (c_int, c_int, c_int, c_int, c_int);

/// Converts frames; keeps its tables as long as frames stay alike.
#[derive(Default)]
pub(super) struct RgbConverter {
    open: Option<(Form, Scaler)>,
    /// Rows with the alignment and slack that libswscale's vector code wants.
    padded: Vec<u8>,
}

impl RgbConverter {
    /// The picture of a frame; `None` if libswscale refuses it.
    pub(super) fn convert(&mut self, frame: &ffmpeg_next::Frame) -> Option<RgbFrame> {
        // SAFETY: `frame` holds a decoded frame; its public fields are plain data.
        let raw = unsafe { &*frame.as_ptr() };
        let form = (
            raw.width,
            raw.height,
            raw.format,
            raw.colorspace as c_int,
            raw.color_range as c_int,
        );
        if !matches!(&self.open, Some((open, _)) if *open == form) {
            let scaler = Scaler::new(form)?;
            self.open = Some((form, scaler));
        }
        let (_, scaler) = self.open.as_ref()?;
        let (width, height) = (
            usize::try_from(raw.width).ok()?,
            usize::try_from(raw.height).ok()?,
        );
        let row = width * 3;
        let stride = row.next_multiple_of(64) + 64;
        self.padded.resize(stride * height + 64, 0);
        let start = self.padded.as_ptr().align_offset(64);
        let pixels = self.padded.get_mut(start..start + stride * height)?;
        let planes = [
            pixels.as_mut_ptr(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        ];
        let strides = [c_int::try_from(stride).ok()?, 0, 0, 0];
        // SAFETY: the scaler was made for this form of frame; `planes` has `height` rows of `stride` bytes, more than
        // RGB24 of this width needs.
        let rows = unsafe {
            sws_scale(
                scaler.0.as_ptr(),
                raw.data.as_ptr().cast(),
                raw.linesize.as_ptr(),
                0,
                raw.height,
                planes.as_ptr(),
                strides.as_ptr(),
            )
        };
        if rows != raw.height {
            return None;
        }
        let mut rgb = Vec::with_capacity(row * height);
        for line in pixels.chunks_exact(stride) {
            rgb.extend_from_slice(&line[..row]);
        }
        Some(RgbFrame { rgb, width, height })
    }
}

struct Scaler(NonNull<SwsContext>);

impl Scaler {
    fn new((width, height, format, colorspace, range): Form) -> Option<Self> {
        // SAFETY: allocates; the result is checked.
        let scaler = Self(NonNull::new(unsafe { sws_alloc_context() })?);
        let set = |name: &CStr, value: c_int| {
            // SAFETY: the context has options; an unknown name is an error code, not undefined.
            unsafe { av_opt_set_int(scaler.0.as_ptr().cast(), name.as_ptr(), i64::from(value), 0) >= 0 }
        };
        let mut done = set(c"srcw", width)
            && set(c"srch", height)
            && set(c"dstw", width)
            && set(c"dsth", height)
            && set(c"src_format", format)
            && set(c"dst_format", AVPixelFormat::AV_PIX_FMT_RGB24 as c_int)
            && set(c"sws_flags", SWS_BICUBIC as c_int);
        if format == AVPixelFormat::AV_PIX_FMT_YUV420P as c_int {
            // Where MPEG-2 and later put the chroma samples; the command sets it for this format alone.
            done &= set(c"src_v_chr_pos", 128);
        }
        // SAFETY: all options are set; no filters.
        if !done || unsafe { sws_init_context(scaler.0.as_ptr(), ptr::null_mut(), ptr::null_mut()) } < 0 {
            return None;
        }
        scaler.set_colours(colorspace, range);
        Some(scaler)
    }

    fn set_colours(&self, colorspace: c_int, range: c_int) {
        let named = matches!(colorspace, 1..=7 | 9 | 10);
        let (mut inverse, mut table) = (ptr::null_mut(), ptr::null_mut());
        let (mut from_full, mut to_full, mut brightness, mut contrast, mut saturation) = (0, 0, 0, 0, 0);
        // SAFETY: the context is initialised and all pointers are valid. The tables are static. A negative code means
        // that the conversion has no matrix (RGB or grey), and then there is nothing to set.
        unsafe {
            let code = sws_getColorspaceDetails(
                self.0.as_ptr(),
                &mut inverse,
                &mut from_full,
                &mut table,
                &mut to_full,
                &mut brightness,
                &mut contrast,
                &mut saturation,
            );
            if code < 0 {
                return;
            }
            let matrix = sws_getCoefficients(if named {
                colorspace
            } else {
                SWS_CS_DEFAULT as c_int
            });
            if range != AVColorRange::AVCOL_RANGE_UNSPECIFIED as c_int {
                from_full = c_int::from(range == AVColorRange::AVCOL_RANGE_JPEG as c_int);
            }
            sws_setColorspaceDetails(
                self.0.as_ptr(),
                matrix,
                from_full,
                matrix,
                to_full,
                brightness,
                contrast,
                saturation,
            );
        }
    }
}

impl Drop for Scaler {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { sws_freeContext(self.0.as_ptr()) };
    }
}
