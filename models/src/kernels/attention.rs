//! Attention over a forest of segments: each row sees its ancestors' rows and the earlier rows of its own segment, and
//! where the model says so, the later rows of its own picture.
//!
//! Keys are packed per segment, and softmax runs online over blocks of 256 keys counted from the segment's start
//! (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), so that a row's arithmetic depends on
//! its own path only.

use std::ops::Range;

use super::elementary::{exp, fused};
use super::rows::{rms_norm, rms_scale};
use super::tile_f32::TileF32;
use super::{Isa, PANEL, Parallel, SharedMut, TILE_ROWS, per_isa};
use crate::{PictureSight, Segment};

/// Keys of one softmax block.
const BLOCK: usize = 256;
/// Rows (queries times heads) that one work item aims for.
const ITEM_ROWS: usize = 48;

/// The constants of one layer's attention.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttentionShape {
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) scale: f32,
    pub(crate) window: Option<usize>,
    pub(crate) epsilon: f32,
    /// Weights of the per-head norms of q and k, before the rotary embedding.
    pub(crate) query_norm: Option<Vec<f32>>,
    pub(crate) key_norm: Option<Vec<f32>>,
    /// Whether values pass an RMS norm without a weight.
    pub(crate) value_norm: bool,
    /// What rows of a picture see of it.
    pub(crate) sight: PictureSight,
}

/// Rows inside a wider row-major array.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) offset: usize,
}

impl<'a> Columns<'a> {
    fn row(&self, row: usize, first: usize, len: usize) -> &'a [f32] {
        let start = row * self.stride + self.offset + first;
        &self.values[start..start + len]
    }
}

/// The inputs of one attention.
pub(crate) struct AttentionInputs<'a> {
    /// One row per query, `heads * head_dim` wide.
    pub(crate) queries: Columns<'a>,
    /// One row per batch row, `kv_heads * head_dim` wide.
    pub(crate) keys: Columns<'a>,
    /// One row per batch row, `kv_heads * head_dim` wide.
    pub(crate) values: Columns<'a>,
    /// The batch row of every query.
    pub(crate) query_rows: &'a [u32],
    /// The segments; they tile the batch rows.
    pub(crate) segments: &'a [Segment],
    /// Rows of every picture, each within one segment, in ascending order.
    pub(crate) pictures: &'a [Range<u32>],
    /// Cosines `[rows, head_dim / 2]`.
    pub(crate) cos: &'a [f32],
    /// Sines `[rows, head_dim / 2]`.
    pub(crate) sin: &'a [f32],
}

impl AttentionInputs<'_> {
    /// The rows of the picture that `row` belongs to.
    fn picture_of(&self, row: u32) -> Option<&Range<u32>> {
        let next = self.pictures.partition_point(|picture| picture.end <= row);
        self.pictures.get(next).filter(|picture| picture.start <= row)
    }
}

/// Queries that are worked on together: they share all ancestors.
struct Tile {
    first: usize,
    len: usize,
}

