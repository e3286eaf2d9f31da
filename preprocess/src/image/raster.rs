//! PNG, WebP, GIF and BMP by the decoders of the crate `image`.

use std::io::Cursor;

use image::codecs::{bmp::BmpDecoder, gif::GifDecoder, png::PngDecoder, webp::WebPDecoder};
use image::{ColorType, ImageDecoder, Limits};

use super::limits::Claim;
use super::opaque::{self, Layout};
use super::{DecodedImage, ImageError, ImageKind, ImageLimits, Orientation};

pub(super) fn decode(
    kind: ImageKind,
    bytes: &[u8],
    limits: &ImageLimits,
) -> Result<DecodedImage, ImageError> {
    let failed = |error| failure(kind, limits, error);
    let source = Cursor::new(bytes);
    match kind {
        ImageKind::Png => {
            let decoder =
                PngDecoder::with_limits(source, allocation(limits.decoding_bytes)).map_err(failed)?;
            let others = decoder.is_apng().map_err(failed)?;
            read(kind, decoder, 0, others, limits)
        }
        ImageKind::WebP => {
            let decoder = WebPDecoder::new(source).map_err(failed)?;
            let others = decoder.has_animation();
            // Planes or a second buffer of four channels while the result is written.
            read(kind, decoder, 4, others, limits)
        }
        ImageKind::Gif => {
            let decoder = GifDecoder::new(source).map_err(failed)?;
            // A frame that is smaller than the picture is decoded beside it.
            read(kind, decoder, 4, gif_has_others(bytes), limits)
        }
        _ => read(kind, BmpDecoder::new(source).map_err(failed)?, 0, false, limits),
    }
}

/// Whether there is a second frame; its pixels are not decoded.
fn gif_has_others(bytes: &[u8]) -> bool {
    let mut options = gif::DecodeOptions::new();
    options.skip_frame_decoding(true);
    // What is broken behind the first frame is no part of the picture.
    options.read_info(bytes).is_ok_and(|mut decoder| {
        let mut next = || decoder.next_frame_info().is_ok_and(|frame| frame.is_some());
        next() && next()
    })
}

/// Decodes with a decoder that holds `working_bytes` per pixel beside its result.
fn read(
    kind: ImageKind,
    mut decoder: impl ImageDecoder,
    working_bytes: u64,
    others: bool,
    limits: &ImageLimits,
) -> Result<DecodedImage, ImageError> {
    let failed = |error| failure(kind, limits, error);
    let (width, height) = decoder.dimensions();
    let claim = Claim { kind, width, height };
    let colour = decoder.color_type();
    let layout = layout(colour).ok_or_else(|| ImageError::UnsupportedFeature {
        kind,
        feature: format!("samples of type {colour:?}"),
    })?;
    let per_pixel = layout.bytes() + working_bytes.max(layout.extra_bytes());
    limits.check_header(claim, claim.pixels().saturating_mul(per_pixel))?;
    let pixel_bytes = claim.pixels().saturating_mul(layout.bytes());
    decoder
        .set_limits(allocation(limits.decoding_bytes.saturating_sub(pixel_bytes)))
        .map_err(failed)?;
    // A broken EXIF block is no reason to refuse the picture.
    let exif = decoder.exif_metadata().ok().flatten();
    let orientation = exif.map_or(Orientation::UPRIGHT, |block| Orientation::from_exif_block(&block));
    // The limits have bounded it; on 64-bit machines every such length is a usize.
    let mut pixels = vec![0; usize::try_from(pixel_bytes).unwrap_or(usize::MAX)];
    decoder.read_image(&mut pixels).map_err(failed)?;
    Ok(DecodedImage {
        kind,
        width,
        height,
        orientation,
        rgb: opaque::to_rgb(pixels, layout).into(),
        others,
    })
}

fn layout(colour: ColorType) -> Option<Layout> {
    Some(match colour {
        ColorType::L8 => Layout::Grey8,
        ColorType::La8 => Layout::GreyAlpha8,
        ColorType::Rgb8 => Layout::Rgb8,
        ColorType::Rgba8 => Layout::Rgba8,
        ColorType::L16 => Layout::Grey16,
        ColorType::La16 => Layout::GreyAlpha16,
        ColorType::Rgb16 => Layout::Rgb16,
        ColorType::Rgba16 => Layout::Rgba16,
        _ => return None,
    })
}

fn allocation(bytes: u64) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(bytes);
    limits
}

fn failure(kind: ImageKind, limits: &ImageLimits, error: image::ImageError) -> ImageError {
    match error {
        image::ImageError::Unsupported(error) => ImageError::UnsupportedFeature {
            kind,
            feature: error.to_string(),
        },
        image::ImageError::Limits(_) => ImageError::Damaged {
            kind,
            reason: format!(
                "a part of it claims more than the {} bytes that decoding may take",
                limits.decoding_bytes
            ),
        },
        error => ImageError::Damaged {
            kind,
            reason: error.to_string(),
        },
    }
}
