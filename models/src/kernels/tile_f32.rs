//! The float32 register tile: up to six rows times up to 64 packed columns.

use super::{Isa, TILE_ROWS};

/// Operands of one tile; all pointers are to float32.
#[derive(Clone, Copy)]
pub(crate) struct TileF32 {
    /// First element of the left rows, `[rows, depth]`.
    pub(crate) left: *const f32,
    /// Elements from one left row to the next.
    pub(crate) left_stride: usize,
    /// First element of the right matrix, `[depth, 16 * vectors]`.
    pub(crate) right: *const f32,
    /// Elements from one right row to the next.
    pub(crate) right_stride: usize,
    /// First element of the result, `[rows, 16 * vectors]`.
    pub(crate) out: *mut f32,
    /// Elements from one result row to the next.
    pub(crate) out_stride: usize,
    /// Rows, 1 to 6.
    pub(crate) rows: usize,
    /// Length of the sums.
    pub(crate) depth: usize,
    /// Groups of 16 columns, 1 to 4.
    pub(crate) vectors: usize,
    /// Whether the product is added to what `out` holds.
    pub(crate) accumulate: bool,
}

impl TileF32 {
    /// out = left * right, or out += left * right. Each element is summed in order of depth, whatever the tile's shape.
    ///
    /// # Safety
    /// The pointers are valid for the extents that the fields give, and `out` overlaps neither operand.
    pub(crate) unsafe fn run(&self, isa: Isa) {
        debug_assert!((1..=TILE_ROWS).contains(&self.rows) && (1..=4).contains(&self.vectors));
        macro_rules! shapes {
            ($run:ident, $($generic:tt)*) => {
                match (self.rows, self.vectors) {
                    (6, 4) => $run::<6, 4 $($generic)*>(self),
                    (5, 4) => $run::<5, 4 $($generic)*>(self),
                    (4, 4) => $run::<4, 4 $($generic)*>(self),
                    (3, 4) => $run::<3, 4 $($generic)*>(self),
                    (2, 4) => $run::<2, 4 $($generic)*>(self),
                    (1, 4) => $run::<1, 4 $($generic)*>(self),
                    (6, 2) => $run::<6, 2 $($generic)*>(self),
                    (5, 2) => $run::<5, 2 $($generic)*>(self),
                    (4, 2) => $run::<4, 2 $($generic)*>(self),
                    (3, 2) => $run::<3, 2 $($generic)*>(self),
                    (2, 2) => $run::<2, 2 $($generic)*>(self),
                    (1, 2) => $run::<1, 2 $($generic)*>(self),
                    (rows, vectors) => {
                        // Uncommon shapes go row by row and vector by vector; the order of each sum is the same.
                        for row in 0..rows {
                            for vector in 0..vectors {
                                let one = TileF32 {
                                    left: self.left.add(row * self.left_stride),
                                    right: self.right.add(16 * vector),
                                    out: self.out.add(row * self.out_stride + 16 * vector),
                                    ..*self
                                };
                                $run::<1, 1 $($generic)*>(&one);
                            }
                        }
                    }
                }
            };
        }
        // SAFETY: extents by the caller; an `Isa` above portable is only made where its features were seen.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512Vnni => shapes!(avx512,),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => shapes!(avx2,),
                _ => shapes!(generic, , false),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<const R: usize, const V: usize>(tile: &TileF32) {
    use std::arch::x86_64::*;
    // SAFETY: every access stays inside the extents that `TileF32::run` was promised.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); V]; R];
        if tile.accumulate {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm512_loadu_ps(tile.out.add(row * tile.out_stride + 16 * vector));
                }
            }
        }
        let mut right = tile.right;
        for depth in 0..tile.depth {
            let mut columns = [_mm512_setzero_ps(); V];
            for (vector, column) in columns.iter_mut().enumerate() {
                *column = _mm512_loadu_ps(right.add(16 * vector));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(*tile.left.add(row * tile.left_stride + depth));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_fmadd_ps(factor, column, *sum);
                }
            }
            right = right.add(tile.right_stride);
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sum) in sums.iter().enumerate() {
                _mm512_storeu_ps(tile.out.add(row * tile.out_stride + 16 * vector), *sum);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const R: usize, const V: usize>(tile: &TileF32) {
    // Sixteen registers hold three rows of 32 columns at most, so wider tiles are cut.
    const { assert!(V <= 4 && R <= 6) };
    // SAFETY: extents by the caller.
    unsafe {
        let mut row = 0;
        while row < R {
            let rows = (R - row).min(3);
            for vector in 0..V {
                let part = TileF32 {
                    left: tile.left.add(row * tile.left_stride),
                    right: tile.right.add(16 * vector),
                    out: tile.out.add(row * tile.out_stride + 16 * vector),
                    ..*tile
                };
                match rows {
                    3 => generic::<3, 1, true>(&part),
                    2 => generic::<2, 1, true>(&part),
                    _ => generic::<1, 1, true>(&part),
                }
            }
            row += rows;
        }
    }
}

#[inline(always)]
unsafe fn generic<const R: usize, const V: usize, const FMA: bool>(tile: &TileF32) {
    // SAFETY: every access stays inside the extents that `TileF32::run` was promised.
    unsafe {
        let mut sums = [[[0f32; 16]; V]; R];
        if tile.accumulate {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = tile
                        .out
                        .add(row * tile.out_stride + 16 * vector)
                        .cast::<[f32; 16]>()
                        .read_unaligned();
                }
            }
        }
        for depth in 0..tile.depth {
            let right = tile.right.add(depth * tile.right_stride);
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = *tile.left.add(row * tile.left_stride + depth);
                for (vector, sum) in sums.iter_mut().enumerate() {
                    let column = right.add(16 * vector).cast::<[f32; 16]>().read_unaligned();
                    for (sum, column) in sum.iter_mut().zip(column) {
                        *sum = if FMA {
                            factor.mul_add(column, *sum)
                        } else {
                            factor * column + *sum
                        };
                    }
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sum) in sums.iter().enumerate() {
                tile.out
                    .add(row * tile.out_stride + 16 * vector)
                    .cast::<[f32; 16]>()
                    .write_unaligned(*sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_equals_the_sum_in_order() {
        let (depth, stride) = (37, 80);
        let left: Vec<f32> = (0..6 * 40)
            .map(|i| ((i * 37 % 101) as f32 - 50.0) / 13.0)
            .collect();
        let right: Vec<f32> = (0..depth * stride)
            .map(|i| ((i * 53 % 97) as f32 - 48.0) / 17.0)
            .collect();
        for isa in Isa::available() {
            for rows in 1..=6 {
                for vectors in 1..=4 {
                    let mut out = vec![1.0f32; 6 * stride];
                    let tile = TileF32 {
                        left: left.as_ptr(),
                        left_stride: 40,
                        right: right.as_ptr(),
                        right_stride: stride,
                        out: out.as_mut_ptr(),
                        out_stride: stride,
                        rows,
                        depth,
                        vectors,
                        accumulate: true,
                    };
                    // SAFETY: the slices hold 6 rows of 40, 37 rows of 80 and 6 rows of 80.
                    unsafe { tile.run(isa) };
                    for row in 0..6 {
                        for column in 0..stride {
                            let mut expected = 1.0f64;
                            if row < rows && column < 16 * vectors {
                                for k in 0..depth {
                                    expected +=
                                        f64::from(left[row * 40 + k]) * f64::from(right[k * stride + column]);
                                }
                            }
                            let got = f64::from(out[row * stride + column]);
                            assert!(
                                (got - expected).abs() < 1e-4,
                                "{isa:?} {rows}x{vectors}: {got} {expected}"
                            );
                        }
                    }
                }
            }
        }
    }
}
