//! The custom operators of the graph, domain `assize`. Weights stay in the mapped file; a node names its own by index.

mod attention;
mod embedding;
mod linear;
mod norm;
mod output;
mod patch;
mod pool;
mod rotary;

pub(super) use attention::{AttentionNode, AttentionOperator, Wiring};
pub(super) use embedding::EmbeddingOperator;
pub(super) use linear::{Epilogue, LinearNode, LinearOperator};
pub(super) use norm::{NormNode, NormOperator};
pub(super) use output::{LogNormalizerOperator, LogitsOperator, OutputConstants};
pub(super) use patch::{PatchConstants, PatchNormOperator, PatchPlaceOperator};
pub(super) use rotary::RotaryOperator;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ort::operator::{ComputeContext, KernelContext};
use ort::value::ValueRef;

use super::lowered::Lowered;
use crate::kernels::Isa;
use crate::kernels::quantised_rows::QuantisedRows;
use crate::{ModelError, Segment, SegmentIndex};

/// The domain of the custom operators.
pub(super) const DOMAIN: &str = "assize";
/// The attribute that names a node's constants.
pub(super) const INDEX: &str = "index";

/// What all operators of one model share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) weights: Arc<Lowered>,
    pub(super) isa: Isa,
    pub(super) threads: usize,
    /// Buffers that live for one node at a time; nodes run one after another.
    pub(super) scratch: Arc<Mutex<Scratch>>,
}

impl Shared {
    /// Gives back the buffers.
    pub(super) fn release_scratch(&self) {
        // What a panic left in them is dropped.
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Scratch::default();
    }
}

/// Buffers kept between nodes so that they are not allocated anew.
#[derive(Default)]
pub(super) struct Scratch {
    rows: Vec<f32>,
    quantised: QuantisedRows,
    attention: Vec<f32>,
}

fn failed(error: ModelError) -> ort::Error {
    ort::Error::new(error.to_string())
}

fn node_index(context: &KernelContext<'_>) -> ort::Result<usize> {
    let index: i64 = context
        .get(INDEX)
        .ok_or_else(|| ort::Error::new("a node has no index"))?;
    usize::try_from(index).map_err(|_| ort::Error::new("a node has a negative index"))
}

fn input<'a>(context: &'a ComputeContext, index: usize) -> ort::Result<ValueRef<'a>> {
    context
        .input(index)?
        .ok_or_else(|| ort::Error::new(format!("input {index} is missing")))
}

/// The rows of a `[rows, 4]` int32 tensor as segments: start, length, parent (-1 for none), first position.
fn segments(table: &[i32]) -> Vec<Segment> {
    let (rows, _) = table.as_chunks::<4>();
    rows.iter()
        .map(|[start, len, parent, first_position]| Segment {
            start: *start as u32,
            len: *len as u32,
            parent: u32::try_from(*parent).ok().map(SegmentIndex),
            first_position: *first_position as u32,
        })
        .collect()
}

/// The rows of a `[n, 2]` int32 tensor, first row and number of rows, as ranges.
fn row_ranges(table: &[i32]) -> Vec<Range<u32>> {
    let (ranges, _) = table.as_chunks::<2>();
    ranges
        .iter()
        .map(|[start, len]| *start as u32..(*start + *len) as u32)
        .collect()
}
