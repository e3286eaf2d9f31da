//! `LogNormalizer(hidden [rows, width]) -> [rows]` and `Logits(hidden) -> [rows, vocabulary]`.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::pool::Pool;
use super::{Shared, failed, input};
use crate::kernels::output::OutputHead;

/// What both operators need.
#[derive(Clone)]
pub(in super::super) struct OutputConstants {
    pub(in super::super) shared: Shared,
    pub(in super::super) vocabulary: usize,
    pub(in super::super) width: usize,
    pub(in super::super) softcap: Option<f32>,
    /// Name of the matrix.
    pub(in super::super) matrix: &'static str,
}

impl OutputConstants {
    /// The arithmetic over the mapped matrix.
    pub(in super::super) fn head(&self) -> Result<OutputHead<'_>, crate::ModelError> {
        Ok(OutputHead {
            isa: self.shared.isa,
            matrix: self.shared.weights.matrix(self.matrix)?,
            softcap: self.softcap,
        })
    }
}

macro_rules! output_operator {
    ($name:ident, $text:literal, $compute:ident, $shape:expr) => {
        pub(in super::super) struct $name(pub(in super::super) OutputConstants);

        impl Operator for $name {
            type Kernel<'attr> = BoxedKernel<'attr>;

            fn name(&self) -> &str {
                $text
            }

            fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
                [OperatorInput::required(TensorElementType::Float32)]
            }

            fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
                [OperatorOutput::required(TensorElementType::Float32)]
            }

            fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
                let constants = self.0.clone();
                Ok(Box::new(move |context: &ComputeContext| {
                    let hidden = input(context, 0)?;
                    let (_, hidden) = hidden.try_extract_tensor::<f32>()?;
                    let rows = hidden.len() / constants.width;
                    let shape: Vec<i64> = $shape(rows as i64, constants.vocabulary as i64);
                    let mut out = context
                        .output(0, shape)?
                        .ok_or_else(|| ort::Error::new("no output"))?;
                    let (_, out) = out.try_extract_tensor_mut::<f32>()?;
                    let pool = Pool {
                        context,
                        workers: constants.shared.threads,
                    };
                    constants
                        .head()
                        .map_err(failed)?
                        .$compute(&pool, hidden, out);
                    Ok(())
                }))
            }
        }
    };
}

output_operator!(
    LogNormalizerOperator,
    "LogNormalizer",
    log_normalizers,
    |rows, _| vec![rows]
);
output_operator!(LogitsOperator, "Logits", logits, |rows, vocabulary| vec![
    rows, vocabulary
]);
