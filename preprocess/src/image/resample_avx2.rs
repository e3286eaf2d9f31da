//! The passes of the resampler with AVX2; integer sums, so the bytes are those of the portable passes.

use std::arch::x86_64::*;

use super::bicubic::{AxisFilter, TAP_GROUP, Window};
use super::resample::{CHANNELS, half, portable_column_sums};

/// Rows that share one expansion of the weights.
const ROWS: usize = 4;
/// Bytes of a column pass that are summed together.
const BLOCK: usize = 32;
/// Bytes that one load of a group of four pixels reads.
const LOAD: usize = 16;

/// Filters every row of `row_bytes` bytes into `target`.
#[target_feature(enable = "avx2")]
pub(super) fn rows(source: &[u8], row_bytes: usize, filter: &AxisFilter, target: &mut [u8]) {
    // Windows may reach past the end of their row, where their weights are zero: rows are copied to where zeros follow.
    let padded = row_bytes + filter.stride() * CHANNELS + LOAD;
    let mut scratch = vec![0; padded * ROWS];
    let target_row = filter.len() * CHANNELS;
    for (source, target) in source
        .chunks(row_bytes * ROWS)
        .zip(target.chunks_mut(target_row * ROWS))
    {
        for (row, scratch) in source
            .chunks_exact(row_bytes)
            .zip(scratch.chunks_exact_mut(padded))
        {
            if let Some(start) = scratch.get_mut(..row_bytes) {
                start.copy_from_slice(row);
            }
        }
        row_group(&scratch, padded, filter, target, target_row);
    }
}

#[target_feature(enable = "avx2")]
fn row_group(scratch: &[u8], padded: usize, filter: &AxisFilter, target: &mut [u8], target_row: usize) {
    // Lane 0 takes pixels 0 and 1, lane 1 pixels 2 and 3: (r r) (g g) (b b) as pairs of 16-bit numbers.
    let pixel_pairs = _mm256_setr_epi8(
        0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, //
        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1,
    );
    let weight_pairs = _mm256_setr_epi8(
        0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, //
        4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7,
    );
    let bits = filter.fraction_bits();
    let shift = _mm_cvtsi32_si128(bits as i32);
    // One lane starts with the half that rounds.
    let start = _mm256_setr_epi32(half(bits), half(bits), half(bits), 0, 0, 0, 0, 0);
    for (i, window) in filter.windows().enumerate() {
        let mut sums = [start; ROWS];
        let mut at = window.start * CHANNELS;
        for weights in window.weights.as_chunks::<TAP_GROUP>().0 {
            let weights = _mm256_shuffle_epi8(_mm256_set1_epi64x(four(*weights)), weight_pairs);
            for (row, sum) in sums.iter_mut().enumerate() {
                let pixels = _mm256_broadcastsi128_si256(load16(scratch, row * padded + at));
                let pairs = _mm256_shuffle_epi8(pixels, pixel_pairs);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, weights));
            }
            at += TAP_GROUP * CHANNELS;
        }
        for (sum, target) in sums.into_iter().zip(target.chunks_exact_mut(target_row)) {
            let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
            let sum = _mm_sra_epi32(sum, shift);
            let words = _mm_packs_epi32(sum, sum);
            let [r, g, b, _] = _mm_cvtsi128_si32(_mm_packus_epi16(words, words)).to_le_bytes();
            if let Some(pixel) = target.get_mut(i * CHANNELS..(i + 1) * CHANNELS) {
                pixel.copy_from_slice(&[r, g, b]);
            }
        }
    }
}

/// One row of column sums; `source` starts with the window's first row.
#[target_feature(enable = "avx2")]
pub(super) fn column_sums(source: &[u8], row_bytes: usize, window: Window<'_>, bits: u32, target: &mut [u8]) {
    let shift = _mm_cvtsi32_si128(bits as i32);
    let zero = _mm256_setzero_si256();
    let (blocks, _) = target.as_chunks_mut::<BLOCK>();
    let vectorised = blocks.len() * BLOCK;
    for (block, target) in blocks.iter_mut().enumerate() {
        let mut sums = [_mm256_set1_epi32(half(bits)); 4];
        let mut at = block * BLOCK;
        for &[first, second] in window.weights.as_chunks::<2>().0 {
            // Rows behind the end of the picture read as zeros; their weights are zeros as well.
            let upper = load32(source, at);
            let lower = load32(source, at + row_bytes);
            at += 2 * row_bytes;
            let weights = _mm256_set1_epi32(two(first, second));
            let low = _mm256_unpacklo_epi8(upper, lower);
            let high = _mm256_unpackhi_epi8(upper, lower);
            let pairs = [
                _mm256_unpacklo_epi8(low, zero),
                _mm256_unpackhi_epi8(low, zero),
                _mm256_unpacklo_epi8(high, zero),
                _mm256_unpackhi_epi8(high, zero),
            ];
            for (sum, pair) in sums.iter_mut().zip(pairs) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pair, weights));
            }
        }
        let [a, b, c, d] = sums.map(|sum| _mm256_sra_epi32(sum, shift));
        // Packing undoes the unpacking lane by lane, so the bytes are in order.
        let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        // SAFETY: `target` is a mutable array of 32 bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(target.as_mut_ptr().cast(), bytes) };
    }
    portable_column_sums(source, row_bytes, window, bits, vectorised, target);
}

/// Four 16-bit weights as one number.
fn four([a, b, c, d]: [i16; TAP_GROUP]) -> i64 {
    let word = |weight: i16| i64::from(weight.cast_unsigned());
    word(a) | word(b) << 16 | word(c) << 32 | word(d) << 48
}

/// Two 16-bit weights as one number.
fn two(a: i16, b: i16) -> i32 {
    i32::from(a.cast_unsigned()) | i32::from(b) << 16
}

/// 16 bytes from `at` on; zeros if there are fewer.
#[target_feature(enable = "avx2")]
#[inline]
fn load16(bytes: &[u8], at: usize) -> __m128i {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<LOAD>) {
        // SAFETY: `chunk` is 16 readable bytes; the load needs no alignment.
        Some(chunk) => unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) },
        None => _mm_setzero_si128(),
    }
}

/// 32 bytes from `at` on; zeros if there are fewer.
#[target_feature(enable = "avx2")]
#[inline]
fn load32(bytes: &[u8], at: usize) -> __m256i {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // SAFETY: `chunk` is 32 readable bytes; the load needs no alignment.
        Some(chunk) => unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) },
        None => _mm256_setzero_si256(),
    }
}
