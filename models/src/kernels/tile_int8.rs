//! The 8-bit register tile: up to six quantised rows times one panel of 64 packed columns.
//!
//! Both sides are quantised symmetrically in groups along the depth: one scale per row and group on the left, one
//! per column and group on the right. Sums inside a group are exact integers; groups are joined in float32 in order.

use super::{Isa, PANEL, TILE_ROWS};

/// Zero point of quantised rows: they are stored as `value + 128`.
pub(crate) const ZERO_POINT: i32 = 128;

/// Bytes of one group of a packed panel: `[group / 4][64][4]` int8, then 64 int32 start sums, then 64 float32 scales.
pub(crate) const fn group_bytes(group: usize) -> usize {
    group * PANEL + PANEL * 4 + PANEL * 4
}

/// Operands of one tile.
#[derive(Clone, Copy)]
pub(crate) struct TileInt8 {
    /// Quantised rows, `[rows, groups * group]`.
    pub(crate) left: *const u8,
    /// Bytes from one row to the next.
    pub(crate) left_stride: usize,
    /// Scales of the rows, `[rows, groups]`.
    pub(crate) scales: *const f32,
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
    /// Whether the product is added to what `out` holds.
    pub(crate) accumulate: bool,
}

impl TileInt8 {
    /// out = left * right, or out += left * right.
    ///
    /// # Safety
    /// The pointers are valid for the extents that the fields give, and `out` overlaps neither operand.
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn avx512<const R: usize>(tile: &TileInt8) {
    use std::arch::x86_64::*;
    // SAFETY: every access stays inside the extents that `TileInt8::run` was promised.
    unsafe {
        let mut right = tile.right;
        for group in 0..tile.groups {
            let starts = right.add(tile.group * PANEL).cast::<i32>();
            let mut sums = [[_mm512_setzero_si512(); 4]; R];
            for vector in 0..4 {
                let start = _mm512_loadu_si512(starts.add(16 * vector).cast());
                for sums in &mut sums {
                    sums[vector] = start;
                }
            }
            let mut left = tile.left.add(group * tile.group);
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
            let column_scales = starts.add(PANEL).cast::<f32>();
            for vector in 0..4 {
                let column_scale = _mm512_loadu_ps(column_scales.add(16 * vector));
                for (row, sums) in sums.iter().enumerate() {
                    let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[vector]), column_scale);
                    let row_scale = _mm512_set1_ps(*tile.scales.add(row * tile.groups + group));
                    let out = tile.out.add(row * PANEL + 16 * vector);
                    let joined = if group == 0 && !tile.accumulate {
                        _mm512_mul_ps(scaled, row_scale)
                    } else {
                        _mm512_fmadd_ps(scaled, row_scale, _mm512_loadu_ps(out))
                    };
                    _mm512_storeu_ps(out, joined);
                }
            }
            right = right.add(group_bytes(tile.group));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const R: usize>(tile: &TileInt8) {
    use std::arch::x86_64::*;
    // Eight columns of one row at a time: bytes are widened to 16 bits, so no product saturates.
    // SAFETY: every access stays inside the extents that `TileInt8::run` was promised.
    unsafe {
        for row in 0..R {
            let out = tile.out.add(row * PANEL);
            for eight in 0..PANEL / 8 {
                let mut joined = if tile.accumulate {
                    _mm256_loadu_ps(out.add(8 * eight))
                } else {
                    _mm256_setzero_ps()
                };
                for group in 0..tile.groups {
                    let right = tile.right.add(group * group_bytes(tile.group));
                    let starts = right.add(tile.group * PANEL).cast::<i32>();
                    let mut sum = _mm256_loadu_si256(starts.add(8 * eight).cast());
                    let left = tile.left.add(row * tile.left_stride + group * tile.group);
                    let mut low = _mm256_setzero_si256();
                    let mut high = _mm256_setzero_si256();
                    for four in 0..tile.group / 4 {
                        let factor = left.add(4 * four).cast::<i32>().read_unaligned();
                        let factor = _mm256_cvtepu8_epi16(_mm_set1_epi32(factor));
                        let columns = right.add(four * 4 * PANEL + eight * 32);
                        let first = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns.cast()));
                        let second = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns.add(16).cast()));
                        low = _mm256_add_epi32(low, _mm256_madd_epi16(factor, first));
                        high = _mm256_add_epi32(high, _mm256_madd_epi16(factor, second));
                    }
                    // hadd interleaves the halves by 128-bit lane; the permutation restores column order.
                    let paired = _mm256_hadd_epi32(low, high);
                    sum = _mm256_add_epi32(sum, _mm256_permute4x64_epi64::<0b11_01_10_00>(paired));
                    let column_scale = _mm256_loadu_ps(starts.add(PANEL).cast::<f32>().add(8 * eight));
                    let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), column_scale);
                    let row_scale = _mm256_set1_ps(*tile.scales.add(row * tile.groups + group));
                    joined = _mm256_fmadd_ps(scaled, row_scale, joined);
                }
                _mm256_storeu_ps(out.add(8 * eight), joined);
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
                let starts = right.add(tile.group * PANEL).cast::<[i32; PANEL]>();
                let mut sums = starts.read_unaligned();
                let left = tile.left.add(row * tile.left_stride + group * tile.group);
                for depth in 0..tile.group {
                    let factor = i32::from(*left.add(depth));
                    let columns = right.add((depth / 4) * 4 * PANEL + depth % 4).cast::<i8>();
                    for (column, sum) in sums.iter_mut().enumerate() {
                        *sum += factor * i32::from(*columns.add(4 * column));
                    }
                }
                let column_scales = starts.add(1).cast::<[f32; PANEL]>().read_unaligned();
                let row_scale = *tile.scales.add(row * tile.groups + group);
                for ((out, sum), column_scale) in out.iter_mut().zip(sums).zip(column_scales) {
                    let scaled = sum as f32 * column_scale * row_scale;
                    *out = if group == 0 && !tile.accumulate {
                        scaled
                    } else {
                        *out + scaled
                    };
                }
            }
        }
    }
}
