//! Rows quantised to 16 bits in groups along their depth: the left side of an int8 product.

use super::elementary::fused;
use super::{Isa, Parallel, SharedMut, per_isa};

/// Zero point of high bytes: they are stored as `value + 128`.
pub(crate) const ZERO_POINT: i32 = 128;
/// Rows that one work item quantises.
const ROWS: usize = 8;
/// Largest group whose integer sums fit 32 bits: 32512 * 128 * 512 < 2^31.
pub(crate) const LARGEST_GROUP: usize = 512;

/// The code of a group's largest magnitude: its high byte is 127.
///
/// 8-bit codes would halve the multiply-adds, but are what int8 loses its answers by (docs/performance.md).
const LARGEST_CODE: f32 = 127.0 * 256.0;

/// What one quantised row looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowShape {
    /// Decides the layout of codes: bytes for VNNI, 16-bit integers otherwise.
    pub(crate) isa: Isa,
    /// Numbers of a row.
    pub(crate) depth: usize,
    /// Numbers that share a scale, a multiple of 4 and at most [`LARGEST_GROUP`].
    pub(crate) group: usize,
}

impl RowShape {
    /// Groups of a row; the last is filled up with zeros.
    pub(crate) fn groups(&self) -> usize {
        self.depth.div_ceil(self.group)
    }

    /// Bytes of one group's codes. VNNI: `[group]` high bytes plus 128, then `[group]` low bytes without sign.
    /// Otherwise `[group]` 16-bit integers.
    pub(crate) fn group_bytes(&self) -> usize {
        2 * self.group
    }

    /// Bytes of one row's codes.
    pub(crate) fn row_bytes(&self) -> usize {
        self.groups() * self.group_bytes()
    }
}

/// Quantised rows. A number is `scale * code` with its group's scale.
pub(crate) struct QuantisedRows {
    /// `[rows, row_bytes]`
    codes: Vec<u8>,
    /// `[rows, groups]`
    scales: Vec<f32>,
    /// `scale * sum of codes`, `[rows, groups]`
    sums: Vec<f32>,
    shape: RowShape,
    rows: usize,
}

impl Default for QuantisedRows {
    fn default() -> Self {
        Self {
            codes: Vec::new(),
            scales: Vec::new(),
            sums: Vec::new(),
            shape: RowShape {
                isa: Isa::Portable,
                depth: 0,
                group: 4,
            },
            rows: 0,
        }
    }
}

impl QuantisedRows {
    /// Quantises `rows` rows; `source(row, buffer)` writes a row of `depth` numbers into the buffer.
    pub(crate) fn fill(
        &mut self,
        parallel: &dyn Parallel,
        shape: RowShape,
        rows: usize,
        source: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let (groups, row_bytes) = (shape.groups(), shape.row_bytes());
        self.shape = shape;
        self.rows = rows;
        self.codes.resize(rows * row_bytes, 0);
        self.scales.resize(rows * groups, 0.0);
        self.sums.resize(rows * groups, 0.0);
        let (codes, scales) = (SharedMut::new(&mut self.codes), SharedMut::new(&mut self.scales));
        let sums = SharedMut::new(&mut self.sums);
        parallel.for_each(rows.div_ceil(ROWS), &|item| {
            let mut buffer = vec![0f32; shape.depth];
            for row in item * ROWS..((item + 1) * ROWS).min(rows) {
                source(row, &mut buffer);
                // SAFETY: each item writes its own rows only.
                let codes = unsafe { codes.slice_mut(row * row_bytes, row_bytes) };
                // SAFETY: as above.
                let scales = unsafe { scales.slice_mut(row * groups, groups) };
                // SAFETY: as above.
                let sums = unsafe { sums.slice_mut(row * groups, groups) };
                quantise(shape.isa, &buffer, shape, codes, scales, sums);
            }
        });
    }

