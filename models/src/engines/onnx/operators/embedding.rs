//! `Embedding(tokens int32 [rows], soft? [n, hidden], soft rows? int32 [n]) -> float32 [rows, hidden]`: rows of the
//! embedding matrix times a constant; then, where the model reads media, the soft tokens as they are in their rows.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::pool::Pool;
use super::{Shared, failed, input};
use crate::kernels::{Parallel, SharedMut};

pub(in super::super) struct EmbeddingOperator {
    pub(in super::super) shared: Shared,
    pub(in super::super) hidden: usize,
    pub(in super::super) scale: f32,
    /// Whether the model reads media.
    pub(in super::super) media: bool,
}

impl Operator for EmbeddingOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Embedding"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [
            OperatorInput::required(TensorElementType::Int32),
            OperatorInput::optional(TensorElementType::Float32),
            OperatorInput::optional(TensorElementType::Int32),
        ]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let (shared, hidden, scale) = (self.shared.clone(), self.hidden, self.scale);
        let media = self.media;
        Ok(Box::new(move |context: &ComputeContext| {
            let tokens = input(context, 0)?;
            let (_, tokens) = tokens.try_extract_tensor::<i32>()?;
            let mut out = context
                .output(0, [tokens.len() as i64, hidden as i64])?
                .ok_or_else(|| ort::Error::new("no output"))?;
            let (_, out) = out.try_extract_tensor_mut::<f32>()?;
            let matrix = shared.weights.matrix("embedding").map_err(failed)?;
            let places = SharedMut::new(&mut *out);
            Pool {
                context,
                workers: shared.threads,
            }
            .for_each(tokens.len().div_ceil(32), &|item| {
                for (row, token) in tokens.iter().enumerate().skip(item * 32).take(32) {
                    // SAFETY: each item writes its own rows only.
                    let place = unsafe { places.slice_mut(row * hidden, hidden) };
                    matrix.row(*token as usize, place);
                    if scale != 1.0 {
                        place.iter_mut().for_each(|value| *value *= scale);
                    }
                }
            });
            if media {
                let (soft, rows) = (input(context, 1)?, input(context, 2)?);
                let (_, soft) = soft.try_extract_tensor::<f32>()?;
                let (_, rows) = rows.try_extract_tensor::<i32>()?;
                for (soft, row) in soft.chunks_exact(hidden).zip(rows) {
                    out[*row as usize * hidden..][..hidden].copy_from_slice(soft);
                }
            }
            Ok(())
        }))
    }
}
