//! Stored number types of GGUF and their conversion to float32.
//!
//! Layouts and formulas are those of ggml's reference quantisation (`block_q4_0` and so on).

use half::{bf16, f16};

use crate::TensorType;

/// A number type that this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlockType {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// Name of a ggml type id, for messages.
pub(super) fn type_name(id: u32) -> &'static str {
    match id {
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        20 => "IQ4_NL",
        21 => "IQ3_S",
        22 => "IQ2_S",
        23 => "IQ4_XS",
        24..=27 => "an integer type",
        28 => "F64",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        39 => "MXFP4",
        _ => "an unknown type",
    }
}

impl BlockType {
    /// The type with this ggml id, `None` where this crate does not read it.
    pub(super) fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => BlockType::F32,
            1 => BlockType::F16,
            2 => BlockType::Q4_0,
            3 => BlockType::Q4_1,
            6 => BlockType::Q5_0,
            7 => BlockType::Q5_1,
            8 => BlockType::Q8_0,
            12 => BlockType::Q4K,
            13 => BlockType::Q5K,
            14 => BlockType::Q6K,
            30 => BlockType::Bf16,
            _ => return None,
        })
    }

    /// Numbers of one block.
    pub(crate) fn block_len(self) -> usize {
        match self {
            BlockType::F32 | BlockType::F16 | BlockType::Bf16 => 1,
            BlockType::Q4_0 | BlockType::Q4_1 | BlockType::Q5_0 | BlockType::Q5_1 | BlockType::Q8_0 => 32,
            BlockType::Q4K | BlockType::Q5K | BlockType::Q6K => 256,
        }
    }

    /// Bytes of one block.
    pub(crate) fn block_bytes(self) -> usize {
        match self {
            BlockType::F32 => 4,
            BlockType::F16 | BlockType::Bf16 => 2,
            BlockType::Q4_0 => 18,
            BlockType::Q4_1 => 20,
            BlockType::Q5_0 => 22,
            BlockType::Q5_1 => 24,
            BlockType::Q8_0 => 34,
            BlockType::Q4K => 144,
            BlockType::Q5K => 176,
            BlockType::Q6K => 210,
        }
    }

    /// The type as engines see it.
    pub(crate) fn stored(self) -> TensorType {
        match self {
            BlockType::F32 => TensorType::F32,
            BlockType::F16 => TensorType::F16,
            BlockType::Bf16 => TensorType::Bf16,
            BlockType::Q4_0 => TensorType::Quantised("Q4_0"),
            BlockType::Q4_1 => TensorType::Quantised("Q4_1"),
            BlockType::Q5_0 => TensorType::Quantised("Q5_0"),
            BlockType::Q5_1 => TensorType::Quantised("Q5_1"),
            BlockType::Q8_0 => TensorType::Quantised("Q8_0"),
            BlockType::Q4K => TensorType::Quantised("Q4_K"),
            BlockType::Q5K => TensorType::Quantised("Q5_K"),
            BlockType::Q6K => TensorType::Quantised("Q6_K"),
        }
    }

    /// Bytes of the whole blocks in a row of `columns` numbers, `None` where there is no such number.
    pub(crate) fn row_bytes(self, columns: usize) -> Option<usize> {
        (columns / self.block_len()).checked_mul(self.block_bytes())
    }

    /// Converts `bytes` into `out`; stops at the shorter of the two.
    pub(crate) fn dequantise(self, bytes: &[u8], out: &mut [f32]) {
        let blocks = bytes
            .chunks_exact(self.block_bytes())
            .zip(out.chunks_exact_mut(self.block_len()));
        match self {
            BlockType::F32 => blocks.for_each(|(block, out)| out[0] = single(block)),
            BlockType::F16 => blocks.for_each(|(block, out)| out[0] = half_at(block, 0)),
            BlockType::Bf16 => blocks.for_each(|(block, out)| {
                out[0] = bf16::from_le_bytes([block[0], block[1]]).to_f32();
            }),
            BlockType::Q4_0 => blocks.for_each(|(block, out)| q4_0(block, out)),
            BlockType::Q4_1 => blocks.for_each(|(block, out)| q4_1(block, out)),
            BlockType::Q5_0 => blocks.for_each(|(block, out)| q5_0(block, out)),
            BlockType::Q5_1 => blocks.for_each(|(block, out)| q5_1(block, out)),
            BlockType::Q8_0 => blocks.for_each(|(block, out)| q8_0(block, out)),
            BlockType::Q4K => blocks.for_each(|(block, out)| q4_k(block, out)),
            BlockType::Q5K => blocks.for_each(|(block, out)| q5_k(block, out)),
            BlockType::Q6K => blocks.for_each(|(block, out)| q6_k(block, out)),
        }
    }
}

