//! `Norm(x [rows, width], residual? [rows, width]) -> [rows, width]`: RMS norm, added to a residual where there is one,
//! times a constant where there is one.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::{Shared, input, node_index};
use crate::kernels::rows::rms_norm;

/// The constants of one node.
#[derive(Debug, Clone)]
pub(in super::super) struct NormNode {
    pub(in super::super) weight: Vec<f32>,
    pub(in super::super) epsilon: f32,
    pub(in super::super) residual: bool,
    /// Factor on the sum.
    pub(in super::super) scale: Option<f32>,
}

pub(in super::super) struct NormOperator {
    pub(in super::super) shared: Shared,
    pub(in super::super) nodes: Vec<NormNode>,
}

impl Operator for NormOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Norm"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [
            OperatorInput::required(TensorElementType::Float32),
            OperatorInput::optional(TensorElementType::Float32),
        ]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, context: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let node = self
            .nodes
            .get(node_index(context)?)
            .ok_or_else(|| ort::Error::new("no such norm"))?
            .clone();
        let isa = self.shared.isa;
        Ok(Box::new(move |context: &ComputeContext| {
            let x = input(context, 0)?;
            let (shape, x) = x.try_extract_tensor::<f32>()?;
            let mut out = context
                .output(0, shape.to_vec())?
                .ok_or_else(|| ort::Error::new("no output"))?;
            let (_, out) = out.try_extract_tensor_mut::<f32>()?;
            let width = node.weight.len();
            for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                rms_norm(isa, x, &node.weight, node.epsilon, out);
            }
            if node.residual {
                let residual = input(context, 1)?;
                let (_, residual) = residual.try_extract_tensor::<f32>()?;
                out.iter_mut()
                    .zip(residual)
                    .for_each(|(out, residual)| *out += residual);
            }
            if let Some(scale) = node.scale {
                out.iter_mut().for_each(|out| *out *= scale);
            }
            Ok(())
        }))
    }
}
