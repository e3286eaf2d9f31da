//! How large a picture may be; checked on the header, before pixels are decoded.

use super::{ImageError, ImageKind, ImageLimit};

/// The most that a picture may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Bytes of the file; 64 MiB by default.
    pub file_bytes: u64,
    /// Pixels of the longer side; 65,535 by default, the most that JPEG can state.
    pub side: u32,
    /// Width times height; 64 million by default.
    pub pixels: u64,
    /// Bytes that decoding holds at once, the decoded picture included; 272 MiB by default, so that no picture adds
    /// 300 MB to the process. 64 million pixels of 8-bit RGB or RGBA fit, 45 million of a progressive JPEG with halved
    /// colour, 31 million of one with full colour.
    pub decoding_bytes: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            side: 65_535,
            pixels: 64_000_000,
            decoding_bytes: 272 << 20,
        }
    }
}

impl ImageLimits {
    pub(super) fn check_file(&self, kind: ImageKind, bytes: usize) -> Result<(), ImageError> {
        let claim = Claim {
            kind,
            width: 0,
            height: 0,
        };
        claim.within(ImageLimit::FileBytes, bytes as u64, self.file_bytes)
    }

    /// Checks a header; `bytes_per_pixel` is what decoding holds at once, at most.
    pub(super) fn check_header(&self, claim: Claim, decoding_bytes: u64) -> Result<(), ImageError> {
        let Claim { kind, width, height } = claim;
        if width == 0 || height == 0 {
            return Err(ImageError::Damaged {
                kind,
                reason: format!("its size is {width} x {height}"),
            });
        }
        claim.within(ImageLimit::Side, width.max(height).into(), self.side.into())?;
        claim.within(ImageLimit::Pixels, claim.pixels(), self.pixels)?;
        claim.within(ImageLimit::DecodingBytes, decoding_bytes, self.decoding_bytes)
    }
}

/// What a header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) kind: ImageKind,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Claim {
    pub(super) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    fn within(self, limit: ImageLimit, found: u64, allowed: u64) -> Result<(), ImageError> {
        if found <= allowed {
            return Ok(());
        }
        let Self { kind, width, height } = self;
        Err(ImageError::TooLarge {
            kind,
            width,
            height,
            limit,
            found,
            allowed,
        })
    }
}
