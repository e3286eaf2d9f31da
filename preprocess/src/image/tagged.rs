//! TIFF, the tagged image file format: grey, RGB and CMYK of 1, 8 or 16 bits; of several pages the first.

use std::io::Cursor;

use tiff::decoder::{Decoder, Limits};
use tiff::tags::{SampleFormat, Tag};
use tiff::{ColorType, TiffError};

use super::limits::Claim;
use super::opaque::{self, Layout};
use super::{DecodedImage, ImageError, ImageKind, ImageLimits, Orientation};

/// Value of the tag for extra samples that means opacity by which the colours are not multiplied yet.
const PLAIN_ALPHA: u16 = 2;

pub(super) fn decode(bytes: &[u8], limits: &ImageLimits) -> Result<DecodedImage, ImageError> {
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(failure)?;
    let (width, height) = decoder.dimensions().map_err(failure)?;
    let claim = Claim {
        kind: ImageKind::Tiff,
        width,
        height,
    };
    let (samples, layout) = samples(&mut decoder)?;
    let row = samples.row_bytes(width);
    let stored = row.saturating_mul(u64::from(height));
    let expanded = if samples == Samples::Bits {
        claim.pixels()
    } else {
        0
    };
    let rgb = claim.pixels().saturating_mul(layout.extra_bytes());
    limits.check_header(claim, stored.saturating_add(expanded).saturating_add(rgb))?;

    // No tag is needed here that is longer than the file.
    let mut allowed = Limits::default();
    allowed.decoding_buffer_size = usize_of(stored);
    allowed.intermediate_buffer_size = usize_of(limits.decoding_bytes.saturating_sub(stored));
    let mut decoder = decoder.with_limits(allowed);
    let plan = decoder.image_buffer_layout().map_err(failure)?;
    if plan.planes != 1 || plan.sample_format != SampleFormat::Uint || plan.len as u64 != stored {
        return Err(unsupported(
            "samples that are not unsigned, or one plane per colour".to_owned(),
        ));
    }
    let orientation = match decoder
        .find_tag_unsigned::<u16>(Tag::Orientation)
        .map_err(failure)?
    {
        Some(value) => Orientation::from_exif(u8::try_from(value).unwrap_or_default()),
        None => Orientation::UPRIGHT,
    };
    let mut pixels = vec![0; plan.len];
    decoder.read_image_bytes(&mut pixels).map_err(failure)?;
    if samples == Samples::Bits {
        pixels = unpacked(&pixels, usize_of(row), width);
    }
    Ok(DecodedImage {
        kind: ImageKind::Tiff,
        width,
        height,
        orientation,
        rgb: opaque::to_rgb(pixels, layout).into(),
        others: decoder.more_images(),
    })
}

/// How samples are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Samples {
    /// One bit per pixel, rows padded to whole bytes.
    Bits,
    /// Whole bytes, this many per pixel.
    Bytes(u64),
}

impl Samples {
    fn row_bytes(self, width: u32) -> u64 {
        match self {
            Self::Bits => u64::from(width).div_ceil(8),
            Self::Bytes(per_pixel) => u64::from(width) * per_pixel,
        }
    }
}

fn samples(decoder: &mut Decoder<Cursor<&[u8]>>) -> Result<(Samples, Layout), ImageError> {
    let colour = decoder.colortype().map_err(failure)?;
    let extra = decoder
        .find_tag_unsigned_vec::<u16>(Tag::ExtraSamples)
        .map_err(failure)?
        .unwrap_or_default();
    let layout = match (colour, extra.as_slice()) {
        (ColorType::Gray(1), []) => return Ok((Samples::Bits, Layout::Grey8)),
        (ColorType::Gray(8), []) => Layout::Grey8,
        (ColorType::Gray(16), []) => Layout::Grey16,
        (
            ColorType::Multiband {
                bit_depth: 8,
                num_samples: 2,
            },
            [PLAIN_ALPHA],
        ) => Layout::GreyAlpha8,
        (
            ColorType::Multiband {
                bit_depth: 16,
                num_samples: 2,
            },
            [PLAIN_ALPHA],
        ) => Layout::GreyAlpha16,
        (ColorType::RGB(8), []) => Layout::Rgb8,
        (ColorType::RGB(16), []) => Layout::Rgb16,
        (ColorType::RGBA(8), [PLAIN_ALPHA]) => Layout::Rgba8,
        (ColorType::RGBA(16), [PLAIN_ALPHA]) => Layout::Rgba16,
        (ColorType::CMYK(8), []) => Layout::Cmyk8,
        (colour, extra) => {
            return Err(unsupported(format!(
                "colours of type {colour:?} and extra samples of types {extra:?}"
            )));
        }
    };
    Ok((Samples::Bytes(layout.bytes()), layout))
}

/// One byte per pixel, 0 or 255.
fn unpacked(bits: &[u8], row_bytes: usize, width: u32) -> Vec<u8> {
    let mut grey = Vec::new();
    for row in bits.chunks_exact(row_bytes) {
        let pixels = row
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |bit| (byte >> bit & 1) * 255));
        grey.extend(pixels.take(width as usize));
    }
    grey
}

/// Lengths that the limits have bounded; on 64-bit machines each is a usize.
fn usize_of(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn unsupported(feature: String) -> ImageError {
    ImageError::UnsupportedFeature {
        kind: ImageKind::Tiff,
        feature,
    }
}

fn failure(error: TiffError) -> ImageError {
    match error {
        TiffError::UnsupportedError(error) => unsupported(error.to_string()),
        error => ImageError::Damaged {
            kind: ImageKind::Tiff,
            reason: error.to_string(),
        },
    }
}
