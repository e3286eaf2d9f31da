//! From the bytes of a file to RGB pixels.

use super::resample::Picture;
use super::scratch::Scratch;
use super::{
    ImageError, ImageKind, ImageLimits, ImagePatches, Orientation, PixelScale, SoftTokenBudget, jpeg,
    patches, raster, tagged,
};

/// A decoded picture: RGB bytes as stored in the file, and how they are turned to stand upright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedImage {
    pub(super) kind: ImageKind,
    /// Stored width and height, both at least 1.
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) orientation: Orientation,
    pub(super) rgb: Scratch,
    /// Whether the file holds more pictures.
    pub(super) others: bool,
}

impl DecodedImage {
    /// Kind of the file.
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Width and height in pixels as the picture is meant to be seen.
    pub fn upright_size(&self) -> (u32, u32) {
        self.orientation.upright_size(self.width, self.height)
    }

    /// Width and height in pixels as stored.
    pub fn stored_size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// How the stored pixels are turned to stand upright.
    pub fn orientation(&self) -> Orientation {
        self.orientation
    }

    /// Whether the file holds other pictures, which are not read: the frames of an animation, or pages, behind the first.
    pub fn has_others(&self) -> bool {
        self.others
    }

    /// `[height, width, 3]` bytes of red, green and blue, as stored.
    pub fn stored_rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// `[height, width, 3]` bytes of red, green and blue, upright; a copy.
    pub fn upright_rgb(&self) -> Vec<u8> {
        self.orientation.upright(&self.rgb, self.width as usize)
    }

    /// Resamples the picture, upright, to the budget and cuts it into patches.
    ///
    /// # Errors
    /// None for a picture from [`decode`].
    pub fn patches(&self, budget: SoftTokenBudget, scale: PixelScale) -> Result<ImagePatches, ImageError> {
        let picture = Picture::new(&self.rgb, self.width, self.height)?;
        Ok(patches::cut(picture, self.orientation, budget, scale))
    }
}

/// Decodes a picture. Its kind is found from its content; transparency is laid over white; EXIF orientation is read.
///
/// # Errors
/// [`ImageError::Empty`], [`ImageError::UnsupportedKind`] and [`ImageError::UnsupportedFeature`] for what is not read,
/// [`ImageError::TooLarge`] before pixels are decoded, [`ImageError::Damaged`] for files that are broken or cut off, even
/// if part of the picture could be shown.
pub fn decode(bytes: &[u8], limits: &ImageLimits) -> Result<DecodedImage, ImageError> {
    let kind = ImageKind::of(bytes)?;
    limits.check_file(kind, bytes.len())?;
    match kind {
        ImageKind::Jpeg => jpeg::decode(bytes, limits),
        ImageKind::Tiff => tagged::decode(bytes, limits),
        _ => raster::decode(kind, bytes, limits),
    }
}
