//! Tensors of a checkpoint on a device, one at a time, so that the model is never in memory twice.

use std::cell::Cell;

use indicatif::{ProgressBar, ProgressStyle};
use tch::{Device, Kind, Tensor};

use super::linear::Linear;
use crate::engines::Source;
use crate::{ModelError, TensorType, Weight, weight_shapes};

/// Bytes that are converted at once.
const RUN: usize = 16 << 20;

/// Reads tensors and counts what they take.
pub(super) struct Loader<'a> {
    source: Source<'a>,
    device: Device,
    linear: Kind,
    progress: ProgressBar,
    bytes: Cell<u64>,
}

/// What a tensor is for, which decides its type on the device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A matrix of a linear layer.
    Linear,
    /// Rows that are looked up, or the output matrix: as stored, because every row is widened exactly.
    Rows,
    /// Norms, biases and factors.
    Vector,
}

impl Use {
    fn of(weight: Weight, shape: [usize; 2]) -> Self {
        use crate::MediaWeight;
        match (weight, shape) {
            (Weight::Embedding | Weight::Output | Weight::Media(MediaWeight::Positions), _) => Use::Rows,
            (_, [1, _]) => Use::Vector,
            _ => Use::Linear,
        }
    }
}

impl<'a> Loader<'a> {
    /// Reads from `source` onto `device`; matrices of linear layers become `linear`.
    pub(super) fn new(source: Source<'a>, device: Device, linear: Kind) -> Self {
        let tensors = weight_shapes(source.description).len() as u64;
        let style = ProgressStyle::with_template("loading {msg} {bar:30} {pos}/{len} tensors {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let progress = ProgressBar::new(tensors).with_style(style);
        progress.set_message(source.name.to_owned());
        Self {
            source,
            device,
            linear,
            progress,
            bytes: Cell::new(0),
        }
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    fn kind(&self, weight: Weight, usage: Use) -> Result<Kind, ModelError> {
        Ok(match usage {
            Use::Linear => self.linear,
            Use::Vector => Kind::Float,
            Use::Rows => match self.source.weights.stored(weight)? {
                Some(stored) => stored_kind(stored.stored),
                None => Kind::Float,
            },
        })
    }

    /// Bytes that all tensors will take.
    ///
    /// # Errors
    /// A tensor is missing.
    pub(super) fn bytes(&self) -> Result<u64, ModelError> {
        weight_shapes(self.source.description)
            .into_iter()
            .map(|(weight, shape)| {
                let kind = self.kind(weight, Use::of(weight, shape))?;
                Ok((shape[0] * shape[1] * kind.elt_size_in_bytes()) as u64)
            })
            .sum()
    }

    /// Bytes that were loaded; ends the progress bar.
    pub(super) fn finish(self) -> u64 {
        self.progress.finish_and_clear();
        self.bytes.get()
    }

    fn read(&self, weight: Weight, kind: Kind, wanted: [usize; 2]) -> Result<Tensor, ModelError> {
        let source = self.source.weights;
        let tensor = match source.stored(weight)? {
            Some(stored) => self.place(stored.shape, stored.bytes, stored_kind(stored.stored), kind),
            None => {
                let data = source.tensor(weight)?;
                self.place(data.shape, bytemuck::cast_slice(&data.values), Kind::Float, kind)
            }
        }?;
        source.release(weight);
        let found = tensor.size();
        if found != wanted.map(|size| size as i64) {
            return Err(ModelError::Unsupported(format!(
                "{}: {weight:?} is {found:?}, and the configuration says {wanted:?}",
                self.source.name
            )));
        }
        self.progress.inc(1);
        let bytes = (tensor.numel() * kind.elt_size_in_bytes()) as u64;
        self.bytes.set(self.bytes.get() + bytes);
        Ok(tensor)
    }

    /// Copies rows run by run, so that no second copy of a large matrix is made.
    fn place(&self, shape: [usize; 2], bytes: &[u8], from: Kind, to: Kind) -> Result<Tensor, ModelError> {
        let [rows, columns] = shape.map(|size| size as i64);
        let tensor = Tensor::f_empty([rows, columns], (to, self.device))?;
        let row_bytes = (shape[1] * from.elt_size_in_bytes()).max(1);
        let mut first = 0;
        for run in bytes.chunks((RUN / row_bytes).max(1) * row_bytes) {
            let count = (run.len() / row_bytes) as i64;
            let part = Tensor::f_from_data_size(run, &[count, columns], from)?;
            tensor.f_narrow(0, first, count)?.f_copy_(&part)?;
            first += count;
        }
        Ok(tensor)
    }

    /// A linear layer `[rows, columns]`.
    pub(super) fn linear(&self, weight: Weight, shape: [usize; 2]) -> Result<Linear, ModelError> {
        let kind = self.kind(weight, Use::Linear)?;
        Ok(Linear::new(self.read(weight, kind, shape)?))
    }

    /// A matrix `[rows, columns]` whose rows are looked up, in its stored type.
    pub(super) fn rows(&self, weight: Weight, shape: [usize; 2]) -> Result<Tensor, ModelError> {
        let kind = self.kind(weight, Use::Rows)?;
        self.read(weight, kind, shape)
    }

    /// A vector in float32.
    pub(super) fn vector(&self, weight: Weight, width: usize) -> Result<Tensor, ModelError> {
        let row = self.read(weight, Kind::Float, [1, width])?;
        Ok(row.f_reshape([width as i64])?)
    }

    /// The weight of an RMS norm, with the model's offset.
    pub(super) fn norm(&self, weight: Weight, width: usize) -> Result<Tensor, ModelError> {
        let offset = f64::from(self.source.description.norm_offset);
        Ok(self.vector(weight, width)?.f_add_scalar(offset)?)
    }
}

fn stored_kind(stored: TensorType) -> Kind {
    match stored {
        TensorType::F16 => Kind::Half,
        TensorType::Bf16 => Kind::BFloat16,
        _ => Kind::Float,
    }
}
