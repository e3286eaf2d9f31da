//! The 8-bit register tile: up to six quantised rows times one panel of 64 packed columns.
//!
//! Both sides are quantised in groups along the depth. A weight is `scale * code + offset` with one scale and offset
//! per column and group, a row's number `scale * code`. Sums of code products inside a group are exact integers;
//! groups are joined in float32 in order: `out += column scale * row scale * sum + offset * row sum`.

use super::quantised_rows::ZERO_POINT;
use super::{Isa, PANEL, TILE_ROWS};

/// Bytes of one group of a packed panel: `[group / 4][64][4]` int8 codes, then for its 64 columns `-128 * sum of codes`
/// as int32, scales as float32 and offsets as float32.
pub(crate) const fn group_bytes(group: usize) -> usize {
    group * PANEL + 3 * PANEL * 4
}

/// What undoes the zero point of a row's high bytes for a column.
pub(crate) fn start_sum(sum_of_codes: i32) -> i32 {
    -ZERO_POINT * sum_of_codes
}

/// Operands of one tile.
#[derive(Clone, Copy)]
pub(crate) struct TileInt8 {
    /// Codes of the rows, laid out for the instruction set that runs the tile.
    pub(crate) left: *const u8,
    /// Bytes from one row to the next.
    pub(crate) left_stride: usize,
    /// Scales of the rows, `[rows, groups]`.
    pub(crate) scales: *const f32,
    /// Scaled sums of the rows' codes, `[rows, groups]`.
    pub(crate) sums: *const f32,
    /// One packed panel of `groups * group_bytes(group)` bytes.
    pub(crate) right: *const u8,
    /// Result, `[rows, 64]`, rows 64 apart.
    pub(crate) out: *mut f32,
    /// Rows, 1 to 6.
    pub(crate) rows: usize,
    /// Depth of a group, a multiple of 4.
    pub(crate) group: usize,
    /// Number of groups.
    pub(crate) groups: usize,
}

impl TileInt8 {
    /// out = left * right.
    ///
    /// # Safety
    /// The pointers are valid for the extents that the fields give, codes are laid out for `isa`, and `out` overlaps
    /// no operand.
    pub(crate) unsafe fn run(&self, isa: Isa) {
        debug_assert!((1..=TILE_ROWS).contains(&self.rows));
        macro_rules! shapes {
            ($run:ident) => {
                match self.rows {
                    6 => $run::<6>(self),
                    5 => $run::<5>(self),
                    4 => $run::<4>(self),
                    3 => $run::<3>(self),
                    2 => $run::<2>(self),
                    _ => $run::<1>(self),
                }
            };
        }
        // SAFETY: extents by the caller; an `Isa` above portable is only made where its features were seen.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512Vnni => shapes!(avx512),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => shapes!(avx2),
                _ => shapes!(generic),
            }
        }
    }
}

/// High bytes first: their sums times 256 start the sums of the low bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn avx512<const R: usize>(tile: &TileInt8) {
    use std::arch::x86_64::*;
    // SAFETY: every access stays inside the extents that `TileInt8::run` was promised.
    unsafe {
        let mut right = tile.right;
        let mut left = tile.left;
        for group in 0..tile.groups {
            let starts = right.add(tile.group * PANEL).cast::<i32>();
            let mut sums = [[_mm512_setzero_si512(); 4]; R];
            for vector in 0..4 {
                let start = _mm512_loadu_si512(starts.add(16 * vector).cast());
                for sums in &mut sums {
                    sums[vector] = start;
                }
            }
            for low_bytes in [false, true] {
                if low_bytes {
                    for sum in sums.as_flattened_mut() {
                        *sum = _mm512_slli_epi32::<8>(*sum);
                    }
                }
                let mut packed = right;
                for _ in 0..tile.group / 4 {
                    let columns = [
                        _mm512_loadu_si512(packed.cast()),
                        _mm512_loadu_si512(packed.add(64).cast()),
                        _mm512_loadu_si512(packed.add(128).cast()),
                        _mm512_loadu_si512(packed.add(192).cast()),
                    ];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let factor = left.add(row * tile.left_stride).cast::<i32>().read_unaligned();
                        let factor = _mm512_set1_epi32(factor);
                        for (sum, column) in sums.iter_mut().zip(columns) {
                            *sum = _mm512_dpbusd_epi32(*sum, factor, column);
                        }
                    }
                    left = left.add(4);
                    packed = packed.add(4 * PANEL);
                }
            }
            let column_scales = starts.add(PANEL).cast::<f32>();
            for vector in 0..4 {
                let column_scale = _mm512_loadu_ps(column_scales.add(16 * vector));
                let offset = _mm512_loadu_ps(column_scales.add(PANEL + 16 * vector));
                for (row, sums) in sums.iter().enumerate() {
                    let place = row * tile.groups + group;
                    let (scale, sum) = (*tile.scales.add(place), *tile.sums.add(place));
                    let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[vector]), column_scale);
                    let out = tile.out.add(row * PANEL + 16 * vector);
                    let shifted = if group == 0 {
                        _mm512_mul_ps(offset, _mm512_set1_ps(sum))
                    } else {
                        _mm512_fmadd_ps(offset, _mm512_set1_ps(sum), _mm512_loadu_ps(out))
                    };
                    _mm512_storeu_ps(out, _mm512_fmadd_ps(scaled, _mm512_set1_ps(scale), shifted));
                }
            }
            right = right.add(group_bytes(tile.group));
        }
    }
}

