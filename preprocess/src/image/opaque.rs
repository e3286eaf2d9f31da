//! Other layouts of pixels to opaque 8-bit RGB, in place where the result is not larger.
//!
//! Rounding is that of Pillow, which the reference pipeline decodes with; of 16-bit samples the high byte is kept, as
//! Pillow does for colour.

use super::resample::CHANNELS;

/// How the samples of a decoded picture are laid out, rows without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Grey8,
    GreyAlpha8,
    Rgb8,
    Rgba8,
    /// Samples of 16 bits in this machine's byte order, as are the next three.
    Grey16,
    GreyAlpha16,
    Rgb16,
    Rgba16,
    /// Ink from 0, none, to 255.
    Cmyk8,
    /// Ink from 255, none, to 0, as in JPEG files.
    CmykInverted8,
}

impl Layout {
    /// Bytes of one pixel.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Grey8 => 1,
            Self::GreyAlpha8 | Self::Grey16 => 2,
            Self::Rgb8 => 3,
            Self::Rgba8 | Self::GreyAlpha16 | Self::Cmyk8 | Self::CmykInverted8 => 4,
            Self::Rgb16 => 6,
            Self::Rgba16 => 8,
        }
    }

    /// Bytes per pixel that [`to_rgb`] adds to those of the layout.
    pub(super) fn extra_bytes(self) -> u64 {
        if self.bytes() < CHANNELS as u64 {
            CHANNELS as u64
        } else {
            0
        }
    }
}

/// Opaque RGB of the pixels: transparency is laid over white.
pub(super) fn to_rgb(pixels: Vec<u8>, layout: Layout) -> Vec<u8> {
    match layout {
        Layout::Rgb8 => pixels,
        Layout::Grey8 => larger(&pixels, |&[grey]| [grey; CHANNELS]),
        Layout::GreyAlpha8 => larger(&pixels, |&[grey, alpha]| [over_white(grey, alpha); CHANNELS]),
        Layout::Grey16 => larger(&pixels, |&[a, b]| [high([a, b]); CHANNELS]),
        Layout::GreyAlpha16 => smaller(pixels, |&[a, b, c, d]| {
            [over_white(high([a, b]), high([c, d])); CHANNELS]
        }),
        Layout::Rgba8 => smaller(pixels, |&[r, g, b, alpha]| {
            [r, g, b].map(|byte| over_white(byte, alpha))
        }),
        Layout::Rgb16 => smaller(pixels, |&[a, b, c, d, e, f]| {
            [high([a, b]), high([c, d]), high([e, f])]
        }),
        Layout::Rgba16 => smaller(pixels, |&[a, b, c, d, e, f, g, h]| {
            [[a, b], [c, d], [e, f]].map(|sample| over_white(high(sample), high([g, h])))
        }),
        Layout::Cmyk8 => smaller(pixels, |&[c, m, y, k]| [c, m, y].map(|ink| printed(ink, 255 - k))),
        Layout::CmykInverted8 => smaller(pixels, |&[c, m, y, k]| {
            [c, m, y].map(|paper| printed(255 - paper, k))
        }),
    }
}

fn larger<const N: usize>(pixels: &[u8], rgb: impl Fn(&[u8; N]) -> [u8; CHANNELS]) -> Vec<u8> {
    let (pixels, _) = pixels.as_chunks::<N>();
    let mut target = Vec::with_capacity(pixels.len() * CHANNELS);
    pixels
        .iter()
        .for_each(|pixel| target.extend_from_slice(&rgb(pixel)));
    target
}

/// Each result is written where pixels have been read already.
fn smaller<const N: usize>(mut pixels: Vec<u8>, rgb: impl Fn(&[u8; N]) -> [u8; CHANNELS]) -> Vec<u8> {
    let count = pixels.len() / N;
    for i in 0..count {
        let Some(pixel) = pixels.get(i * N..).and_then(<[u8]>::first_chunk) else {
            break;
        };
        let result = rgb(pixel);
        if let Some(target) = pixels.get_mut(i * CHANNELS..(i + 1) * CHANNELS) {
            target.copy_from_slice(&result);
        }
    }
    pixels.truncate(count * CHANNELS);
    pixels.shrink_to_fit();
    pixels
}

/// The high byte of a 16-bit sample.
fn high(sample: [u8; 2]) -> u8 {
    let [high, _] = u16::from_ne_bytes(sample).to_be_bytes();
    high
}

/// A sample of this opacity over white, rounded to nearest.
fn over_white(sample: u8, alpha: u8) -> u8 {
    let (sample, alpha) = (u32::from(sample), u32::from(alpha));
    divided_by_255(sample * alpha + 255 * (255 - alpha))
}

/// What is left of the light `paper`, black ink taken off, under one coloured ink.
fn printed(ink: u8, paper: u8) -> u8 {
    paper - divided_by_255(u32::from(ink) * u32::from(paper))
}

/// Rounded to nearest; for numbers up to 255 * 255.
fn divided_by_255(number: u32) -> u8 {
    let number = number + 128;
    // At most 255 for numbers in the range.
    (((number >> 8) + number) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Hash of a function of two bytes, for all of them.
    fn table(function: impl Fn(u8, u8) -> u8) -> String {
        let pairs = (0..=255).flat_map(|a| (0..=255).map(move |b| (a, b)));
        hex::encode(Sha256::digest(
            pairs.map(|(a, b)| function(a, b)).collect::<Vec<u8>>(),
        ))
    }

    #[test]
    fn opacity_and_ink_are_pillows_for_all_bytes() {
        let manifest = include_str!("../../../tests/golden/pictures/manifest.json");
        let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
        let tables = &manifest["sha256_tables"];
        assert_eq!(table(over_white), tables["sample_by_alpha"]);
        assert_eq!(
            table(|ink, black| printed(ink, 255 - black)),
            tables["ink_by_black"]
        );
    }
}