/// Runs attention; `out` is `[queries, heads * head_dim]`.
///
/// # Panics
/// Extents disagree, or a query row lies in no segment.
pub(crate) fn attend(
    parallel: &dyn Parallel,
    isa: Isa,
    shape: &AttentionShape,
    inputs: &AttentionInputs<'_>,
    scratch: &mut Vec<f32>,
    out: &mut [f32],
) {
    let dim = shape.head_dim;
    let padded = dim.next_multiple_of(16);
    let panel_starts = panel_starts(inputs.segments);
    let panels = panel_starts.last().copied().unwrap_or(0);
    let (key_len, value_len) = (panels * dim * PANEL, panels * PANEL * padded);
    scratch.resize(shape.kv_heads * (key_len + value_len), 0.0);
    let places = SharedMut::new(scratch);

    // Pack: one item is 64 keys of one segment for one key head.
    parallel.for_each(panels * shape.kv_heads, &|item| {
        let (head, panel) = (item / panels, item % panels);
        // SAFETY: each item writes its own panel only.
        let keys = unsafe { places.slice_mut(head * key_len + panel * dim * PANEL, dim * PANEL) };
        let start = shape.kv_heads * key_len + head * value_len + panel * PANEL * padded;
        // SAFETY: as above.
        let values = unsafe { places.slice_mut(start, PANEL * padded) };
        pack_panel(isa, shape, inputs, &panel_starts, head, panel, keys, values);
    });

    let tiles = tiles(inputs, (ITEM_ROWS / (shape.heads / shape.kv_heads)).max(1));
    let rows_of = segment_of_rows(inputs.segments);
    let packed: &[f32] = scratch;
    let out_width = shape.heads * dim;
    assert!(
        out.len() >= inputs.query_rows.len() * out_width,
        "attention output"
    );
    let out = SharedMut::new(out);
    // Late tiles see most keys, so they are handed out first.
    parallel.for_each(tiles.len() * shape.kv_heads, &|item| {
        let item = tiles.len() * shape.kv_heads - 1 - item;
        let (tile, head) = (&tiles[item / shape.kv_heads], item % shape.kv_heads);
        let keys = &packed[head * key_len..(head + 1) * key_len];
        let start = shape.kv_heads * key_len + head * value_len;
        let values = &packed[start..start + value_len];
        let mut work = Work::new(isa, shape, inputs, &panel_starts, &rows_of, tile, head);
        work.run(keys, values);
        let group = shape.heads / shape.kv_heads;
        for query in 0..tile.len {
            // SAFETY: each item writes the columns of its own queries and heads only.
            let place =
                unsafe { out.slice_mut((tile.first + query) * out_width + head * group * dim, group * dim) };
            for (member, place) in place.chunks_exact_mut(dim).enumerate() {
                work.finish(query * group + member, place);
            }
        }
    });
}

/// First panel of every segment, and the total at the end.
fn panel_starts(segments: &[Segment]) -> Vec<usize> {
    let mut total = 0;
    let mut starts = Vec::with_capacity(segments.len() + 1);
    for segment in segments {
        starts.push(total);
        total += (segment.len as usize).div_ceil(PANEL);
    }
    starts.push(total);
    starts
}

/// The segment index of every batch row.
fn segment_of_rows(segments: &[Segment]) -> Vec<u32> {
    let mut rows = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        rows.resize((segment.start + segment.len) as usize, index as u32);
    }
    rows
}

/// Cuts the queries into tiles: of one segment, or of short neighbours under one parent.
fn tiles(inputs: &AttentionInputs<'_>, most: usize) -> Vec<Tile> {
    let owner = segment_of_rows(inputs.segments);
    let mut tiles: Vec<Tile> = Vec::new();
    let mut previous: Option<u32> = None;
    for (query, row) in inputs.query_rows.iter().enumerate() {
        let index = owner[*row as usize];
        let joins = match (tiles.last(), previous) {
            (Some(tile), Some(before)) if tile.len < most => {
                let (old, new) = (
                    &inputs.segments[before as usize],
                    &inputs.segments[index as usize],
                );
                before == index
                    || (old.parent == new.parent && old.len as usize <= most && new.len as usize <= most)
            }
            _ => false,
        };
        match tiles.last_mut() {
            Some(tile) if joins => tile.len += 1,
            _ => tiles.push(Tile { first: query, len: 1 }),
        }
        previous = Some(index);
    }
    tiles
}

