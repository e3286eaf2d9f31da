//! The output matrix: logits of hidden states, and their log-normaliser, without keeping the logits.

use super::elementary::{exp, fused};
use super::{Isa, Parallel, SharedMut, per_isa};

/// Inputs that share a scale in the 8-bit form.
pub(crate) const ROW_GROUP: usize = 32;
/// Vocabulary rows of one work item.
const CHUNK: usize = 256;
/// Hidden states that share one pass over a vocabulary row.
const SHARED_ROWS: usize = 4;

/// A row-major matrix `[vocabulary, width]`, used for embedding and output.
#[derive(Clone, Copy)]
pub(crate) enum RowMatrix<'a> {
    /// float32.
    Float32(&'a [f32]),
    /// int8 codes and a float32 scale for every 32 of them (fewer at the end of a row).
    Int8 {
        /// `[vocabulary, width]`
        codes: &'a [i8],
        /// `[vocabulary, ceil(width / 32)]`
        scales: &'a [f32],
    },
}

impl RowMatrix<'_> {
    /// Writes one row as float32.
    ///
    /// # Panics
    /// The row is out of range.
    pub(crate) fn row(&self, index: usize, out: &mut [f32]) {
        let width = out.len();
        match self {
            RowMatrix::Float32(values) => out.copy_from_slice(&values[index * width..(index + 1) * width]),
            RowMatrix::Int8 { codes, scales } => {
                let groups = width.div_ceil(ROW_GROUP);
                let scales = &scales[index * groups..(index + 1) * groups];
                let codes = &codes[index * width..(index + 1) * width];
                for ((out, codes), scale) in
                    out.chunks_mut(ROW_GROUP).zip(codes.chunks(ROW_GROUP)).zip(scales)
                {
                    for (out, code) in out.iter_mut().zip(codes) {
                        *out = f32::from(*code) * scale;
                    }
                }
            }
        }
    }
}

/// The arithmetic of logits.
#[derive(Clone, Copy)]
pub(crate) struct OutputHead<'a> {
    pub(crate) isa: Isa,
    pub(crate) matrix: RowMatrix<'a>,
    pub(crate) vocabulary: usize,
    pub(crate) width: usize,
    pub(crate) softcap: Option<f32>,
}

impl OutputHead<'_> {
    fn capped(&self, logit: f32) -> f32 {
        match self.softcap {
            Some(cap) => cap * (logit / cap).tanh(),
            None => logit,
        }
    }

    /// The logit of one token for one hidden state.
    pub(crate) fn logit(&self, hidden: &[f32], token: usize, buffer: &mut [f32]) -> f32 {
        self.matrix.row(token, buffer);
        let mut out = [0f32; SHARED_ROWS];
        dots(self.isa, buffer, hidden, 1, &mut out);
        self.capped(out[0])
    }

    /// Logits of `hidden` (`[rows, width]`) for the tokens from `first`, as `[rows, out.len() / rows]`.
    fn logits_chunk(&self, hidden: &[f32], first: usize, out: &mut [f32]) {
        let rows = hidden.len() / self.width;
        let tokens = out.len() / rows;
        let mut row = vec![0f32; self.width];
        for token in 0..tokens {
            self.matrix.row(first + token, &mut row);
            for (index, states) in hidden.chunks(SHARED_ROWS * self.width).enumerate() {
                let count = states.len() / self.width;
                let mut sums = [0f32; SHARED_ROWS];
                dots(self.isa, &row, states, count, &mut sums);
                for (offset, sum) in sums[..count].iter().enumerate() {
                    out[(index * SHARED_ROWS + offset) * tokens + token] = self.capped(*sum);
                }
            }
        }
    }

    /// All logits, `[rows, vocabulary]`.
    pub(crate) fn logits(&self, parallel: &dyn Parallel, hidden: &[f32], out: &mut [f32]) {
        let rows = hidden.len() / self.width;
        let places = SharedMut::new(out);
        parallel.for_each(self.vocabulary.div_ceil(CHUNK), &|item| {
            let first = item * CHUNK;
            let tokens = CHUNK.min(self.vocabulary - first);
            let mut chunk = vec![0f32; rows * tokens];
            self.logits_chunk(hidden, first, &mut chunk);
            for (row, logits) in chunk.chunks_exact(tokens).enumerate() {
                // SAFETY: each item writes its own tokens of each row only.
                unsafe { places.slice_mut(row * self.vocabulary + first, tokens) }.copy_from_slice(logits);
            }
        });
    }

    /// log sum exp over the vocabulary for each row of `hidden`.
    pub(crate) fn log_normalizers(&self, parallel: &dyn Parallel, hidden: &[f32], out: &mut [f32]) {
        let rows = hidden.len() / self.width;
        let chunks = self.vocabulary.div_ceil(CHUNK);
        let mut parts = vec![(f32::NEG_INFINITY, 0f32); chunks * rows];
        let places = SharedMut::new(&mut parts);
        parallel.for_each(chunks, &|item| {
            let first = item * CHUNK;
            let tokens = CHUNK.min(self.vocabulary - first);
            let mut chunk = vec![0f32; rows * tokens];
            self.logits_chunk(hidden, first, &mut chunk);
            // SAFETY: each item writes its own parts only.
            let parts = unsafe { places.slice_mut(item * rows, rows) };
            for (part, logits) in parts.iter_mut().zip(chunk.chunks_exact(tokens)) {
                *part = largest_and_sum(self.isa, logits);
            }
        });
        for (row, out) in out.iter_mut().enumerate() {
            let parts = || parts.iter().skip(row).step_by(rows);
            let largest = parts().fold(f32::NEG_INFINITY, |a, part| a.max(part.0));
            let sum: f64 = parts()
                .map(|part| f64::from(part.1) * f64::from(part.0 - largest).exp())
                .sum();
            *out = (f64::from(largest) + sum.ln()) as f32;
        }
    }
}

