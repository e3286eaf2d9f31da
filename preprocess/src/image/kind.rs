//! Which kind of file some bytes are, by their content alone.

use super::ImageError;

/// The kinds of picture files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// JPEG: baseline, extended or progressive; grey, YCbCr, RGB, CMYK or YCCK.
    Jpeg,
    /// PNG.
    Png,
    /// WebP, lossy or lossless; of an animation the first frame.
    WebP,
    /// GIF; of an animation the first frame.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF; of several pages the first.
    Tiff,
}

impl std::fmt::Display for ImageKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
        })
    }
}

impl ImageKind {
    /// The kind of a file.
    ///
    /// # Errors
    /// [`ImageError::Empty`] and [`ImageError::UnsupportedKind`].
    pub fn of(bytes: &[u8]) -> Result<Self, ImageError> {
        match bytes {
            [] => Err(ImageError::Empty),
            [0xff, 0xd8, 0xff, ..] => Ok(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(Self::WebP),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Ok(Self::Gif),
            [b'B', b'M', ..] => Ok(Self::Bmp),
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Ok(Self::Tiff),
            _ => Err(ImageError::UnsupportedKind {
                found: other_kind(bytes),
            }),
        }
    }
}

/// What a file is that is not read, for the message.
fn other_kind(bytes: &[u8]) -> &'static str {
    match bytes {
        [
            _,
            _,
            _,
            _,
            b'f',
            b't',
            b'y',
            b'p',
            b'a',
            b'v',
            b'i',
            b'f' | b's',
            ..,
        ] => "AVIF",
        [_, _, _, _, b'f', b't', b'y', b'p', b'h' | b'm', b'e' | b'i', ..] => "HEIC",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "a video (MP4 or QuickTime)",
        [0xff, 0x0a, ..] | [0, 0, 0, 12, b'J', b'X', b'L', b' ', ..] => "JPEG XL",
        [0, 0, 0, 12, b'j', b'P', ..] => "JPEG 2000",
        [b'I', b'I', 43, 0, ..] | [b'M', b'M', 0, 43, ..] => "BigTIFF",
        [b'%', b'P', b'D', b'F', ..] => "PDF",
        [b'8', b'B', b'P', b'S', ..] => "a Photoshop file",
        [0, 0, 1, 0, ..] => "a Windows icon",
        [b'<', ..] => "text such as SVG or HTML",
        [b'R', b'I', b'F', b'F', ..] => "a RIFF file such as WAV or AVI",
        _ => "unknown",
    }
}
