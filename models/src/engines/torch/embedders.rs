//! From patches of pictures and frames of sound to soft tokens.

use tch::{Device, Kind, Tensor};

use super::decoder::integers;
use super::linear::{Linear, rms_norm};
use super::loader::Loader;
use crate::{
    AudioEmbedder, Interrupt, MediaDescription, MediaWeight, Medium, ModelError, PackedBatch, Picture,
    VisionEmbedder, Weight,
};

/// Patches and frames that are worked on together.
const CHUNK: usize = 1024;

/// Weight and bias of a norm with mean.
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f64,
}

impl Norm {
    /// (x - mean) / sqrt(variance + epsilon) * weight + bias.
    ///
    /// Mean first, then the centred variance, both in float64: a patch of one colour has variance zero, and float32
    /// rounding of its mean would come out 300 times as large.
    fn apply(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let x = x.f_to_kind(Kind::Double)?;
        let centred = x.f_sub(&x.f_mean_dim(&[-1i64][..], true, None)?)?;
        let variance = centred.f_square()?.f_mean_dim(&[-1i64][..], true, None)?;
        let factor = variance.f_add_scalar(self.epsilon)?.f_rsqrt()?;
        let unit = centred.f_mul(&factor)?.f_to_kind(Kind::Float)?;
        Ok(unit.f_mul(&self.weight)?.f_add(&self.bias)?)
    }
}

struct Vision {
    shape: VisionEmbedder,
    patch_norm: Norm,
    patch: Linear,
    patch_bias: Tensor,
    projected_norm: Norm,
    /// `[2 * positions, width]`: a row for a column, then one for a row, and so on.
    positions: Tensor,
    position_norm: Norm,
    picture: Linear,
}

struct Audio {
    shape: AudioEmbedder,
    sound: Linear,
}

/// The embedders of a decoder that reads media.
pub(super) struct Embedders {
    device: Device,
    vision: Option<Vision>,
    audio: Option<Audio>,
}

impl Embedders {
    /// Loads what `media` names.
    ///
    /// # Errors
    /// A tensor is missing or misshapen, or memory does not suffice.
    pub(super) fn load(
        loader: &Loader<'_>,
        media: &MediaDescription,
        hidden: usize,
    ) -> Result<Self, ModelError> {
        use MediaWeight as W;
        let linear = |weight, rows, columns| loader.linear(Weight::Media(weight), [rows, columns]);
        let vector = |weight, width| loader.vector(Weight::Media(weight), width);
        let vision = match media.vision {
            None => None,
            Some(shape) => {
                let norm = |weight, bias, width| -> Result<Norm, ModelError> {
                    Ok(Norm {
                        weight: vector(weight, width)?,
                        bias: vector(bias, width)?,
                        epsilon: f64::from(shape.norm_epsilon),
                    })
                };
                let (patch, width) = (shape.patch_width(), shape.width);
                Some(Vision {
                    shape,
                    patch_norm: norm(W::PatchNorm, W::PatchNormBias, patch)?,
                    patch: linear(W::Patch, width, patch)?,
                    patch_bias: vector(W::PatchBias, width)?,
                    projected_norm: norm(W::ProjectedNorm, W::ProjectedNormBias, width)?,
                    positions: loader.rows(Weight::Media(W::Positions), [2 * shape.positions, width])?,
                    position_norm: norm(W::PositionNorm, W::PositionNormBias, width)?,
                    picture: linear(W::Picture, hidden, width)?,
                })
            }
        };
        let audio = match media.audio {
            None => None,
            Some(shape) => Some(Audio {
                shape,
                sound: linear(W::Sound, hidden, shape.frame)?,
            }),
        };
        Ok(Self {
            device: loader.device(),
            vision,
            audio,
        })
    }

