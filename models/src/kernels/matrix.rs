//! Packed linear weights and the product of many rows with them.
//!
//! A matrix `[columns, depth]` (outputs by inputs) is cut into panels of 64 outputs. Float32 panels are `[depth][64]`;
//! int8 panels are described in [`super::tile_int8`]. Missing outputs of the last panel are zero.

use super::quantised_rows::QuantisedRows;
use super::tile_f32::TileF32;
use super::tile_int8::{TileInt8, group_bytes, start_sum};
use super::{Isa, PANEL, Parallel, TILE_ROWS};

/// How the numbers of a packed matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// float32.
    Float32,
    /// int8 with one scale and offset per output and `group` inputs.
    Int8 {
        /// Inputs that share a scale, a multiple of 4, at most 512.
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
    let mut codes = vec![0i8; group];
    for (index, out) in out.chunks_exact_mut(group_bytes(group)).enumerate() {
        let (packed, tables) = out.split_at_mut(group * PANEL);
        let (starts, tables) = tables.split_at_mut(PANEL * 4);
        let (scales, offsets) = tables.split_at_mut(PANEL * 4);
        for (column, row) in rows.chunks_exact(depth).enumerate() {
            let values = &row[index * group..((index + 1) * group).min(depth)];
            let levels = Levels::closest(values);
            let codes = &mut codes[..values.len()];
            levels.encode(values, codes);
            for (k, code) in codes.iter().enumerate() {
                packed[(k / 4) * 4 * PANEL + 4 * column + k % 4] = *code as u8;
            }
            let start = start_sum(codes.iter().map(|code| i32::from(*code)).sum());
            let place = 4 * column..4 * column + 4;
            starts[place.clone()].copy_from_slice(&start.to_ne_bytes());
            scales[place.clone()].copy_from_slice(&levels.scale.to_ne_bytes());
            offsets[place].copy_from_slice(&levels.offset.to_ne_bytes());
        }
    }
}

/// The evenly spaced levels of a group of weights: a code stands for `scale * code + offset`.
#[derive(Clone, Copy)]
struct Levels {
    scale: f32,
    offset: f32,
}

impl Levels {
    /// Levels from the smallest to the largest weight, or symmetric ones where those fit better.
    ///
    /// The former hold 4-bit weights with a minimum exactly (255 is 15 times 17), the latter 8-bit ones without.
    fn closest(values: &[f32]) -> Self {
        let (least, most) = values
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), value| {
                (least.min(*value), most.max(*value))
            });
        let scale = most / 255.0 - least / 255.0;
        let spanning = Self {
            scale,
            offset: least + 128.0 * scale,
        };
        let symmetric = Self {
            scale: most.max(-least) / 127.0,
            offset: 0.0,
        };
        if symmetric.squared_error(values) <= spanning.squared_error(values) {
            symmetric
        } else {
            spanning
        }
    }

    fn encode(&self, values: &[f32], codes: &mut [i8]) {
        let inverse = if self.scale > 0.0 { 1.0 / self.scale } else { 0.0 };
        for (code, value) in codes.iter_mut().zip(values) {
            *code = ((value - self.offset) * inverse)
                .round_ties_even()
                .clamp(-128.0, 127.0) as i8;
        }
    }

    fn squared_error(&self, values: &[f32]) -> f64 {
        let mut code = [0i8];
        values
            .iter()
            .map(|value| {
                self.encode(&[*value], &mut code);
                let back = f64::from(self.scale) * f64::from(code[0]) + f64::from(self.offset);
                (back - f64::from(*value)).powi(2)
            })
            .sum()
    }
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
                    let scale = float(&tables[4 * (PANEL + column)..]);
                    let offset = float(&tables[4 * (2 * PANEL + column)..]);
                    for (out, codes) in out.chunks_mut(4).zip(codes.chunks_exact(4 * PANEL)) {
                        for (out, code) in out.iter_mut().zip(&codes[4 * column..]) {
                            *out = f32::from(*code as i8) * scale + offset;
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
    /// Quantised rows with the matrix's groups.
    Int8(&'a QuantisedRows),
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
        (LeftRows::Int8(quantised), Form::Int8 { group }) => {
            let shape = quantised.shape();
            assert_eq!(
                (shape.isa, shape.depth, shape.group),
                (isa, layout.depth, group),
                "left rows"
            );
            assert!(quantised.rows() >= rows, "left rows");
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
        (LeftRows::Int8(quantised), Form::Int8 { group }) => {
            let shape = quantised.shape();
            let (codes, scales, sums) = quantised.at(row);
            let tile = TileInt8 {
                left: codes.as_ptr(),
                left_stride: shape.row_bytes(),
                scales: scales.as_ptr(),
                sums: sums.as_ptr(),
                right: packed.as_ptr(),
                out,
                rows,
                group,
                groups: shape.groups(),
            };
            // SAFETY: as above, and `multiply` checked that the rows are laid out for this instruction set.
            unsafe { tile.run(isa) };
        }
        (LeftRows::Int8(_), Form::Float32) => unreachable!("checked by `multiply`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::parallel::Serial;
    use crate::kernels::quantised_rows::RowShape;
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
        let mut quantised = QuantisedRows::default();
        let left_rows = match form {
            Form::Float32 => LeftRows::Float32(left),
            Form::Int8 { group } => {
                let shape = RowShape { isa, depth, group };
                quantised.fill(&Serial, shape, rows, |row, place| {
                    place.copy_from_slice(&left[row * depth..(row + 1) * depth])
                });
                LeftRows::Int8(&quantised)
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
                (Form::Int8 { group: 64 }, 0.1),
                (Form::Int8 { group: 12 }, 0.08),
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
        let form = Form::Int8 { group: 64 };
        let reference = product(Isa::Portable, form, &left, rows, &weights, columns);
        for isa in Isa::available() {
            let got = product(isa, form, &left, rows, &weights, columns);
            for (a, b) in got.iter().zip(&reference) {
                assert!((a - b).abs() < 1e-4, "{isa:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn four_bit_weights_with_a_minimum_are_exact() {
        // Q4_1: minimum + step * code with 16 codes in groups of 32, both numbers of half precision.
        let (rows, columns, depth) = (7, 64, 96);
        let left = numbers(rows * depth, 8);
        let weights: Vec<f32> = (0..columns * depth)
            .map(|i| {
                let group = (i / 32) as f32;
                let code = if i % 32 < 16 { i % 16 } else { (i * 7919) % 16 };
                (1.0 + group % 5.0) / 512.0 * code as f32 - (3.0 + group % 7.0) / 64.0
            })
            .collect();
        for isa in Isa::available() {
            let form = Form::Int8 { group: 32 };
            let got = product(isa, form, &left, rows, &weights, columns);
            let plain = product(isa, Form::Float32, &left, rows, &weights, columns);
            for (a, b) in got.iter().zip(&plain) {
                assert!((a - b).abs() < 3e-5, "{isa:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn extreme_codes_do_not_overflow() {
        let (rows, columns, depth) = (6, 64, 1024);
        let left: Vec<f32> = vec![1.0; rows * depth];
        for weight in [1.0f32, -1.0] {
            let weights = vec![weight; columns * depth];
            for isa in Isa::available() {
                for group in [32, 64, 512] {
                    let form = Form::Int8 { group };
                    for value in product(isa, form, &left, rows, &weights, columns) {
                        let exact = weight * depth as f32;
                        assert!((value - exact).abs() < 0.01, "{isa:?} {group}: {value}");
                    }
                }
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