// The functions below get exactly one block from `chunks_exact`, so their constant indices are in range.

fn single(block: &[u8]) -> f32 {
    f32::from_le_bytes([block[0], block[1], block[2], block[3]])
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

fn q4_0(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 0);
    for (j, byte) in block[2..18].iter().enumerate() {
        out[j] = ((byte & 15) as i32 - 8) as f32 * scale;
        out[j + 16] = ((byte >> 4) as i32 - 8) as f32 * scale;
    }
}

fn q4_1(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 0);
    let least = half_at(block, 2);
    for (j, byte) in block[4..20].iter().enumerate() {
        out[j] = (byte & 15) as f32 * scale + least;
        out[j + 16] = (byte >> 4) as f32 * scale + least;
    }
}

/// The fifth bits of 32 numbers and their low nibbles, joined.
fn five_bits(high: &[u8], nibbles: &[u8], mut put: impl FnMut(usize, u32)) {
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    for (j, byte) in nibbles.iter().enumerate() {
        let byte = u32::from(*byte);
        put(j, (byte & 15) | (high >> j & 1) << 4);
        put(j + 16, (byte >> 4) | (high >> (j + 16) & 1) << 4);
    }
}

fn q5_0(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 0);
    five_bits(&block[2..6], &block[6..22], |j, value| {
        out[j] = (value as i32 - 16) as f32 * scale
    });
}

fn q5_1(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 0);
    let least = half_at(block, 2);
    five_bits(&block[4..8], &block[8..24], |j, value| {
        out[j] = value as f32 * scale + least
    });
}

fn q8_0(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 0);
    for (value, byte) in out.iter_mut().zip(&block[2..34]) {
        *value = f32::from(*byte as i8) * scale;
    }
}

/// The 6-bit scale and minimum of sub-block `j` of a `Q4_K` or `Q5_K` block, packed into 12 bytes.
fn scale_and_minimum(j: usize, packed: &[u8]) -> (f32, f32) {
    let (scale, minimum) = if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (
            (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4,
            (packed[j + 4] >> 4) | (packed[j] >> 6) << 4,
        )
    };
    (scale.into(), minimum.into())
}

fn q4_k(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let packed = &block[4..16];
    for (j, (out, bytes)) in out
        .chunks_exact_mut(64)
        .zip(block[16..144].chunks_exact(32))
        .enumerate()
    {
        let (s0, m0) = scale_and_minimum(2 * j, packed);
        let (s1, m1) = scale_and_minimum(2 * j + 1, packed);
        let (low, high) = out.split_at_mut(32);
        for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
            *low = scale * s0 * f32::from(byte & 15) - least * m0;
            *high = scale * s1 * f32::from(byte >> 4) - least * m1;
        }
    }
}

fn q5_k(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let packed = &block[4..16];
    let fifth = &block[16..48];
    for (j, (out, bytes)) in out
        .chunks_exact_mut(64)
        .zip(block[48..176].chunks_exact(32))
        .enumerate()
    {
        let (s0, m0) = scale_and_minimum(2 * j, packed);
        let (s1, m1) = scale_and_minimum(2 * j + 1, packed);
        let (low, high) = out.split_at_mut(32);
        for (((low, high), byte), fifth) in low.iter_mut().zip(high).zip(bytes).zip(fifth) {
            let q0 = (byte & 15) | (fifth >> (2 * j) & 1) << 4;
            let q1 = (byte >> 4) | (fifth >> (2 * j + 1) & 1) << 4;
            *low = scale * s0 * f32::from(q0) - least * m0;
            *high = scale * s1 * f32::from(q1) - least * m1;
        }
    }
}

fn q6_k(block: &[u8], out: &mut [f32]) {
    let scale = half_at(block, 208);
    for (half, out) in out.chunks_exact_mut(128).enumerate() {
        let low = &block[64 * half..64 * half + 64];
        let high = &block[128 + 32 * half..128 + 32 * half + 32];
        let scales = &block[192 + 8 * half..192 + 8 * half + 8];
        for l in 0..32 {
            let factor = |part: usize| scale * f32::from(scales[l / 16 + 2 * part] as i8);
            let q = |nibble: u8, shift: u32| (i32::from(nibble | (high[l] >> shift & 3) << 4) - 32) as f32;
            out[l] = factor(0) * q(low[l] & 15, 0);
            out[l + 32] = factor(1) * q(low[l + 32] & 15, 2);
            out[l + 64] = factor(2) * q(low[l] >> 4, 4);
            out[l + 96] = factor(3) * q(low[l + 32] >> 4, 6);
        }
    }
}