#[allow(clippy::too_many_arguments)]
fn pack_panel(
    isa: Isa,
    shape: &AttentionShape,
    inputs: &AttentionInputs<'_>,
    panel_starts: &[usize],
    head: usize,
    panel: usize,
    keys: &mut [f32],
    values: &mut [f32],
) {
    let dim = shape.head_dim;
    let padded = dim.next_multiple_of(16);
    let index = panel_starts.partition_point(|start| *start <= panel) - 1;
    let segment = &inputs.segments[index];
    let offset = (panel - panel_starts[index]) * PANEL;
    let count = PANEL.min(segment.len as usize - offset);
    let mut key = vec![0f32; dim];
    for place in 0..PANEL {
        if place >= count {
            (0..dim).for_each(|element| keys[element * PANEL + place] = 0.0);
            values[place * padded..(place + 1) * padded].fill(0.0);
            continue;
        }
        let row = segment.start as usize + offset + place;
        head_vector(
            isa,
            shape,
            inputs,
            inputs.keys.row(row, head * dim, dim),
            shape.key_norm.as_deref(),
            row,
            &mut key,
        );
        for (element, value) in key.iter().enumerate() {
            keys[element * PANEL + place] = *value;
        }
        let target = &mut values[place * padded..(place + 1) * padded];
        let value = inputs.values.row(row, head * dim, dim);
        if shape.value_norm {
            rms_scale(isa, value, shape.epsilon, &mut target[..dim]);
        } else {
            target[..dim].copy_from_slice(value);
        }
        target[dim..].fill(0.0);
    }
}

/// Norm (where the model has one) and rotary embedding of one head's q or k.
fn head_vector(
    isa: Isa,
    shape: &AttentionShape,
    inputs: &AttentionInputs<'_>,
    source: &[f32],
    norm: Option<&[f32]>,
    row: usize,
    out: &mut [f32],
) {
    match norm {
        Some(weight) => rms_norm(isa, source, weight, shape.epsilon, out),
        None => out.copy_from_slice(source),
    }
    let half = shape.head_dim / 2;
    let (cos, sin) = (
        &inputs.cos[row * half..(row + 1) * half],
        &inputs.sin[row * half..(row + 1) * half],
    );
    let (low, high) = out.split_at_mut(half);
    for (((a, b), cos), sin) in low.iter_mut().zip(high).zip(cos).zip(sin) {
        (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
    }
}

/// The state of one work item: queries of one tile for the heads that share one key head.
struct Work<'a> {
    isa: Isa,
    shape: &'a AttentionShape,
    inputs: &'a AttentionInputs<'a>,
    panel_starts: &'a [usize],
    rows_of: &'a [u32],
    tile: &'a Tile,
    padded: usize,
    group: usize,
    /// Scaled, rotated queries `[rows, head_dim]`; row = query * group + member.
    queries: Vec<f32>,
    /// Scores, then weights, of one block `[6, 256]`.
    scores: Vec<f32>,
    /// Weighted sums of values `[rows, padded]`.
    sums: Vec<f32>,
    /// Largest score so far.
    largest: Vec<f32>,
    /// Sum of weights so far.
    totals: Vec<f32>,
}

impl<'a> Work<'a> {
    fn new(
        isa: Isa,
        shape: &'a AttentionShape,
        inputs: &'a AttentionInputs<'a>,
        panel_starts: &'a [usize],
        rows_of: &'a [u32],
        tile: &'a Tile,
        head: usize,
    ) -> Self {
        let (dim, group) = (shape.head_dim, shape.heads / shape.kv_heads);
        let padded = dim.next_multiple_of(16);
        let rows = tile.len * group;
        let mut queries = vec![0f32; rows * dim];
        for (index, query) in queries.chunks_exact_mut(dim).enumerate() {
            let (place, member) = (tile.first + index / group, index % group);
            let row = inputs.query_rows[place] as usize;
            let source = inputs.queries.row(place, (head * group + member) * dim, dim);
            head_vector(
                isa,
                shape,
                inputs,
                source,
                shape.query_norm.as_deref(),
                row,
                query,
            );
            query.iter_mut().for_each(|value| *value *= shape.scale);
        }
        Self {
            isa,
            shape,
            inputs,
            panel_starts,
            rows_of,
            tile,
            padded,
            group,
            queries,
            scores: vec![0f32; TILE_ROWS * BLOCK],
            sums: vec![0f32; rows * padded],
            largest: vec![f32::NEG_INFINITY; rows],
            totals: vec![0f32; rows],
        }
    }