per_isa! {
    /// `out[i]` = `row` · `states[i]` for `count` states, at most four.
    fn dots(row: &[f32], states: &[f32], count: usize, out: &mut [f32; SHARED_ROWS]) = dots_body
}

#[inline(always)]
fn dots_body<const FMA: bool>(row: &[f32], states: &[f32], count: usize, out: &mut [f32; SHARED_ROWS]) {
    // One state at a time keeps the order of each sum; the row stays in the nearest cache.
    for (state, out) in states.chunks_exact(row.len()).zip(out.iter_mut()).take(count) {
        let mut lanes = [[0f32; 16]; 4];
        let (left, left_rest) = row.as_chunks::<64>();
        let (right, right_rest) = state.as_chunks::<64>();
        for (left, right) in left.iter().zip(right) {
            for (index, lanes) in lanes.iter_mut().enumerate() {
                for (place, lane) in lanes.iter_mut().enumerate() {
                    *lane = fused::<FMA>(left[index * 16 + place], right[index * 16 + place], *lane);
                }
            }
        }
        for (index, (left, right)) in left_rest.iter().zip(right_rest).enumerate() {
            let lane = &mut lanes[0][index % 16];
            *lane = fused::<FMA>(*left, *right, *lane);
        }
        let mut sum = 0f32;
        for place in 0..16 {
            sum += (lanes[0][place] + lanes[1][place]) + (lanes[2][place] + lanes[3][place]);
        }
        *out = sum;
    }
}

per_isa! {
    /// The largest logit and the sum of e^(logit - largest).
    fn largest_and_sum(logits: &[f32]) -> (f32, f32) = largest_and_sum_body
}

#[inline(always)]
fn largest_and_sum_body<const FMA: bool>(logits: &[f32]) -> (f32, f32) {
    let mut largest = f32::NEG_INFINITY;
    for logit in logits {
        largest = if *logit > largest { *logit } else { largest };
    }
    let mut lanes = [0f32; 16];
    let (chunks, rest) = logits.as_chunks::<16>();
    for chunk in chunks {
        for (lane, logit) in lanes.iter_mut().zip(chunk) {
            *lane += exp::<FMA>(*logit - largest);
        }
    }
    for (lane, logit) in lanes.iter_mut().zip(rest) {
        *lane += exp::<FMA>(*logit - largest);
    }
    (largest, lanes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::parallel::Serial;

    #[test]
    fn normalizers_equal_the_log_of_the_sum() {
        let (vocabulary, width, rows) = (1000, 72, 7);
        let matrix: Vec<f32> = (0..vocabulary * width)
            .map(|i| ((i * 7919 % 2003) as f32 - 1001.0) / 900.0)
            .collect();
        let hidden: Vec<f32> = (0..rows * width)
            .map(|i| ((i * 104_729 % 997) as f32 - 498.0) / 300.0)
            .collect();
        for isa in Isa::available() {
            let head = OutputHead {
                isa,
                matrix: RowMatrix::Float32(&matrix),
                vocabulary,
                width,
                softcap: Some(30.0),
            };
            let mut logits = vec![0f32; rows * vocabulary];
            head.logits(&Serial, &hidden, &mut logits);
            let mut normalizers = vec![0f32; rows];
            head.log_normalizers(&Serial, &hidden, &mut normalizers);
            let mut buffer = vec![0f32; width];
            for row in 0..rows {
                let mut sum = 0f64;
                for token in 0..vocabulary {
                    let exact: f64 = (0..width)
                        .map(|k| f64::from(matrix[token * width + k]) * f64::from(hidden[row * width + k]))
                        .sum();
                    let exact = 30.0 * (exact / 30.0).tanh();
                    let got = logits[row * vocabulary + token];
                    assert!((f64::from(got) - exact).abs() < 1e-4, "{got} {exact}");
                    let alone = head.logit(&hidden[row * width..(row + 1) * width], token, &mut buffer);
                    assert_eq!(alone, got);
                    sum += exact.exp();
                }
                assert!((f64::from(normalizers[row]) - sum.ln()).abs() < 1e-4);
            }
        }
    }
}
