//! From the bytes of a picture to the patches that the vision embedder takes.
//!
//! The steps are those of the reference pipeline (transformers 5.24.0, `gemma4_unified`), byte for byte: decode to RGB,
//! choose a size by the soft-token budget, resample with 8-bit bicubic weights, cut into squares of 48 pixels.

mod bicubic;
mod decode;
mod error;
mod jpeg;
mod kind;
mod limits;
mod opaque;
mod orientation;
mod patches;
mod raster;
mod resample;
#[cfg(target_arch = "x86_64")]
mod resample_avx2;
mod scratch;
mod size;
mod tagged;

pub use decode::{DecodedImage, decode};
pub use error::{ImageError, ImageLimit};
pub use kind::ImageKind;
pub use limits::ImageLimits;
pub use orientation::Orientation;
pub use patches::{ImagePatches, PATCH_BYTES, PixelScale};
pub use size::{PatchGrid, SQUARE, SoftTokenBudget};

/// Decodes a picture file and cuts it into patches scaled as pictures are ([`PixelScale::Image`]).
///
/// # Errors
/// As [`decode`].
pub fn patches_from_bytes(
    bytes: &[u8],
    budget: SoftTokenBudget,
    limits: &ImageLimits,
) -> Result<ImagePatches, ImageError> {
    decode(bytes, limits)?.patches(budget, PixelScale::Image)
}

/// Resamples RGB pixels and cuts them into patches; for pictures and video frames that are decoded already.
///
/// `rgb` holds `height` rows of `width` pixels of three bytes, without padding.
///
/// # Errors
/// [`ImageError::Pixels`] if a side is 0 or `rgb` is not `width * height * 3` bytes.
pub fn patches_from_rgb(
    rgb: &[u8],
    width: u32,
    height: u32,
    budget: SoftTokenBudget,
    scale: PixelScale,
) -> Result<ImagePatches, ImageError> {
    let picture = resample::Picture::new(rgb, width, height)?;
    Ok(patches::cut(picture, Orientation::UPRIGHT, budget, scale))
}
