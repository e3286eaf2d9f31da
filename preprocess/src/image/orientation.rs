//! How the stored pixels of a picture are turned to stand upright.

use super::resample::CHANNELS;

type Pixel = [u8; CHANNELS];

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

    /// Upright pixels of three bytes, from rows of `width` stored pixels.
    pub(super) fn upright(self, stored: &[u8], width: usize) -> Vec<u8> {
        let (pixels, _) = stored.as_chunks::<CHANNELS>();
        let rows: Vec<&[Pixel]> = pixels.chunks_exact(width.max(1)).collect();
        if self.transposed {
            // An upright row is a stored column, its pixels in the order of the stored rows.
            let column = |x: usize| rows.iter().filter_map(move |row| row.get(x));
            in_order(0..width, self.mirrored_y)
                .flat_map(|x| in_order(column(x), self.mirrored_x))
                .flatten()
                .copied()
                .collect()
        } else {
            in_order(rows.iter(), self.mirrored_y)
                .flat_map(|row| in_order(row.iter(), self.mirrored_x))
                .flatten()
                .copied()
                .collect()
        }
    }
}

/// Forwards, or from the far end.
fn in_order<'a, T: 'a>(
    items: impl DoubleEndedIterator<Item = T> + 'a,
    mirrored: bool,
) -> Box<dyn Iterator<Item = T> + 'a> {
    if mirrored {
        Box::new(items.rev())
    } else {
        Box::new(items)
    }
}