    /// Batch rows and their soft tokens `[rows, hidden]`, at most [`CHUNK`] at a time.
    ///
    /// # Errors
    /// The engine failed, or its end was asked for.
    pub(super) fn soft_tokens(
        &self,
        batch: &PackedBatch,
        interrupt: &Interrupt,
    ) -> Result<Vec<(Vec<u32>, Tensor)>, ModelError> {
        let mut found = Vec::new();
        // Runs of several pictures where they are small.
        let (mut patches, mut frames) = (Run::default(), Run::default());
        for placed in batch.media() {
            let rows: Vec<u32> = placed.rows().collect();
            for (part, rows) in rows.chunks(CHUNK).enumerate() {
                if interrupt.is_asked() {
                    return Err(ModelError::Interrupted);
                }
                let first = part * CHUNK;
                match (&*placed.medium, &self.vision, &self.audio) {
                    (Medium::Picture(picture), Some(vision), _) => {
                        if patches.rows.len() + rows.len() > CHUNK {
                            found.push(vision.embed(std::mem::take(&mut patches), self.device)?);
                        }
                        patches.push_picture(picture, first, rows);
                    }
                    (Medium::Sound(sound), _, Some(audio)) => {
                        if frames.rows.len() + rows.len() > CHUNK {
                            found.push(audio.embed(std::mem::take(&mut frames), self.device)?);
                        }
                        let width = sound.frame();
                        frames.rows.extend_from_slice(rows);
                        frames
                            .values
                            .extend_from_slice(&sound.samples()[first * width..(first + rows.len()) * width]);
                    }
                    // Batches with other media were refused.
                    _ => {}
                }
            }
        }
        if let (Some(vision), false) = (&self.vision, patches.rows.is_empty()) {
            found.push(vision.embed(patches, self.device)?);
        }
        if let (Some(audio), false) = (&self.audio, frames.rows.is_empty()) {
            found.push(audio.embed(frames, self.device)?);
        }
        Ok(found)
    }
}

/// Media that are embedded together.
#[derive(Default)]
struct Run {
    /// Their rows in the batch.
    rows: Vec<u32>,
    /// Their numbers.
    values: Vec<f32>,
    /// Rows of the position tables, of pictures only: of the column and of the row.
    columns: Vec<u32>,
    lines: Vec<u32>,
}

impl Run {
    fn push_picture(&mut self, picture: &Picture, first: usize, rows: &[u32]) {
        picture.append_patches(first, rows.len(), &mut self.values);
        for place in &picture.positions()[first..first + rows.len()] {
            self.columns.push(2 * place.x);
            self.lines.push(2 * place.y + 1);
        }
        self.rows.extend_from_slice(rows);
    }
}

impl Vision {
    fn embed(&self, run: Run, device: Device) -> Result<(Vec<u32>, Tensor), ModelError> {
        let patches = Tensor::f_from_slice(&run.values)?
            .f_reshape([-1, self.shape.patch_width() as i64])?
            .f_to_device(device)?;
        let projected = self
            .patch
            .apply(&self.patch_norm.apply(&patches)?)?
            .f_add(&self.patch_bias)?;
        let entry = |rows: &[u32]| -> Result<Tensor, ModelError> {
            Ok(self
                .positions
                .f_index_select(0, &integers(rows, device)?)?
                .f_to_kind(Kind::Float)?)
        };
        // The two entries are added to each other first, as the reference rounds.
        let place = entry(&run.columns)?.f_add(&entry(&run.lines)?)?;
        let placed = self.projected_norm.apply(&projected)?.f_add(&place)?;
        let normed = self.position_norm.apply(&placed)?;
        let soft = self
            .picture
            .apply(&rms_norm(&normed, None, self.shape.rms_epsilon)?)?;
        Ok((run.rows, soft))
    }
}

impl Audio {
    fn embed(&self, run: Run, device: Device) -> Result<(Vec<u32>, Tensor), ModelError> {
        let frames = Tensor::f_from_slice(&run.values)?
            .f_reshape([-1, self.shape.frame as i64])?
            .f_to_device(device)?;
        let soft = self
            .sound
            .apply(&rms_norm(&frames, None, self.shape.rms_epsilon)?)?;
        Ok((run.rows, soft))
    }
}