    fn run(&mut self, keys: &[f32], values: &[f32]) {
        let segment_of =
            |query: usize| self.rows_of[self.inputs.query_rows[self.tile.first + query] as usize] as usize;
        let mut path = Vec::new();
        let mut next = self.inputs.segments[segment_of(0)].parent;
        while let Some(index) = next {
            path.push(index.0 as usize);
            next = self.inputs.segments[index.0 as usize].parent;
        }
        let owners: Vec<usize> = (0..self.tile.len).map(segment_of).collect();
        for segment in path.into_iter().rev() {
            self.range(segment, 0, self.tile.len, false, keys, values);
        }
        let mut from = 0;
        while from < owners.len() {
            let run = owners[from..]
                .iter()
                .take_while(|owner| **owner == owners[from])
                .count();
            self.range(owners[from], from, from + run, true, keys, values);
            from += run;
        }
    }

    /// Lets queries `from..to` see the keys of one segment: all of them, or where it is their `own`, their own past and
    /// what they see of their picture. What a query sees is one run of keys, because it lies in its picture itself.
    fn range(&mut self, segment: usize, from: usize, to: usize, own: bool, keys: &[f32], values: &[f32]) {
        let (first_panel, found) = (self.panel_starts[segment], self.inputs.segments[segment]);
        let visible = |query: usize| -> (usize, usize) {
            let row = self.inputs.query_rows[self.tile.first + query];
            let owner = &self.inputs.segments[self.rows_of[row as usize] as usize];
            let picture = match self.shape.sight {
                PictureSight::Causal => None,
                _ if !own => None,
                _ => self.inputs.picture_of(row),
            };
            let end = match picture {
                Some(picture) => (picture.end - found.start) as usize,
                None if own => (row - found.start) as usize + 1,
                None => found.len as usize,
            };
            let start = match self.shape.window {
                None => 0,
                Some(window) => {
                    let position = (owner.first_position + row - owner.start) as usize;
                    (position + 1).saturating_sub(window + found.first_position as usize)
                }
            };
            let start = match picture {
                Some(picture) if self.shape.sight == PictureSight::Whole => {
                    start.min((picture.start - found.start) as usize)
                }
                _ => start,
            };
            (start.min(end), end)
        };
        let rows = from * self.group..to * self.group;
        let limits: Vec<(usize, usize)> = rows.clone().map(|row| visible(row / self.group)).collect();
        for block in (0..found.len as usize).step_by(BLOCK) {
            for tile_start in rows.clone().step_by(TILE_ROWS) {
                let tile_rows = TILE_ROWS.min(rows.end - tile_start);
                let limits = &limits[tile_start - rows.start..][..tile_rows];
                let low = limits.iter().map(|limit| limit.0).min().unwrap_or(0).max(block);
                let high = limits
                    .iter()
                    .map(|limit| limit.1)
                    .max()
                    .unwrap_or(0)
                    .min(block + BLOCK);
                if low < high {
                    self.block(
                        first_panel,
                        block,
                        tile_start,
                        tile_rows,
                        low,
                        high,
                        limits,
                        keys,
                        values,
                    );
                }
            }
        }
    }

