//! What stands between the projections of the vision embedder.
//!
//! `PatchNorm(patches [rows, patch width]) -> [rows, patch width]`: norm with mean and bias.
//! `PatchPlace(projected [rows, width], positions int32 [rows, 2]) -> [rows, width]`: bias of the projection, norm, the
//! sum of the rows of both position tables, norm.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::pool::Pool;
use super::{Shared, failed, input};
use crate::kernels::rows::layer_norm;
use crate::kernels::{Parallel, SharedMut};
use crate::{ModelError, VisionEmbedder};

/// Rows of one work item.
const ROWS: usize = 8;

/// Weight and bias of a norm.
#[derive(Debug, Clone)]
struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    fn of(shared: &Shared, name: &str) -> Result<Self, ModelError> {
        Ok(Self {
            weight: shared.weights.vector(name)?,
            bias: shared.weights.vector(&format!("{name}_bias"))?,
        })
    }
}

/// What both operators need.
#[derive(Clone)]
pub(in super::super) struct PatchConstants {
    shared: Shared,
    embedder: VisionEmbedder,
    patch_norm: Norm,
    patch_bias: Vec<f32>,
    projected_norm: Norm,
    position_norm: Norm,
}

impl PatchConstants {
    /// Reads the norms of `embedder`; the position tables stay in the mapped file.
    ///
    /// # Errors
    /// A tensor is missing in the prepared model.
    pub(in super::super) fn of(shared: &Shared, embedder: VisionEmbedder) -> Result<Self, ModelError> {
        Ok(Self {
            shared: shared.clone(),
            embedder,
            patch_norm: Norm::of(shared, "media.patch_norm")?,
            patch_bias: shared.weights.vector("media.patch_bias")?,
            projected_norm: Norm::of(shared, "media.projected_norm")?,
            position_norm: Norm::of(shared, "media.position_norm")?,
        })
    }

    /// Fills `out`, rows of `width`, row by row on the pool of the running node.
    fn each_row(
        &self,
        context: &ComputeContext,
        width: usize,
        out: &mut [f32],
        row: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) {
        let rows = out.len() / width;
        let places = SharedMut::new(out);
        Pool {
            context,
            workers: self.shared.threads,
        }
        .for_each(rows.div_ceil(ROWS), &|item| {
            for index in item * ROWS..((item + 1) * ROWS).min(rows) {
                // SAFETY: each item writes its own rows only.
                row(index, unsafe { places.slice_mut(index * width, width) });
            }
        });
    }

    fn norm(&self, context: &ComputeContext) -> ort::Result<()> {
        let patches = input(context, 0)?;
        let (shape, patches) = patches.try_extract_tensor::<f32>()?;
        let mut out = context
            .output(0, shape.to_vec())?
            .ok_or_else(|| ort::Error::new("no output"))?;
        let (_, out) = out.try_extract_tensor_mut::<f32>()?;
        let (width, norm) = (self.embedder.patch_width(), &self.patch_norm);
        let epsilon = self.embedder.norm_epsilon;
        self.each_row(context, width, out, &|row, place| {
            let patch = &patches[row * width..(row + 1) * width];
            layer_norm(self.shared.isa, patch, &norm.weight, &norm.bias, epsilon, place);
        });
        Ok(())
    }

    fn place(&self, context: &ComputeContext) -> ort::Result<()> {
        let (projected, positions) = (input(context, 0)?, input(context, 1)?);
        let (shape, projected) = projected.try_extract_tensor::<f32>()?;
        let (positions, _) = positions.try_extract_tensor::<i32>()?.1.as_chunks::<2>();
        let tables = self.shared.weights.floats("media.positions").map_err(failed)?;
        let mut out = context
            .output(0, shape.to_vec())?
            .ok_or_else(|| ort::Error::new("no output"))?;
        let (_, out) = out.try_extract_tensor_mut::<f32>()?;
        let (width, epsilon) = (self.embedder.width, self.embedder.norm_epsilon);
        let entry = |index: i32, table: usize| &tables[(2 * index as usize + table) * width..][..width];
        self.each_row(context, width, out, &|row, place| {
            let mut sum = projected[row * width..(row + 1) * width].to_vec();
            sum.iter_mut()
                .zip(&self.patch_bias)
                .for_each(|(sum, bias)| *sum += bias);
            let norm = &self.projected_norm;
            layer_norm(self.shared.isa, &sum, &norm.weight, &norm.bias, epsilon, place);
            let [x, y] = positions[row];
            // The two entries are added to each other first, as the reference rounds.
            for ((sum, normed), (x, y)) in sum
                .iter_mut()
                .zip(&*place)
                .zip(entry(x, 0).iter().zip(entry(y, 1)))
            {
                *sum = normed + (x + y);
            }
            let norm = &self.position_norm;
            layer_norm(self.shared.isa, &sum, &norm.weight, &norm.bias, epsilon, place);
        });
        Ok(())
    }
}

/// See the module.
pub(in super::super) struct PatchNormOperator(pub(in super::super) PatchConstants);

impl Operator for PatchNormOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "PatchNorm"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::required(TensorElementType::Float32)]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let constants = self.0.clone();
        Ok(Box::new(move |context: &ComputeContext| constants.norm(context)))
    }
}

/// See the module.
pub(in super::super) struct PatchPlaceOperator(pub(in super::super) PatchConstants);

impl Operator for PatchPlaceOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "PatchPlace"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [
            OperatorInput::required(TensorElementType::Float32),
            OperatorInput::required(TensorElementType::Int32),
        ]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let constants = self.0.clone();
        Ok(Box::new(move |context: &ComputeContext| constants.place(context)))
    }
}
