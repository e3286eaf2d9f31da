//! Damaged weights that are still well-formed numbers.

use crate::TensorType;

/// Exponent bits of a float32; all set in an infinity or NaN.
const EXPONENT: u32 = 0x7f80_0000;

/// Whether no value is an infinity or NaN.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    // Without an early exit inside a chunk, so that the loop is vectorised.
    values.chunks(4096).all(|chunk| {
        chunk.iter().fold(true, |finite, value| {
            finite & (value.to_bits() & EXPONENT != EXPONENT)
        })
    })
}

/// Whether no number of a plain stored type, little endian, is an infinity or NaN.
pub(crate) fn stored_finite(stored: TensorType, bytes: &[u8]) -> bool {
    let halves = |exponent: u16| {
        bytes.chunks(1 << 14).all(|chunk| {
            let (pairs, _) = chunk.as_chunks::<2>();
            pairs.iter().fold(true, |finite, pair| {
                finite & (u16::from_le_bytes(*pair) & exponent != exponent)
            })
        })
    };
    match stored {
        TensorType::Bf16 => halves(0x7f80),
        TensorType::F16 => halves(0x7c00),
        _ => bytes.chunks(1 << 14).all(|chunk| {
            let (fours, _) = chunk.as_chunks::<4>();
            fours.iter().fold(true, |finite, four| {
                finite & (u32::from_le_bytes(*four) & EXPONENT != EXPONENT)
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_number_is_found() {
        let mut values = vec![1.0_f32; 10_000];
        assert!(all_finite(&values));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            values[9_999] = bad;
            assert!(!all_finite(&values));
        }
    }

    #[test]
    fn one_bad_stored_number_is_found() {
        let bytes = |value: f32, stored| match stored {
            TensorType::Bf16 => half::bf16::from_f32(value).to_le_bytes().to_vec(),
            TensorType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        for stored in [TensorType::Bf16, TensorType::F16, TensorType::F32] {
            let good = bytes(60_000.0, stored).repeat(20_000);
            assert!(stored_finite(stored, &good));
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let bad = [good.as_slice(), &bytes(bad, stored)].concat();
                assert!(!stored_finite(stored, &bad), "{stored:?}");
            }
        }
    }
}
