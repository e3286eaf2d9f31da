//! Packed linear weights and the product of many rows with them.
//!
//! A matrix `[columns, depth]` (outputs by inputs) is cut into panels of 64 outputs. Float32 panels are `[depth][64]`;
//! int8 panels are described in [`super::tile_int8`]. Missing outputs of the last panel are zero.

use super::tile_f32::TileF32;
use super::tile_int8::{TileInt8, ZERO_POINT, group_bytes};
use super::{Isa, PANEL, Parallel, TILE_ROWS};

/// How the numbers of a packed matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// float32.
    Float32,
    /// int8 with one scale per output and `group` inputs.
    Int8 {
        /// Inputs that share a scale, a multiple of 4.
        group: usize,
    },
}

/// The extents of a packed matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Layout {
    /// How numbers are stored.
    pub(crate) form: Form,
    /// Outputs.
    pub(crate) columns: usize,
    /// Inputs.
    pub(crate) depth: usize,
}

impl Layout {
    pub(crate) fn panels(&self) -> usize {
        self.columns.div_ceil(PANEL)
    }

    pub(crate) fn panel_bytes(&self) -> usize {
        match self.form {
            Form::Float32 => self.depth * PANEL * 4,
            Form::Int8 { group } => self.depth.div_ceil(group) * group_bytes(group),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.panels() * self.panel_bytes()
    }

    /// Packs rows of `[columns, depth]` float32 into `out`, which is `self.bytes()` long.
    pub(crate) fn pack(&self, values: &[f32], out: &mut [u8]) {
        assert_eq!(values.len(), self.columns * self.depth, "matrix extents");
        assert_eq!(out.len(), self.bytes(), "packed extents");
        for (panel, out) in out.chunks_exact_mut(self.panel_bytes()).enumerate() {
            let first = panel * PANEL;
            let columns = PANEL.min(self.columns - first);
            let rows = &values[first * self.depth..(first + columns) * self.depth];
            match self.form {
                Form::Float32 => pack_f32(rows, self.depth, out),
                Form::Int8 { group } => pack_int8(rows, self.depth, group, out),
            }
        }
    }
}

fn pack_f32(rows: &[f32], depth: usize, out: &mut [u8]) {
    for (column, row) in rows.chunks_exact(depth).enumerate() {
        for (k, value) in row.iter().enumerate() {
            let place = (k * PANEL + column) * 4;
            out[place..place + 4].copy_from_slice(&value.to_ne_bytes());
        }
    }
}

fn pack_int8(rows: &[f32], depth: usize, group: usize, out: &mut [u8]) {
    for (index, out) in out.chunks_exact_mut(group_bytes(group)).enumerate() {
        let (codes, tables) = out.split_at_mut(group * PANEL);
        let (starts, scales) = tables.split_at_mut(PANEL * 4);
        for (column, row) in rows.chunks_exact(depth).enumerate() {
            let values = &row[index * group..((index + 1) * group).min(depth)];
            let scale = best_scale(values);
            let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
            let mut sum = 0i32;
            for (k, value) in values.iter().enumerate() {
                let code = (value * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
                codes[(k / 4) * 4 * PANEL + 4 * column + k % 4] = code as u8;
                sum += i32::from(code);
            }
            starts[4 * column..4 * column + 4].copy_from_slice(&(-ZERO_POINT * sum).to_ne_bytes());
            scales[4 * column..4 * column + 4].copy_from_slice(&scale.to_ne_bytes());
        }
    }
}

/// The symmetric 8-bit scale of a group of weights: its largest magnitude over 127.
fn best_scale(values: &[f32]) -> f32 {
    values
        .iter()
        .fold(0f32, |largest, value| largest.max(value.abs()))
        / 127.0
}

/// A packed matrix in memory.
#[derive(Clone, Copy)]
pub(crate) struct PackedMatrix<'a> {
    layout: Layout,
    bytes: &'a [u8],
}

impl<'a> PackedMatrix<'a> {
    /// # Panics
    /// `bytes` is not `layout.bytes()` long.
    pub(crate) fn new(layout: Layout, bytes: &'a [u8]) -> Self {
        assert_eq!(bytes.len(), layout.bytes(), "packed extents");
        Self { layout, bytes }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Writes the weights of one output as float32; `out` is `depth` long.
    ///
    /// # Panics
    /// The index is out of range.
    pub(crate) fn row(&self, index: usize, out: &mut [f32]) {
        assert!(
            index < self.layout.columns && out.len() == self.layout.depth,
            "row of a packed matrix"
        );
        let (panel, column) = (index / PANEL, index % PANEL);
        let packed = &self.bytes[panel * self.layout.panel_bytes()..(panel + 1) * self.layout.panel_bytes()];
        let float = |bytes: &[u8]| {
            bytes
                .first_chunk()
                .map_or(0.0, |bytes| f32::from_ne_bytes(*bytes))
        };
        match self.layout.form {
            Form::Float32 => {
                for (out, packed) in out.iter_mut().zip(packed.chunks_exact(4 * PANEL)) {
                    *out = float(&packed[4 * column..]);
                }
            }
            Form::Int8 { group } => {
                for (out, packed) in out.chunks_mut(group).zip(packed.chunks_exact(group_bytes(group))) {
                    let (codes, tables) = packed.split_at(group * PANEL);
                    let scale = float(&tables[4 * PANEL + 4 * column..]);
                    for (out, codes) in out.chunks_mut(4).zip(codes.chunks_exact(4 * PANEL)) {
                        for (out, code) in out.iter_mut().zip(&codes[4 * column..]) {
                            *out = f32::from(*code as i8) * scale;
                        }
                    }
                }
            }
        }
    }
}

/// The left rows of a product, in the form that the matrix wants.
#[derive(Clone, Copy)]
pub(crate) enum LeftRows<'a> {
    /// `[rows, depth]` float32.
    Float32(&'a [f32]),
    /// Quantised rows `[rows, groups * group]` and their scales `[rows, groups]`.
    Int8 {
        /// Values plus 128.
        quantised: &'a [u8],
        /// One scale per row and group.
        scales: &'a [f32],
        /// What the first part left over, in the same layout, where more than 8 bits are wanted.
        rest: Option<(&'a [u8], &'a [f32])>,
    },
}

/// Multiplies `rows` left rows with every panel; `sink(row, first column, values)` gets each row of each tile.
///
/// # Panics
/// `left` is not of the matrix's form or shorter than `rows` rows.
pub(crate) fn multiply(
    parallel: &dyn Parallel,
    isa: Isa,
    left: LeftRows<'_>,
    rows: usize,
    matrix: PackedMatrix<'_>,
    sink: impl Fn(usize, usize, &[f32; PANEL]) + Sync,
) {
    let layout = matrix.layout;
    match (left, layout.form) {
        (LeftRows::Float32(values), Form::Float32) => {
            assert!(values.len() >= rows * layout.depth, "left rows")
        }
        (
            LeftRows::Int8 {
                quantised,
                scales,
                rest,
            },
            Form::Int8 { group },
        ) => {
            let groups = layout.depth.div_ceil(group);
            for (quantised, scales) in std::iter::once((quantised, scales)).chain(rest) {
                assert!(
                    quantised.len() >= rows * groups * group && scales.len() >= rows * groups,
                    "left rows"
                );
            }
        }
        _ => panic!("left rows are not in the matrix's form"),
    }
    let panels = layout.panels();
    let block = block_rows(rows, panels, parallel.workers());
    let blocks = rows.div_ceil(block);
    parallel.for_each(blocks * panels, &|item| {
        let (first, panel) = ((item / panels) * block, item % panels);
        let packed = &matrix.bytes[panel * layout.panel_bytes()..(panel + 1) * layout.panel_bytes()];
        let mut out = [[0f32; PANEL]; TILE_ROWS];
        let end = (first + block).min(rows);
        for row in (first..end).step_by(TILE_ROWS) {
            let tile_rows = TILE_ROWS.min(end - row);
            tile(isa, left, layout, packed, row, tile_rows, &mut out);
            for (offset, values) in out[..tile_rows].iter().enumerate() {
                sink(row + offset, panel * PANEL, values);
            }
        }
    });
}

/// Rows of one work item: small enough to share the work, large enough to reuse a panel, its left rows within a cache.
fn block_rows(rows: usize, panels: usize, workers: usize) -> usize {
    let wanted_blocks = (8 * workers).div_ceil(panels).max(rows.div_ceil(192)).max(1);
    rows.div_ceil(wanted_blocks).next_multiple_of(TILE_ROWS)
}

fn tile(
    isa: Isa,
    left: LeftRows<'_>,
    layout: Layout,
    packed: &[u8],
    row: usize,
    rows: usize,
    out: &mut [[f32; PANEL]; TILE_ROWS],
) {
    let out = out.as_mut_ptr().cast::<f32>();
    match (left, layout.form) {
        (LeftRows::Float32(values), _) => {
            let tile = TileF32 {
                left: values[row * layout.depth..].as_ptr(),
                left_stride: layout.depth,
                right: packed.as_ptr().cast(),
                right_stride: PANEL,
                out,
                out_stride: PANEL,
                rows,
                depth: layout.depth,
                vectors: 4,
                accumulate: false,
            };
            // SAFETY: `multiply` checked the extents of the left rows and the panel; `out` is a local of six rows.
            unsafe { tile.run(isa) };
        }
        (
            LeftRows::Int8 {
                quantised,
                scales,
                rest,
            },
            Form::Int8 { group },
        ) => {
            let groups = layout.depth.div_ceil(group);
            let parts = std::iter::once((quantised, scales)).chain(rest);
            for (part, (quantised, scales)) in parts.enumerate() {
                let tile = TileInt8 {
                    left: quantised[row * groups * group..].as_ptr(),
                    left_stride: groups * group,
                    scales: scales[row * groups..].as_ptr(),
                    right: packed.as_ptr(),
                    out,
                    rows,
                    group,
                    groups,
                    accumulate: part > 0,
                };
                // SAFETY: as above.
                unsafe { tile.run(isa) };
            }
        }
        (LeftRows::Int8 { .. }, Form::Float32) => unreachable!("checked by `multiply`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::parallel::Serial;
    use crate::kernels::rows::quantise;
    use std::sync::Mutex;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count)
            .map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0)
            .collect()
    }

