//! Token ids for measurements of speed: fixed, and of no meaning.

use assize_models::{ModelError, PackedBatch, TokenId};

/// `n` token ids below `vocabulary`, the same on every machine for one `seed` (splitmix64, Steele et al. 2014).
pub fn fixed_tokens(vocabulary: usize, n: usize, seed: u64) -> Vec<TokenId> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            (mixed % vocabulary.max(1) as u64) as TokenId
        })
        .collect()
}

/// A batch of one prompt that reads its last position only.
///
/// # Errors
/// `tokens` is empty.
pub fn last_position(tokens: &[TokenId]) -> Result<PackedBatch, ModelError> {
    let mut batch = PackedBatch::new();
    let segment = batch.push_segment(None, tokens)?;
    batch.read_last(segment)?;
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_fixed_and_in_range() {
        let found = fixed_tokens(1000, 64, 1);
        assert_eq!(found, fixed_tokens(1000, 64, 1));
        assert_ne!(found, fixed_tokens(1000, 64, 2));
        assert!(found.iter().all(|token| *token < 1000));
        assert_eq!(found[..8], fixed_tokens(1000, 8, 1));
    }

    #[test]
    fn only_the_last_position_is_read() {
        let batch = last_position(&[5, 6, 7]).unwrap();
        assert_eq!(batch.reads(), [2]);
        assert!(last_position(&[]).is_err());
    }
}