    /// The shape of a row.
    pub(crate) fn shape(&self) -> RowShape {
        self.shape
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Codes, scales and sums from a row on.
    pub(crate) fn at(&self, row: usize) -> (&[u8], &[f32], &[f32]) {
        let shape = self.shape;
        let groups = shape.groups();
        (
            &self.codes[row * shape.row_bytes()..],
            &self.scales[row * groups..],
            &self.sums[row * groups..],
        )
    }
}

per_isa! {
    /// Quantises one row: `code = round(x / scale)` with `scale = max|x| / largest code` of the group.
    ///
    /// A NaN or infinity makes its group's scale NaN or its sum NaN, so that it reaches the result.
    fn quantise(row: &[f32], shape: RowShape, codes: &mut [u8], scales: &mut [f32], sums: &mut [f32]) = quantise_body
}

#[inline(always)]
fn quantise_body<const FMA: bool>(
    row: &[f32],
    shape: RowShape,
    codes: &mut [u8],
    scales: &mut [f32],
    sums: &mut [f32],
) {
    // Adding 1.5 * 2^23 rounds half to even and leaves the integer in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    let places = codes
        .chunks_exact_mut(shape.group_bytes())
        .zip(scales.iter_mut())
        .zip(sums.iter_mut());
    let mut rounded = [0i32; LARGEST_GROUP];
    for (index, ((codes, scale), group_sum)) in places.enumerate() {
        let start = (index * shape.group).min(row.len());
        let values = &row[start..(start + shape.group).min(row.len())];
        // Magnitudes order like their bits, and NaN lies above infinity.
        let mut largest = 0u32;
        for value in values {
            largest = largest.max(value.to_bits() & 0x7fff_ffff);
        }
        let largest = f32::from_bits(largest);
        *scale = largest / LARGEST_CODE;
        // Below the smallest normal quotient the reciprocal overflows; such groups are zero to float32 precision.
        let inverse = if largest > 1e-30 {
            LARGEST_CODE / largest
        } else {
            0.0
        };
        let rounded = &mut rounded[..shape.group];
        let mut sum = 0i32;
        for (place, value) in rounded.iter_mut().zip(values) {
            let code = fused::<FMA>(*value, inverse, ROUNDER).to_bits() as i32 - ROUNDER.to_bits() as i32;
            *place = code;
            sum = sum.wrapping_add(code);
        }
        rounded[values.len()..].fill(0);
        *group_sum = *scale * sum as f32;
        if shape.isa == Isa::Avx512Vnni {
            let (high, low) = codes.split_at_mut(shape.group);
            for ((high, low), code) in high.iter_mut().zip(low).zip(rounded.iter()) {
                *high = ((code >> 8) + ZERO_POINT) as u8;
                *low = *code as u8;
            }
        } else {
            let (places, _) = codes.as_chunks_mut::<2>();
            for (place, code) in places.iter_mut().zip(rounded.iter()) {
                *place = (*code as i16).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::parallel::Serial;

    fn filled(isa: Isa, row: &[f32], group: usize) -> QuantisedRows {
        let depth = row.len();
        let mut rows = QuantisedRows::default();
        rows.fill(&Serial, RowShape { isa, depth, group }, 1, |_, place| {
            place.copy_from_slice(row)
        });
        rows
    }

    fn code(rows: &QuantisedRows, index: usize) -> i32 {
        let shape = rows.shape();
        let group = &rows.codes[index / shape.group * shape.group_bytes()..];
        let place = index % shape.group;
        if shape.isa == Isa::Avx512Vnni {
            (i32::from(group[place]) - ZERO_POINT) * 256 + i32::from(group[shape.group + place])
        } else {
            i32::from(i16::from_le_bytes([group[2 * place], group[2 * place + 1]]))
        }
    }

    #[test]
    fn rows_come_back_within_half_a_step() {
        let row: Vec<f32> = (0..150)
            .map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 37.0)
            .collect();
        for isa in Isa::available() {
            let rows = filled(isa, &row, 32);
            for (index, value) in row.iter().enumerate() {
                let scale = rows.scales[index / 32];
                assert!(scale < 13.6 / 32512.0, "{isa:?}: a step of {scale}");
                let back = code(&rows, index) as f32 * scale;
                assert!(
                    (back - value).abs() <= 0.51 * scale,
                    "{isa:?} {index}: {value} became {back}"
                );
            }
            assert!((150..160).all(|index| code(&rows, index) == 0));
            for (group, sum) in rows.sums.iter().enumerate() {
                let codes: i32 = (group * 32..(group + 1) * 32)
                    .map(|index| code(&rows, index))
                    .sum();
                assert_eq!(*sum, codes as f32 * rows.scales[group], "{isa:?}");
            }
        }
    }

    #[test]
    fn nan_infinity_and_zero_rows_are_not_hidden() {
        for isa in Isa::available() {
            let mut row = vec![0f32; 192];
            row[70] = f32::NAN;
            row[130] = f32::INFINITY;
            let rows = filled(isa, &row, 64);
            assert_eq!((rows.scales[0], rows.sums[0]), (0.0, 0.0));
            assert!((0..64).all(|index| code(&rows, index) == 0));
            assert!(rows.scales[1].is_nan() && !rows.scales[2].is_finite());
            assert!(rows.sums[1].is_nan() && !rows.sums[2].is_finite());
        }
    }
}