    fn product(isa: Isa, form: Form, left: &[f32], rows: usize, weights: &[f32], columns: usize) -> Vec<f32> {
        let depth = weights.len() / columns;
        let layout = Layout { form, columns, depth };
        let mut bytes = vec![0u8; layout.bytes()];
        layout.pack(weights, &mut bytes);
        let (mut quantised, mut scales) = (Vec::new(), Vec::new());
        let left_rows = match form {
            Form::Float32 => LeftRows::Float32(left),
            Form::Int8 { group } => {
                let groups = depth.div_ceil(group);
                quantised.resize(rows * groups * group, 0);
                scales.resize(rows * groups, 0.0);
                for row in 0..rows {
                    let width = groups * group;
                    quantise(
                        isa,
                        &left[row * depth..(row + 1) * depth],
                        group,
                        &mut quantised[row * width..(row + 1) * width],
                        &mut scales[row * groups..(row + 1) * groups],
                    );
                }
                LeftRows::Int8 {
                    quantised: &quantised,
                    scales: &scales,
                    rest: None,
                }
            }
        };
        let out = Mutex::new(vec![f32::NAN; rows * columns]);
        multiply(
            &Serial,
            isa,
            left_rows,
            rows,
            PackedMatrix::new(layout, &bytes),
            |row, first, values| {
                let count = PANEL.min(columns - first);
                out.lock().unwrap()[row * columns + first..][..count].copy_from_slice(&values[..count]);
            },
        );
        out.into_inner().unwrap()
    }

