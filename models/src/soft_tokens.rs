//! Media as an engine takes them: patches of a picture and frames of samples, each of which becomes one soft token.

use crate::ModelError;

/// How bytes of a picture become numbers. Half of all bytes differ between the two in the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelScale {
    /// `byte * (1 / 255)` with the factor rounded to float32: pictures.
    Image,
    /// `byte / 255`: video frames.
    Video,
}

impl PixelScale {
    /// The number that stands for `byte`.
    pub fn value(self, byte: u8) -> f32 {
        match self {
            PixelScale::Image => f32::from(byte) * (1.0 / 255.0),
            PixelScale::Video => f32::from(byte) / 255.0,
        }
    }
}

/// The numbers of a picture's patches, row-major `[patches, patch width]`; a patch is rows, then columns, then red, green
/// and blue.
#[derive(Debug, Clone, PartialEq)]
pub enum PatchValues {
    /// Bytes and how they become numbers.
    Bytes {
        /// The bytes.
        values: Vec<u8>,
        /// How they become numbers.
        scale: PixelScale,
    },
    /// Numbers, nominally 0 to 1.
    Floats(Vec<f32>),
}

impl PatchValues {
    fn len(&self) -> usize {
        match self {
            PatchValues::Bytes { values, .. } => values.len(),
            PatchValues::Floats(values) => values.len(),
        }
    }
}

/// Where a patch lies in its picture, counted in patches from the upper left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchPosition {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
}

/// One picture or video frame; its soft tokens see each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    values: PatchValues,
    positions: Vec<PatchPosition>,
}

impl Picture {
    /// Wraps the patches of one picture, one position for each.
    ///
    /// # Errors
    /// There are no patches, `values` is not the same number of values for every one, or one is not finite.
    pub fn new(values: PatchValues, positions: Vec<PatchPosition>) -> Result<Self, ModelError> {
        let (count, numbers) = (positions.len(), values.len());
        if count == 0 || numbers == 0 || !numbers.is_multiple_of(count) {
            return Err(ModelError::InvalidBatch(format!(
                "a picture has {numbers} values for {count} patches; each patch needs the same number of them"
            )));
        }
        if let PatchValues::Floats(values) = &values
            && let Some(index) = values.iter().position(|value| !value.is_finite())
        {
            return Err(ModelError::InvalidBatch(format!(
                "value {index} of a picture is {}; pixel values must be finite",
                values[index]
            )));
        }
        Ok(Self { values, positions })
    }

    /// Number of patches, which is that of soft tokens.
    pub fn patches(&self) -> usize {
        self.positions.len()
    }

    /// Numbers of one patch.
    pub fn patch_width(&self) -> usize {
        self.values.len() / self.positions.len()
    }

    /// The position of every patch.
    pub fn positions(&self) -> &[PatchPosition] {
        &self.positions
    }

    /// The numbers of all patches as float32, row-major `[patches, patch_width]`.
    pub fn floats(&self) -> Vec<f32> {
        let mut floats = Vec::with_capacity(self.values.len());
        self.append_patches(0, self.patches(), &mut floats);
        floats
    }

    /// Appends the numbers of patches `first..first + count` to `out`.
    pub(crate) fn append_patches(&self, first: usize, count: usize, out: &mut Vec<f32>) {
        let width = self.patch_width();
        let range = first * width..(first + count) * width;
        match &self.values {
            PatchValues::Floats(values) => out.extend_from_slice(&values[range]),
            PatchValues::Bytes { values, scale } => {
                let table: [f32; 256] = std::array::from_fn(|byte| scale.value(byte as u8));
                out.extend(values[range].iter().map(|byte| table[usize::from(*byte)]));
            }
        }
    }
}

/// One piece of sound as frames of samples; its soft tokens are ordered like text.
#[derive(Debug, Clone, PartialEq)]
pub struct Sound {
    samples: Vec<f32>,
    frame: usize,
}

impl Sound {
    /// Wraps samples of 16 kHz mono sound, row-major `[frames, frame]`, the last frame filled up with zeros.
    ///
    /// # Errors
    /// There are no samples, they are no whole number of frames, or one is not finite.
    pub fn new(samples: Vec<f32>, frame: usize) -> Result<Self, ModelError> {
        if samples.is_empty() || frame == 0 || !samples.len().is_multiple_of(frame) {
            return Err(ModelError::InvalidBatch(format!(
                "{} samples are no whole number of frames of {frame}: fill the last one up with zeros",
                samples.len()
            )));
        }
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(ModelError::InvalidBatch(format!(
                "sample {index} is {}; samples must be finite",
                samples[index]
            )));
        }
        Ok(Self { samples, frame })
    }

    /// Number of frames, which is that of soft tokens.
    pub fn frames(&self) -> usize {
        self.samples.len() / self.frame
    }

    /// Samples of one frame.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// All samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }
}

/// What takes the place of text in a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Medium {
    /// A picture or a video frame.
    Picture(Picture),
    /// Sound.
    Sound(Sound),
}

impl Medium {
    /// Rows that it takes in a batch.
    pub fn soft_tokens(&self) -> usize {
        match self {
            Medium::Picture(picture) => picture.patches(),
            Medium::Sound(sound) => sound.frames(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_pixel_scales_differ_in_half_of_all_bytes() {
        let differing = (0..=255u8)
            .filter(|byte| PixelScale::Image.value(*byte) != PixelScale::Video.value(*byte))
            .count();
        assert_eq!(differing, 126);
    }

    #[test]
    fn what_is_no_picture_or_sound_is_refused() {
        let at = |x| PatchPosition { x, y: 0 };
        assert!(Picture::new(PatchValues::Floats(vec![]), vec![]).is_err());
        assert!(Picture::new(PatchValues::Floats(vec![0.0; 5]), vec![at(0), at(1)]).is_err());
        let error = Picture::new(PatchValues::Floats(vec![0.0, f32::NAN]), vec![at(0)]).unwrap_err();
        assert!(error.to_string().contains("value 1"), "{error}");
        assert!(Sound::new(vec![], 4).is_err());
        assert!(Sound::new(vec![0.0; 5], 4).is_err());
        let error = Sound::new(vec![0.0, 0.0, f32::INFINITY, 0.0], 4).unwrap_err();
        assert!(error.to_string().contains("sample 2"), "{error}");
        assert_eq!(Sound::new(vec![0.0; 8], 4).unwrap().frames(), 2);
    }

    #[test]
    fn bytes_and_their_numbers_are_the_same_patches() {
        let positions = vec![PatchPosition { x: 0, y: 0 }, PatchPosition { x: 1, y: 0 }];
        let bytes: Vec<u8> = (0..24).map(|i| i * 10).collect();
        let values = PatchValues::Bytes {
            values: bytes,
            scale: PixelScale::Video,
        };
        let picture = Picture::new(values, positions).unwrap();
        let mut found = Vec::new();
        picture.append_patches(1, 1, &mut found);
        let wanted: Vec<f32> = (12..24).map(|i| (i * 10) as f32 / 255.0).collect();
        assert_eq!(found, wanted);
    }
}
