//! Why a picture cannot be used.

use super::ImageKind;

/// A limit of [`ImageLimits`](super::ImageLimits) that a picture is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageLimit {
    /// Bytes of the file.
    FileBytes,
    /// Pixels of the longer side.
    Side,
    /// Width times height.
    Pixels,
    /// Bytes of memory that decoding takes.
    DecodingBytes,
}

impl std::fmt::Display for ImageLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FileBytes => "bytes of file",
            Self::Side => "pixels on its longer side",
            Self::Pixels => "pixels",
            Self::DecodingBytes => "bytes of memory while it is decoded",
        })
    }
}

/// Everything that can be wrong with a picture.
///
/// In HTTP, [`UnsupportedKind`](Self::UnsupportedKind) and [`UnsupportedFeature`](Self::UnsupportedFeature) are status
/// 415, [`TooLarge`](Self::TooLarge) is 413, the others are 422.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// No bytes at all.
    #[error("the picture is empty (0 bytes): send the whole file")]
    Empty,
    /// The content is not of a kind that is read, whatever the file is called.
    #[error(
        "the content is {found}, not a picture of a kind that is read: convert it to JPEG, PNG, WebP, GIF, BMP or TIFF"
    )]
    UnsupportedKind {
        /// What the first bytes say.
        found: &'static str,
    },
    /// The kind is read, but not this variant of it.
    #[error("this variant of {kind} is not read ({feature}): save the picture as an 8-bit RGB PNG or JPEG")]
    UnsupportedFeature {
        /// Kind of the file.
        kind: ImageKind,
        /// What about it.
        feature: String,
    },
    /// Larger than the limits allow; found before any pixel was decoded.
    #[error("{kind} picture{} takes {found} {limit}, {allowed} are allowed: {}", size_text(*.width, *.height), remedy(*.limit))]
    TooLarge {
        /// Kind of the file.
        kind: ImageKind,
        /// Width in pixels that the header states, 0 if it was not read.
        width: u32,
        /// Height in pixels that the header states, 0 if it was not read.
        height: u32,
        /// Which limit.
        limit: ImageLimit,
        /// What the picture has or needs.
        found: u64,
        /// The limit's value.
        allowed: u64,
    },
    /// The file is cut off or broken.
    #[error("the {kind} picture is damaged or cut off ({reason}): send the whole, intact file")]
    Damaged {
        /// Kind of the file.
        kind: ImageKind,
        /// What the decoder found.
        reason: String,
    },
    /// Pixels and size do not belong together.
    #[error(
        "{bytes} bytes are not a picture of {width} x {height} pixels of 3 bytes: give width * height * 3 bytes, sides of 1 or more"
    )]
    Pixels {
        /// Stated width.
        width: u32,
        /// Stated height.
        height: u32,
        /// Bytes given.
        bytes: usize,
    },
}

fn size_text(width: u32, height: u32) -> String {
    if width == 0 {
        String::new()
    } else {
        format!(" of {width} x {height} pixels")
    }
}

fn remedy(limit: ImageLimit) -> &'static str {
    match limit {
        ImageLimit::FileBytes => "send a smaller file",
        ImageLimit::Side | ImageLimit::Pixels => "scale the picture down",
        ImageLimit::DecodingBytes => {
            "scale the picture down, or save it as 8-bit RGB or a non-progressive JPEG"
        }
    }
}