/// Both sides as 16-bit integers, whose pairwise products fit 32 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const R: usize>(tile: &TileInt8) {
    use std::arch::x86_64::*;
    // SAFETY: every access stays inside the extents that `TileInt8::run` was promised.
    unsafe {
        for eight in 0..PANEL / 8 {
            for group in 0..tile.groups {
                let right = tile.right.add(group * group_bytes(tile.group));
                let left = tile.left.add(2 * group * tile.group);
                let mut low = [_mm256_setzero_si256(); R];
                let mut high = [_mm256_setzero_si256(); R];
                for four in 0..tile.group / 4 {
                    let columns = right.add(four * 4 * PANEL + eight * 32);
                    let first = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns.cast()));
                    let second = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns.add(16).cast()));
                    for row in 0..R {
                        let factor = left.add(row * tile.left_stride + 8 * four).cast::<i64>();
                        let factor = _mm256_set1_epi64x(factor.read_unaligned());
                        low[row] = _mm256_add_epi32(low[row], _mm256_madd_epi16(factor, first));
                        high[row] = _mm256_add_epi32(high[row], _mm256_madd_epi16(factor, second));
                    }
                }
                let column_scales = right.add((tile.group + 4) * PANEL).cast::<f32>().add(8 * eight);
                let column_scale = _mm256_loadu_ps(column_scales);
                let offset = _mm256_loadu_ps(column_scales.add(PANEL));
                for row in 0..R {
                    // hadd interleaves the halves by 128-bit lane; the permutation restores column order.
                    let paired = _mm256_hadd_epi32(low[row], high[row]);
                    let sum = _mm256_permute4x64_epi64::<0b11_01_10_00>(paired);
                    let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), column_scale);
                    let place = row * tile.groups + group;
                    let row_sum = _mm256_set1_ps(*tile.sums.add(place));
                    let out = tile.out.add(row * PANEL + 8 * eight);
                    let shifted = if group == 0 {
                        _mm256_mul_ps(offset, row_sum)
                    } else {
                        _mm256_fmadd_ps(offset, row_sum, _mm256_loadu_ps(out))
                    };
                    let row_scale = _mm256_set1_ps(*tile.scales.add(place));
                    _mm256_storeu_ps(out, _mm256_fmadd_ps(scaled, row_scale, shifted));
                }
            }
        }
    }
}

unsafe fn generic<const R: usize>(tile: &TileInt8) {
    // SAFETY: every access stays inside the extents that `TileInt8::run` was promised.
    unsafe {
        for row in 0..R {
            let out = std::slice::from_raw_parts_mut(tile.out.add(row * PANEL), PANEL);
            for group in 0..tile.groups {
                let right = tile.right.add(group * group_bytes(tile.group));
                let left = tile.left.add(row * tile.left_stride).cast::<[u8; 2]>();
                let left = left.add(group * tile.group);
                let mut sums = [0i32; PANEL];
                for depth in 0..tile.group {
                    let factor = i32::from(i16::from_le_bytes(*left.add(depth)));
                    let columns = right.add((depth / 4) * 4 * PANEL + depth % 4).cast::<i8>();
                    for (column, sum) in sums.iter_mut().enumerate() {
                        *sum += factor * i32::from(*columns.add(4 * column));
                    }
                }
                let tables = right.add((tile.group + 4) * PANEL).cast::<[f32; PANEL]>();
                let (column_scales, offsets) = (tables.read_unaligned(), tables.add(1).read_unaligned());
                let place = row * tile.groups + group;
                let (row_scale, row_sum) = (*tile.scales.add(place), *tile.sums.add(place));
                let columns = column_scales.into_iter().zip(offsets).zip(sums);
                for (out, ((column_scale, offset), sum)) in out.iter_mut().zip(columns) {
                    let before = if group == 0 { 0.0 } else { *out };
                    *out = sum as f32 * column_scale * row_scale + (offset * row_sum + before);
                }
            }
        }
    }
}