    #[test]
    fn products_equal_the_plain_sum() {
        let (rows, columns, depth) = (13, 100, 150);
        let (left, weights) = (numbers(rows * depth, 1), numbers(columns * depth, 2));
        for isa in Isa::available() {
            for (form, tolerance) in [
                (Form::Float32, 1e-4),
                (Form::Int8 { group: 64 }, 0.15),
                (Form::Int8 { group: 12 }, 0.12),
            ] {
                let got = product(isa, form, &left, rows, &weights, columns);
                for row in 0..rows {
                    for column in 0..columns {
                        let exact: f64 = (0..depth)
                            .map(|k| {
                                f64::from(left[row * depth + k]) * f64::from(weights[column * depth + k])
                            })
                            .sum();
                        let value = f64::from(got[row * columns + column]);
                        assert!(
                            (value - exact).abs() < tolerance,
                            "{isa:?} {form:?}: {value} is not {exact}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rows_come_back() {
        let (columns, depth) = (70, 90);
        let weights = numbers(columns * depth, 7);
        for form in [Form::Float32, Form::Int8 { group: 32 }] {
            let layout = Layout { form, columns, depth };
            let mut bytes = vec![0u8; layout.bytes()];
            layout.pack(&weights, &mut bytes);
            let mut row = vec![0f32; depth];
            for column in 0..columns {
                PackedMatrix::new(layout, &bytes).row(column, &mut row);
                for (value, weight) in row.iter().zip(&weights[column * depth..]) {
                    assert!(
                        (value - weight).abs() <= 0.51 / 127.0,
                        "{form:?}: {value} {weight}"
                    );
                }
            }
        }
    }

    #[test]
    fn instruction_sets_agree_on_int8() {
        let (rows, columns, depth) = (7, 70, 128);
        let (left, weights) = (numbers(rows * depth, 3), numbers(columns * depth, 4));
        let reference = product(
            Isa::Portable,
            Form::Int8 { group: 64 },
            &left,
            rows,
            &weights,
            columns,
        );
        for isa in Isa::available() {
            let got = product(isa, Form::Int8 { group: 64 }, &left, rows, &weights, columns);
            for (a, b) in got.iter().zip(&reference) {
                assert!((a - b).abs() < 1e-4, "{isa:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_its_neighbours() {
        let (columns, depth) = (64, 96);
        let (left, weights) = (numbers(20 * depth, 5), numbers(columns * depth, 6));
        for isa in Isa::available() {
            for form in [Form::Float32, Form::Int8 { group: 32 }] {
                let together = product(isa, form, &left, 20, &weights, columns);
                for row in 0..20 {
                    let alone = product(
                        isa,
                        form,
                        &left[row * depth..(row + 1) * depth],
                        1,
                        &weights,
                        columns,
                    );
                    assert_eq!(
                        alone[..],
                        together[row * columns..(row + 1) * columns],
                        "{isa:?} {form:?} {row}"
                    );
                }
            }
        }
    }
}
