//! Long texts are tokenised in chunks, so that memory follows the chunk and not the text.
//!
//! A chunk ends before a space that stands between two ASCII letters. That is exact for pair merging where no token of
//! the vocabulary holds a letter followed by a space, since then no merge crosses the cut; pre-tokenizers are checked
//! at every cut by comparing the tokens around it, in one piece and in two. Text without such a place is tokenised in
//! one piece, which takes time in proportion to its length and up to some 300 bytes of memory per byte; so a text that
//! cannot fit is counted first, in pieces that need not be exact.

use super::{Place, PromptTokenizer, tokenize_error};
use crate::PromptError;

/// Texts up to twice this many bytes are tokenised in one piece.
const CHUNK_BYTES: usize = 1 << 16;
/// Bytes on each side of a cut that are tokenised to check it.
const WINDOW_BYTES: usize = 64;
/// Places tried for one cut before the rest is tokenised in one piece.
const CUT_ATTEMPTS: usize = 8;
/// Tokens by which one cut at any place may, generously, raise a count.
const TOKENS_PER_CUT: usize = 64;

/// The number of tokens of a long text, counted in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PieceCount {
    /// The sum over the pieces; right within a few tokens per 64 KiB.
    pub(crate) tokens: usize,
    /// What the text takes for certain.
    pub(crate) at_least: usize,
}

/// Whether a vocabulary entry holds an ASCII letter followed by a space, in any spelling of vocabularies.
pub(super) fn spans_a_space(token: &str) -> bool {
    let mut before = None;
    for character in token.chars() {
        if matches!(character, ' ' | '▁' | 'Ġ') && before.is_some_and(|c: char| c.is_ascii_alphabetic()) {
            return true;
        }
        before = Some(character);
    }
    false
}

impl PromptTokenizer {
    /// Where to cut a long text next; `None` to tokenise the rest in one piece.
    pub(super) fn next_chunk(&self, text: &str) -> Result<Option<usize>, PromptError> {
        if text.len() <= 2 * CHUNK_BYTES {
            return Ok(None);
        }
        self.exact_cut(text)
    }

    /// Counts the tokens of a text that is long enough to be a burden; `None` for others. Stops once `enough` are
    /// certain.
    pub(crate) fn count_if_long(&self, text: &str, enough: usize) -> Result<Option<PieceCount>, PromptError> {
        if text.len() <= 2 * CHUNK_BYTES {
            return Ok(None);
        }
        let mut count = PieceCount {
            tokens: 0,
            at_least: 0,
        };
        let mut rest = text;
        while !rest.is_empty() && count.at_least <= enough {
            let near = rest
                .get(..rest.floor_char_boundary(2 * CHUNK_BYTES))
                .unwrap_or(rest);
            let (cut, slack) = match self.exact_cut(near)? {
                Some(cut) => (cut, 0),
                None => (rest.floor_char_boundary(CHUNK_BYTES), TOKENS_PER_CUT),
            };
            let (piece, behind) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            let mut ids = Vec::new();
            self.encode_chunk(Place::Continues, piece, &mut ids)?;
            count.tokens += ids.len();
            count.at_least += ids.len().saturating_sub(slack);
            rest = behind;
        }
        Ok(Some(count))
    }

    fn exact_cut(&self, text: &str) -> Result<Option<usize>, PromptError> {
        if self.spans_spaces {
            return Ok(None);
        }
        let candidates = text
            .as_bytes()
            .windows(3)
            .enumerate()
            .skip(CHUNK_BYTES)
            .filter(|(_, around)| {
                matches!(around, [before, b' ', behind]
                    if before.is_ascii_alphabetic() && behind.is_ascii_alphabetic())
            })
            .map(|(index, _)| index + 1)
            .take(CUT_ATTEMPTS);
        for cut in candidates {
            if self.is_token_boundary(text, cut)? {
                return Ok(Some(cut));
            }
        }
        Ok(None)
    }

    fn is_token_boundary(&self, text: &str, cut: usize) -> Result<bool, PromptError> {
        let from = text.floor_char_boundary(cut.saturating_sub(WINDOW_BYTES));
        let to = text.ceil_char_boundary((cut + WINDOW_BYTES).min(text.len()));
        let window = text.get(from..to).unwrap_or_default();
        let (left, right) = window.split_at_checked(cut - from).unwrap_or_default();
        let tokenizer = self.tokenizer_at(Place::Continues);
        let encode = |part: &str| {
            tokenizer
                .encode_fast(part, false)
                .map_err(|error| tokenize_error(part, &error))
        };
        let (whole, left, right) = (encode(window)?, encode(left)?, encode(right)?);
        let parts = left.get_ids().iter().chain(right.get_ids());
        Ok(whole.get_ids().iter().eq(parts))
    }
}
