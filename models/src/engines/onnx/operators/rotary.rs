//! `Rotary(segments int32 [n, 4]) -> cos, sin float32 [rows, head_dim / 2]`: the tables of one rotary embedding.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::{input, node_index, segments};
use crate::Rope;

pub(in super::super) struct RotaryOperator {
    /// The distinct embeddings of the model, named by the nodes' index.
    pub(in super::super) ropes: Vec<Rope>,
}

impl Operator for RotaryOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Rotary"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::required(TensorElementType::Int32)]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [
            OperatorOutput::required(TensorElementType::Float32),
            OperatorOutput::required(TensorElementType::Float32),
        ]
    }

    fn create_kernel<'attr>(&self, context: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let rope = self
            .ropes
            .get(node_index(context)?)
            .ok_or_else(|| ort::Error::new("no such rotary"))?
            .clone();
        Ok(Box::new(move |context: &ComputeContext| {
            let table = input(context, 0)?;
            let segments = segments(table.try_extract_tensor::<i32>()?.1);
            let (half, rows) = (
                rope.inverse_frequencies.len(),
                segments.iter().map(|s| s.len as usize).sum::<usize>(),
            );
            let shape = [rows as i64, half as i64];
            let missing = || ort::Error::new("no output");
            let mut cos = context.output(0, shape)?.ok_or_else(missing)?;
            let mut sin = context.output(1, shape)?.ok_or_else(missing)?;
            let (cos, sin) = (
                cos.try_extract_tensor_mut::<f32>()?.1,
                sin.try_extract_tensor_mut::<f32>()?.1,
            );
            let mut places = cos.chunks_exact_mut(half).zip(sin.chunks_exact_mut(half));
            for segment in &segments {
                for (position, (cos, sin)) in
                    (segment.first_position..segment.first_position + segment.len).zip(&mut places)
                {
                    for ((cos, sin), frequency) in cos.iter_mut().zip(sin).zip(&rope.inverse_frequencies) {
                        // The angle is rounded to float32 as the reference does; its sine and cosine are then exact.
                        let angle = f64::from(position as f32 * frequency);
                        (*sin, *cos) = (angle.sin() as f32, angle.cos() as f32);
                    }
                }
            }
            Ok(())
        }))
    }
}
