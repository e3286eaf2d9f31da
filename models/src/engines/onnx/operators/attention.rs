//! `Attention(queries, keys and values, query rows int32, segments int32 [n, 4], cos, sin, pictures? int32 [n, 2]) ->
//! [queries, heads * dim]`; pictures are first row and number of rows, and there where the node's rows see them.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::pool::Pool;
use super::{Shared, input, node_index, row_ranges, segments};
use crate::PictureSight;
use crate::kernels::attention::{AttentionInputs, AttentionShape, Columns, attend};

/// Where a node finds queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Wiring {
    /// Both inputs are the same rows `[queries | keys | values]`, values absent where keys are used for both.
    Joined,
    /// Queries are rows of their own; the second input is `[keys | values]`, or keys alone.
    Split,
}

/// The constants of one node.
#[derive(Debug, Clone)]
pub(in super::super) struct AttentionNode {
    pub(in super::super) shape: AttentionShape,
    pub(in super::super) wiring: Wiring,
    /// Whether values are the keys as they come in.
    pub(in super::super) shared_key_value: bool,
}

pub(in super::super) struct AttentionOperator {
    pub(in super::super) shared: Shared,
    pub(in super::super) nodes: Vec<AttentionNode>,
}

impl Operator for AttentionOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Attention"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        use TensorElementType::{Float32, Int32};
        let required = [Float32, Float32, Int32, Int32, Float32, Float32].map(OperatorInput::required);
        required.into_iter().chain([OperatorInput::optional(Int32)])
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, context: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let node = self
            .nodes
            .get(node_index(context)?)
            .ok_or_else(|| ort::Error::new("no such attention"))?
            .clone();
        let shared = self.shared.clone();
        Ok(Box::new(move |context: &ComputeContext| {
            compute(context, &shared, &node)
        }))
    }
}

fn compute(context: &ComputeContext, shared: &Shared, node: &AttentionNode) -> ort::Result<()> {
    let values: Vec<_> = (0..6)
        .map(|index| input(context, index))
        .collect::<ort::Result<_>>()?;
    let floats = |index: usize| {
        values[index]
            .try_extract_tensor::<f32>()
            .map(|(_, values)| values)
    };
    let ints = |index: usize| {
        values[index]
            .try_extract_tensor::<i32>()
            .map(|(_, values)| values)
    };
    let shape = &node.shape;
    let (query, key) = (shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim);
    let pair = if node.shared_key_value { key } else { 2 * key };
    let (query_offset, stride) = match node.wiring {
        Wiring::Joined => (query, query + pair),
        Wiring::Split => (0, pair),
    };
    let query_stride = match node.wiring {
        Wiring::Joined => stride,
        Wiring::Split => query,
    };
    let query_rows: Vec<u32> = ints(2)?.iter().map(|row| *row as u32).collect();
    let segments = segments(ints(3)?);
    let pictures = match shape.sight {
        PictureSight::Causal => Vec::new(),
        _ => row_ranges(input(context, 6)?.try_extract_tensor::<i32>()?.1),
    };
    let inputs = AttentionInputs {
        queries: Columns {
            values: floats(0)?,
            stride: query_stride,
            offset: 0,
        },
        keys: Columns {
            values: floats(1)?,
            stride,
            offset: query_offset,
        },
        values: Columns {
            values: floats(1)?,
            stride,
            offset: query_offset + pair - key,
        },
        query_rows: &query_rows,
        segments: &segments,
        pictures: &pictures,
        cos: floats(4)?,
        sin: floats(5)?,
    };
    let mut out = context
        .output(0, [query_rows.len() as i64, query as i64])?
        .ok_or_else(|| ort::Error::new("no output"))?;
    let (_, out) = out.try_extract_tensor_mut::<f32>()?;
    let mut scratch = shared
        .scratch
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let pool = Pool {
        context,
        workers: shared.threads,
    };
    attend(&pool, shared.isa, shape, &inputs, &mut scratch.attention, out);
    Ok(())
}
