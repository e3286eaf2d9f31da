//! The resampled picture as squares of 48 pixels, each of which becomes one soft token.

use super::resample::{self, CHANNELS, Kernel, Picture};
use super::{Orientation, PatchGrid, SQUARE, SoftTokenBudget};

/// Bytes of one row of a square.
const SQUARE_ROW: usize = SQUARE as usize * CHANNELS;
/// Values of one patch: 48 rows of 48 pixels of red, green and blue.
pub const PATCH_BYTES: usize = SQUARE as usize * SQUARE_ROW;

/// How a byte becomes a pixel value; the two differ by one unit in the last place for 126 of the 256 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PixelScale {
    /// The byte times the float32 nearest to 1/255: pictures.
    #[default]
    Image,
    /// The byte divided by 255: video frames.
    Video,
}

impl PixelScale {
    /// The pixel value of one byte, 0 to 1.
    pub fn value(self, byte: u8) -> f32 {
        match self {
            Self::Image => f32::from(byte) * (1.0 / 255.0),
            Self::Video => f32::from(byte) / 255.0,
        }
    }
}

/// The patches of one picture, in raster order: left to right, then top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePatches {
    grid: PatchGrid,
    scale: PixelScale,
    bytes: Vec<u8>,
}

impl ImagePatches {
    /// How many patches stand above each other and beside each other.
    pub fn grid(&self) -> PatchGrid {
        self.grid
    }

    /// Number of patches, which is the number of soft tokens.
    pub fn len(&self) -> usize {
        self.grid.soft_tokens() as usize
    }

    /// Never: a picture has at least one patch.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How bytes become pixel values.
    pub fn scale(&self) -> PixelScale {
        self.scale
    }

    /// `[patches, 6912]` bytes; a patch is its rows from top to bottom, of pixels from left to right, of red, green, blue.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// As [`bytes`](Self::bytes), given away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// `[patches, 6912]` pixel values from 0 to 1, in the order of [`bytes`](Self::bytes).
    pub fn values(&self) -> impl ExactSizeIterator<Item = f32> + '_ {
        let table: [f32; 256] = std::array::from_fn(|byte| self.scale.value(byte as u8));
        // An index of type u8 is always inside the table.
        self.bytes.iter().map(move |&byte| table[usize::from(byte)])
    }

    /// `[patches]` positions (column, row), each counted from 0.
    pub fn positions(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let PatchGrid { rows, columns } = self.grid;
        (0..rows).flat_map(move |row| (0..columns).map(move |column| (column, row)))
    }
}

/// Resamples a picture to its grid and cuts it.
pub(super) fn cut(
    picture: Picture<'_>,
    orientation: Orientation,
    budget: SoftTokenBudget,
    scale: PixelScale,
) -> ImagePatches {
    let (width, height) = orientation.upright_size(picture.width(), picture.height());
    let grid = budget.grid(width, height);
    let resampled = resample::resample(picture, orientation, grid, Kernel::best());
    ImagePatches {
        grid,
        scale,
        bytes: squares(&resampled, grid),
    }
}

/// `[rows, 48, columns, 48 * 3]` to `[rows, columns, 48, 48 * 3]`.
fn squares(rgb: &[u8], grid: PatchGrid) -> Vec<u8> {
    let columns = grid.columns as usize;
    let mut patches = Vec::with_capacity(rgb.len());
    for band in rgb.chunks_exact(columns * PATCH_BYTES) {
        for column in 0..columns {
            let rows = band.chunks_exact(SQUARE_ROW).skip(column).step_by(columns);
            rows.for_each(|row| patches.extend_from_slice(row));
        }
    }
    patches
}
