//! JPEG by libjpeg-turbo with its defaults, which are the reference's: accurate inverse transform, smooth upsampling.

use turbojpeg::{Colorspace, Decompressor, Image, PixelFormat};

use super::limits::Claim;
use super::opaque::{self, Layout};
use super::scratch::Scratch;
use super::{DecodedImage, ImageError, ImageKind, ImageLimits, Orientation};

/// Scans of one picture; progressive files have about ten, and each takes time however few bytes it has.
const MOST_SCANS: u32 = 100;

pub(super) fn decode(bytes: &[u8], limits: &ImageLimits) -> Result<DecodedImage, ImageError> {
    let mut decoder = Decompressor::new().map_err(damaged)?;
    decoder.set_scan_limit(MOST_SCANS).map_err(damaged)?;
    let header = decoder.read_header(bytes).map_err(damaged)?;
    let (format, layout) = match header.colorspace {
        Colorspace::CMYK | Colorspace::YCCK => (PixelFormat::CMYK, Layout::CmykInverted8),
        _ => (PixelFormat::RGB, Layout::Rgb8),
    };
    let claim = Claim {
        kind: ImageKind::Jpeg,
        width: u32::try_from(header.width).unwrap_or(u32::MAX),
        height: u32::try_from(header.height).unwrap_or(u32::MAX),
    };
    let structure = Structure::of(bytes);
    if let Some(bits) = structure.bits.filter(|&bits| bits != 8) {
        let feature = format!("{bits} bits per sample");
        return Err(ImageError::UnsupportedFeature {
            kind: ImageKind::Jpeg,
            feature,
        });
    }
    let pixel_bytes = claim.pixels().saturating_mul(layout.bytes());
    limits.check_header(
        claim,
        pixel_bytes.saturating_add(structure.coefficient_bytes(claim)),
    )?;

    let pitch = header.width * format.size();
    let mut pixels = Scratch::take(pitch * header.height);
    let image = Image {
        pixels: pixels.as_mut_slice(),
        width: header.width,
        pitch,
        height: header.height,
        format,
    };
    if let Err(error) = decoder.decompress(bytes, image)
        && !is_harmless(&error)
    {
        return Err(damaged(error));
    }
    Ok(DecodedImage {
        kind: ImageKind::Jpeg,
        width: claim.width,
        height: claim.height,
        orientation: structure.orientation,
        rgb: opaque::to_rgb(pixels, layout).into(),
        others: false,
    })
}

fn damaged(error: turbojpeg::Error) -> ImageError {
    ImageError::Damaged {
        kind: ImageKind::Jpeg,
        reason: error.to_string(),
    }
}

/// Whether a warning says only that bytes stand between the last sample and the end marker, as some cameras write.
///
/// The decoder reports its first warning, and after that marker there can be no other: the picture is complete.
fn is_harmless(error: &turbojpeg::Error) -> bool {
    matches!(error, turbojpeg::Error::TurboJpegError(text) if text.ends_with("extraneous bytes before marker 0xd9"))
}

/// What the segments before the first scan say, beyond what the decoder tells.
#[derive(Debug, Default)]
struct Structure {
    orientation: Orientation,
    /// Bits per sample.
    bits: Option<u8>,
    /// Coefficients are kept until the last scan has been read.
    several_scans: bool,
    /// Horizontal and vertical sampling factors.
    sampling: Vec<(u8, u8)>,
}

impl Structure {
    fn of(bytes: &[u8]) -> Self {
        let mut structure = Self::default();
        let mut rest = bytes.get(2..).unwrap_or_default();
        let mut has_exif = false;
        while let [0xff, marker, behind @ ..] = rest {
            match (marker, behind) {
                // Fill bytes, and markers without a segment.
                (0xff, _) => rest = rest.get(1..).unwrap_or_default(),
                (0x01 | 0xd0..=0xd8, _) => rest = behind,
                (0xd9, _) => break,
                (marker, [high, low, ..]) => {
                    let length = usize::from(u16::from_be_bytes([*high, *low]));
                    let Some((segment, next)) = behind.split_at_checked(length.max(2)) else {
                        break;
                    };
                    let segment = segment.get(2..).unwrap_or_default();
                    match marker {
                        0xe1 if !has_exif && segment.starts_with(b"Exif\0\0") => {
                            has_exif = true;
                            structure.orientation = Orientation::from_exif_block(segment);
                        }
                        // Start of frame; c4, c8 and cc are other segments.
                        0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                            structure.frame(*marker, segment)
                        }
                        0xda => {
                            let components = segment.first().map_or(0, |&count| usize::from(count));
                            structure.several_scans |= components < structure.sampling.len();
                            break;
                        }
                        _ => {}
                    }
                    rest = next;
                }
                _ => break,
            }
        }
        structure
    }

    fn frame(&mut self, marker: u8, segment: &[u8]) {
        self.bits = segment.first().copied();
        self.several_scans = matches!(marker, 0xc2 | 0xc6 | 0xca | 0xce);
        let (components, _) = segment.get(6..).unwrap_or_default().as_chunks::<3>();
        self.sampling = components
            .iter()
            .map(|[_, factors, _]| (factors >> 4, factors & 15))
            .collect();
    }

    /// Memory for 16-bit coefficients that outlive a row of blocks, blocks at the edges left out.
    fn coefficient_bytes(&self, claim: Claim) -> u64 {
        if !self.several_scans {
            return 0;
        }
        let area = |(x, y): &(u8, u8)| u64::from(*x) * u64::from(*y);
        let most = |axis: fn(&(u8, u8)) -> u8| u64::from(self.sampling.iter().map(axis).max().unwrap_or(1));
        let full = (most(|factors| factors.0) * most(|factors| factors.1)).max(1);
        let samples: u64 = self.sampling.iter().map(area).sum();
        claim.pixels().saturating_mul(2 * samples) / full
    }
}