    /// One softmax block of keys `low..high` for up to six rows.
    #[allow(clippy::too_many_arguments)]
    fn block(
        &mut self,
        first_panel: usize,
        block: usize,
        row: usize,
        rows: usize,
        low: usize,
        high: usize,
        limits: &[(usize, usize)],
        keys: &[f32],
        values: &[f32],
    ) {
        let dim = self.shape.head_dim;
        let from_panel = low / PANEL;
        for panel in from_panel..high.div_ceil(PANEL) {
            let packed = &keys[(first_panel + panel) * dim * PANEL..][..dim * PANEL];
            let vectors = (high - panel * PANEL).min(PANEL).div_ceil(16);
            let tile = TileF32 {
                left: self.queries[row * dim..(row + rows) * dim].as_ptr(),
                left_stride: dim,
                right: packed.as_ptr(),
                right_stride: PANEL,
                out: self.scores[panel * PANEL - block..].as_mut_ptr(),
                out_stride: BLOCK,
                rows,
                depth: dim,
                vectors: vectors.next_power_of_two().max(2),
                accumulate: false,
            };
            // SAFETY: the query rows and the panel are in range by the slices; the panel's scores lie in the block.
            unsafe { tile.run(self.isa) };
        }
        let start = from_panel * PANEL - block;
        let end = high - block;
        for (offset, limit) in limits.iter().enumerate() {
            let scores = &mut self.scores[offset * BLOCK..(offset + 1) * BLOCK];
            let (from, to) = (
                limit.0.max(block) - block,
                limit.1.min(block + BLOCK).max(block) - block,
            );
            if from >= to {
                scores[start..end].fill(0.0);
                continue;
            }
            scores[start..from.max(start)].fill(0.0);
            scores[to..end.max(to)].fill(0.0);
            let (largest, total, factor) = softmax_block(
                self.isa,
                scores,
                from,
                to,
                self.largest[row + offset],
                self.totals[row + offset],
            );
            self.largest[row + offset] = largest;
            self.totals[row + offset] = total;
            if factor != 1.0 {
                let sums = &mut self.sums[(row + offset) * self.padded..][..self.padded];
                sums.iter_mut().for_each(|sum| *sum *= factor);
            }
        }
        let values = &values[(first_panel * PANEL + block + start) * self.padded..];
        let mut column = 0;
        while column < self.padded {
            let left = (self.padded - column) / 16;
            let vectors = if left >= 4 {
                4
            } else if left >= 2 {
                2
            } else {
                1
            };
            let tile = TileF32 {
                left: self.scores[start..].as_ptr(),
                left_stride: BLOCK,
                right: values[column..].as_ptr(),
                right_stride: self.padded,
                out: self.sums[row * self.padded + column..].as_mut_ptr(),
                out_stride: self.padded,
                rows,
                depth: end - start,
                vectors,
                accumulate: true,
            };
            assert!(values.len() >= (end - start) * self.padded, "packed values");
            // SAFETY: scores hold six rows of a block, values `end - start` rows, sums `rows` rows.
            unsafe { tile.run(self.isa) };
            column += 16 * vectors;
        }
    }

    fn finish(&self, row: usize, out: &mut [f32]) {
        let inverse = 1.0 / self.totals[row];
        for (out, sum) in out.iter_mut().zip(&self.sums[row * self.padded..]) {
            *out = sum * inverse;
        }
    }
}

per_isa! {
    /// Turns `scores[from..to]` into weights e^(score - largest) and returns the new largest score, the new total and
    /// the factor that earlier sums must be multiplied with.
    fn softmax_block(scores: &mut [f32], from: usize, to: usize, largest: f32, total: f32) -> (f32, f32, f32) = softmax_block_body
}

#[inline(always)]
fn softmax_block_body<const FMA: bool>(
    scores: &mut [f32],
    from: usize,
    to: usize,
    largest: f32,
    total: f32,
) -> (f32, f32, f32) {
    // Lanes are fixed places of the block, so that the order of the sum is the same wherever the visible part begins.
    let aligned = from - from % 16;
    scores[aligned..from].fill(f32::NEG_INFINITY);
    let end = to.next_multiple_of(16);
    scores[to..end].fill(f32::NEG_INFINITY);
    let (chunks, _) = scores[aligned..end].as_chunks_mut::<16>();
    let mut tops = [f32::NEG_INFINITY; 16];
    for chunk in chunks.iter() {
        for (top, score) in tops.iter_mut().zip(chunk) {
            *top = if *score > *top { *score } else { *top };
        }
    }
    let top = tops.iter().fold(largest, |a, b| a.max(*b));
    let mut lanes = [0f32; 16];
    for chunk in chunks.iter_mut() {
        for (lane, score) in lanes.iter_mut().zip(chunk) {
            *score = exp::<FMA>(*score - top);
            *lane += *score;
        }
    }
    let factor = if largest == f32::NEG_INFINITY {
        0.0
    } else {
        exp::<FMA>(largest - top)
    };
    let sum: f32 = lanes.iter().sum();
    (top, fused::<FMA>(total, factor, sum), factor)
}

#[cfg(test)]
mod tests;
