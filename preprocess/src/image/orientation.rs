//! How the stored pixels of a picture are turned to stand upright.

/// The eight ways in which a camera may have stored a picture (EXIF tag 274).
///
/// Kept apart from the pixels until they are resampled: turning the small result is exact and costs no second copy of a
/// large picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Orientation {
    /// Stored rows are upright columns.
    pub(super) transposed: bool,
    /// The axis that is upright left to right is stored from its far end.
    pub(super) mirrored_x: bool,
    /// The axis that is upright top to bottom is stored from its far end.
    pub(super) mirrored_y: bool,
}

impl Orientation {
    /// Stored as it stands.
    pub const UPRIGHT: Self = Self {
        transposed: false,
        mirrored_x: false,
        mirrored_y: false,
    };

    /// The orientation of an EXIF value; values outside 1 to 8 mean nothing and leave the picture as it is.
    pub fn from_exif(value: u8) -> Self {
        Self {
            transposed: matches!(value, 5..=8),
            mirrored_x: matches!(value, 2 | 3 | 6 | 7),
            mirrored_y: matches!(value, 3 | 4 | 7 | 8),
        }
    }

    /// The orientation that an EXIF block asks for, with or without its `Exif` heading; upright if it says nothing.
    pub(super) fn from_exif_block(block: &[u8]) -> Self {
        let tiff = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
        image::metadata::Orientation::from_exif_chunk(tiff)
            .map_or(Self::UPRIGHT, |found| Self::from_exif(found.to_exif()))
    }

    /// Upright width and height of a picture stored as `width` by `height`; the same function leads back.
    pub fn upright_size(self, width: u32, height: u32) -> (u32, u32) {
        if self.transposed {
            (height, width)
        } else {
            (width, height)
        }
    }
}
