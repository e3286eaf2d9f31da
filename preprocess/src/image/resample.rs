//! Two passes over 8-bit RGB, first along what is upright a row, then along what is upright a column.
//!
//! Each pass ends in bytes, so the order of the passes and the rounding between them are part of the result.

use std::ops::Deref;

use super::bicubic::{AxisFilter, Window};
use super::scratch::Scratch;
use super::{ImageError, Orientation, PatchGrid};

/// Bytes of one pixel.
pub(super) const CHANNELS: usize = 3;

/// RGB pixels of a known size, rows without padding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picture<'a> {
    rgb: &'a [u8],
    width: u32,
    height: u32,
}

impl<'a> Picture<'a> {
    pub(super) fn new(rgb: &'a [u8], width: u32, height: u32) -> Result<Self, ImageError> {
        let bytes = (u64::from(width) * u64::from(height)).saturating_mul(CHANNELS as u64);
        if bytes == 0 || rgb.len() as u64 != bytes {
            return Err(ImageError::Pixels {
                width,
                height,
                bytes: rgb.len(),
            });
        }
        Ok(Self { rgb, width, height })
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn height(&self) -> u32 {
        self.height
    }
}

/// Which instructions the passes use; all of them give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Kernel {
    /// The fastest that this machine runs.
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }
}

/// The picture, turned upright and resampled to the size of `grid`: RGB rows without padding.
pub(super) fn resample(
    picture: Picture<'_>,
    orientation: Orientation,
    grid: PatchGrid,
    kernel: Kernel,
) -> Scratch {
    let (width, height) = orientation.upright_size(picture.width, picture.height);
    let along_x = AxisFilter::new(width, grid.width(), orientation.mirrored_x);
    let along_y = AxisFilter::new(height, grid.height(), orientation.mirrored_y);
    let stored_row = picture.width as usize * CHANNELS;
    let target_row = grid.width() as usize * CHANNELS;
    if orientation.transposed {
        let stored = columns(picture.rgb, stored_row, &along_x, kernel);
        let stored = rows(&stored, stored_row, &along_y, kernel);
        transpose(&stored, grid.height() as usize).into()
    } else {
        let stored = rows(picture.rgb, stored_row, &along_x, kernel);
        columns(&stored, target_row, &along_y, kernel).into_new()
    }
}

/// What a pass gives.
enum Passed<'a> {
    /// The source, which has its length already.
    Same(&'a [u8]),
    New(Scratch),
}

impl Passed<'_> {
    fn into_new(self) -> Scratch {
        match self {
            Self::Same(source) => source.to_vec().into(),
            Self::New(target) => target,
        }
    }
}

impl Deref for Passed<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Same(source) => source,
            Self::New(target) => target,
        }
    }
}

/// Filters every row of `row_bytes` bytes.
fn rows<'a>(source: &'a [u8], row_bytes: usize, filter: &AxisFilter, kernel: Kernel) -> Passed<'a> {
    if filter.is_identity() {
        return Passed::Same(source);
    }
    let mut target = Scratch::take(source.len() / row_bytes.max(1) * filter.len() * CHANNELS);
    match kernel {
        Kernel::Portable => portable_rows(source, row_bytes, filter, &mut target),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this kernel is only chosen where the machine has AVX2.
        Kernel::Avx2 => unsafe { super::resample_avx2::rows(source, row_bytes, filter, &mut target) },
    }
    Passed::New(target.into())
}

/// Filters every column; rows have `row_bytes` bytes.
fn columns<'a>(source: &'a [u8], row_bytes: usize, filter: &AxisFilter, kernel: Kernel) -> Passed<'a> {
    if filter.is_identity() {
        return Passed::Same(source);
    }
    let mut target = Scratch::take(row_bytes * filter.len());
    for (window, target) in filter.windows().zip(target.chunks_exact_mut(row_bytes.max(1))) {
        let source = source.get(window.start * row_bytes..).unwrap_or_default();
        match kernel {
            Kernel::Portable => {
                portable_column_sums(source, row_bytes, window, filter.fraction_bits(), 0, target)
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this kernel is only chosen where the machine has AVX2.
            Kernel::Avx2 => unsafe {
                super::resample_avx2::column_sums(source, row_bytes, window, filter.fraction_bits(), target);
            },
        }
    }
    Passed::New(target.into())
}

