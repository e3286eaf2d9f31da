//! `Linear(x [rows, depth], residual? [rows, columns]) -> [rows, columns]`: an optional RMS norm, one or two packed
//! matrices side by side, and what follows at once: nothing, a residual, or the gate of the feed-forward block.

use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorInput, OperatorOutput};
use ort::value::TensorElementType;

use super::pool::Pool;
use super::{Scratch, Shared, failed, input, node_index};
use crate::Activation;
use crate::kernels::matrix::{Form, LeftRows, PackedMatrix, multiply};
use crate::kernels::quantised_rows::RowShape;
use crate::kernels::rows::{gate, rms_norm};
use crate::kernels::{Isa, PANEL, Parallel, SharedMut};

/// Rows that one work item normalises.
const ROWS: usize = 8;

/// What happens to a product before it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Epilogue {
    /// Stored as it is.
    Store,
    /// Added to the second input.
    Residual,
    /// Panels hold 32 gates and 32 ups; activation(gate) * up is stored.
    Gate(Activation),
}

/// The constants of one node.
#[derive(Debug, Clone)]
pub(in super::super) struct LinearNode {
    /// Weight and epsilon of the norm before the product.
    pub(in super::super) norm: Option<(Vec<f32>, f32)>,
    /// Names of the matrices, whose outputs stand side by side.
    pub(in super::super) matrices: Vec<String>,
    pub(in super::super) epilogue: Epilogue,
    /// Outputs of the node.
    pub(in super::super) columns: usize,
}

pub(in super::super) struct LinearOperator {
    pub(in super::super) shared: Shared,
    pub(in super::super) nodes: Vec<LinearNode>,
}

impl Operator for LinearOperator {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Linear"
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
            .ok_or_else(|| ort::Error::new("no such linear"))?
            .clone();
        let shared = self.shared.clone();
        Ok(Box::new(move |context: &ComputeContext| {
            compute(context, &shared, &node)
        }))
    }
}

fn compute(context: &ComputeContext, shared: &Shared, node: &LinearNode) -> ort::Result<()> {
    let x = input(context, 0)?;
    let (shape, x) = x.try_extract_tensor::<f32>()?;
    let rows = shape.first().map_or(0, |rows| *rows as usize);
    let residual = match node.epilogue {
        Epilogue::Residual => Some(input(context, 1)?),
        _ => None,
    };
    let residual = residual
        .as_ref()
        .map(|value| value.try_extract_tensor::<f32>())
        .transpose()?;
    let residual = residual.as_ref().map(|(_, values)| *values);
    let mut out = context
        .output(0, [rows as i64, node.columns as i64])?
        .ok_or_else(|| ort::Error::new("no output"))?;
    let (_, out) = out.try_extract_tensor_mut::<f32>()?;
    let pool = Pool {
        context,
        workers: shared.threads,
    };
    let mut scratch = shared
        .scratch
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let matrices: Vec<PackedMatrix<'_>> = node
        .matrices
        .iter()
        .map(|name| shared.weights.matrix(name).map_err(failed))
        .collect::<ort::Result<_>>()?;
    let layout = matrices
        .first()
        .ok_or_else(|| ort::Error::new("a linear without matrices"))?
        .layout();
    let left = left_rows(
        &pool,
        shared.isa,
        node,
        layout.form,
        x,
        rows,
        layout.depth,
        &mut scratch,
    );
    let places = SharedMut::new(out);
    let mut before = 0;
    for matrix in matrices {
        let columns = matrix.layout().columns;
        multiply(&pool, shared.isa, left, rows, matrix, |row, first, values| {
            if let Epilogue::Gate(activation) = node.epilogue {
                let first = first / 2;
                let count = (PANEL / 2).min(node.columns.saturating_sub(first));
                // SAFETY: each tile writes its own columns of its own rows only.
                let place = unsafe { places.slice_mut(row * node.columns + first, count) };
                let (gates, ups) = values.split_at(PANEL / 2);
                gate(shared.isa, activation, &gates[..count], &ups[..count], place);
                return;
            }
            let count = PANEL.min(columns - first);
            let start = row * node.columns + before + first;
            // SAFETY: as above.
            let place = unsafe { places.slice_mut(start, count) };
            match residual {
                Some(residual) => {
                    for ((place, value), residual) in place.iter_mut().zip(values).zip(&residual[start..]) {
                        *place = value + residual;
                    }
                }
                None => place.copy_from_slice(&values[..count]),
            }
        });
        before += columns;
    }
    Ok(())
}

/// Normalises and quantises the input as the matrix wants it.
#[allow(clippy::too_many_arguments)]
fn left_rows<'a>(
    pool: &Pool<'_>,
    isa: Isa,
    node: &LinearNode,
    form: Form,
    x: &'a [f32],
    rows: usize,
    depth: usize,
    scratch: &'a mut Scratch,
) -> LeftRows<'a> {
    match form {
        Form::Float32 => {
            let Some((weight, epsilon)) = &node.norm else {
                return LeftRows::Float32(x);
            };
            scratch.rows.resize(rows * depth, 0.0);
            let places = SharedMut::new(&mut scratch.rows);
            pool.for_each(rows.div_ceil(ROWS), &|item| {
                for row in item * ROWS..((item + 1) * ROWS).min(rows) {
                    // SAFETY: each item writes its own rows only.
                    let place = unsafe { places.slice_mut(row * depth, depth) };
                    rms_norm(isa, &x[row * depth..(row + 1) * depth], weight, *epsilon, place);
                }
            });
            LeftRows::Float32(&scratch.rows)
        }
        Form::Int8 { group } => {
            let shape = RowShape { isa, depth, group };
            scratch.quantised.fill(pool, shape, rows, |row, place| {
                let source = &x[row * depth..(row + 1) * depth];
                match &node.norm {
                    Some((weight, epsilon)) => rms_norm(isa, source, weight, *epsilon, place),
                    None => place.copy_from_slice(source),
                }
            });
            LeftRows::Int8(&scratch.quantised)
        }
    }
}
