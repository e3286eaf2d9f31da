//! Damaged weights that are still well-formed numbers.

/// Whether no value is an infinity or NaN.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    // Without an early exit inside a chunk, so that the loop is vectorised.
    const EXPONENT: u32 = 0x7f80_0000;
    values.chunks(4096).all(|chunk| {
        chunk.iter().fold(true, |finite, value| {
            finite & (value.to_bits() & EXPONENT != EXPONENT)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::all_finite;

    #[test]
    fn one_bad_number_is_found() {
        let mut values = vec![1.0_f32; 10_000];
        assert!(all_finite(&values));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            values[9_999] = bad;
            assert!(!all_finite(&values));
        }
    }
}