fn portable_rows(source: &[u8], row_bytes: usize, filter: &AxisFilter, target: &mut [u8]) {
    let bits = filter.fraction_bits();
    let target_row = filter.len() * CHANNELS;
    for (source, target) in source
        .chunks_exact(row_bytes)
        .zip(target.chunks_exact_mut(target_row))
    {
        let (pixels, _) = source.as_chunks::<CHANNELS>();
        let (targets, _) = target.as_chunks_mut::<CHANNELS>();
        for (window, target) in filter.windows().zip(targets) {
            let mut sums = [half(bits); CHANNELS];
            for (pixel, &weight) in pixels.iter().skip(window.start).zip(window.weights) {
                for (sum, &byte) in sums.iter_mut().zip(pixel) {
                    *sum += i32::from(byte) * i32::from(weight);
                }
            }
            *target = sums.map(|sum| to_byte(sum, bits));
        }
    }
}

/// One row of column sums from byte `from` on; `source` starts with the window's first row.
pub(super) fn portable_column_sums(
    source: &[u8],
    row_bytes: usize,
    window: Window<'_>,
    bits: u32,
    from: usize,
    target: &mut [u8],
) {
    for (at, target) in target.iter_mut().enumerate().skip(from) {
        let column = source.iter().skip(at).step_by(row_bytes);
        let sum = column
            .zip(window.weights)
            .fold(half(bits), |sum, (&byte, &weight)| {
                sum + i32::from(byte) * i32::from(weight)
            });
        *target = to_byte(sum, bits);
    }
}

/// One half in fixed point.
pub(super) fn half(bits: u32) -> i32 {
    1 << (bits - 1)
}

fn to_byte(sum: i32, bits: u32) -> u8 {
    (sum >> bits).clamp(0, 255) as u8
}

/// Rows become columns; `row` pixels per row.
fn transpose(source: &[u8], row: usize) -> Vec<u8> {
    let (pixels, _) = source.as_chunks::<CHANNELS>();
    let mut target = Vec::with_capacity(source.len());
    for column in 0..row {
        target.extend(pixels.iter().skip(column).step_by(row.max(1)).flatten());
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::SoftTokenBudget;

    /// The same noise every time, with long runs of black and white that overshoot.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 20_261_202_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u8
        };
        (0..bytes)
            .map(|_| {
                let byte = next();
                if next() < 80 { (byte >> 7) * 255 } else { byte }
            })
            .collect()
    }

    #[test]
    fn every_kernel_gives_the_same_bytes() {
        let sizes = [
            (1, 1),
            (2, 3),
            (7, 5),
            (53, 37),
            (48, 48),
            (3, 1000),
            (1000, 3),
            (301, 997),
            (1280, 721),
            (5000, 40),
        ];
        for (width, height) in sizes {
            let rgb = noise(width as usize * height as usize * CHANNELS);
            let picture = Picture::new(&rgb, width, height).unwrap();
            for exif in 1..=8 {
                let orientation = Orientation::from_exif(exif);
                let (x, y) = orientation.upright_size(width, height);
                let grid = SoftTokenBudget::Tokens140.grid(x, y);
                let portable = resample(picture, orientation, grid, Kernel::Portable);
                assert_eq!(
                    portable.len(),
                    grid.width() as usize * grid.height() as usize * CHANNELS
                );
                let fastest = resample(picture, orientation, grid, Kernel::best());
                assert!(portable == fastest, "{width} x {height}, orientation {exif}");
            }
        }
    }
}
