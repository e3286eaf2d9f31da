//! Hidden states of many prompts.

use std::collections::{HashMap, HashSet};

use assize_models::{ReadIndex, TokenId};

use super::{HeadFitError, HiddenCache, PromptKey};
use crate::service::Service;

/// Tokens of one forward pass, but for a single longer prompt.
pub const TOKENS_OF_A_PASS: usize = 2048;
/// Prompts that are sorted by length together: passes are filled well, and a run that is killed has finished the first.
const WINDOW: usize = 512;

/// Hidden states, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// One per prompt, in order; prompts that are equal share a forward pass.
    pub hidden: Vec<Vec<f32>>,
    /// Prompts that a forward pass was run for.
    pub computed: usize,
    /// Tokens of those prompts; what the prompts of one pass start with in common is computed once.
    pub tokens: usize,
}

/// The hidden state at the last position of every prompt, out of `cache` where it is there and kept there where it is not.
/// `progress` hears how many prompts were done.
///
/// # Errors
/// The engine fails.
pub fn extract(
    service: &Service,
    prompts: &[(PromptKey, Vec<TokenId>)],
    cache: Option<&HiddenCache>,
    progress: impl Fn(usize),
) -> Result<Extracted, HeadFitError> {
    let mut known: HashMap<PromptKey, Vec<f32>> = HashMap::new();
    let mut missing: Vec<&(PromptKey, Vec<TokenId>)> = Vec::new();
    let mut seen = HashSet::new();
    for prompt in prompts {
        let key = prompt.0;
        if !seen.insert(key) {
            progress(1);
            continue;
        }
        match cache.and_then(|cache| cache.get(key)) {
            Some(hidden) => {
                known.insert(key, hidden);
                progress(1);
            }
            None => missing.push(prompt),
        }
    }
    let (computed, mut tokens, mut writable) = (missing.len(), 0, true);
    for window in missing.chunks_mut(WINDOW) {
        window.sort_by_key(|(key, prompt)| (prompt.len(), *key));
        for pass in passes(window) {
            let of_pass: Vec<Vec<TokenId>> = pass.iter().map(|(_, prompt)| prompt.clone()).collect();
            let hidden = service.hidden_states(&of_pass)?;
            tokens += of_pass.iter().map(Vec::len).sum::<usize>();
            for ((key, _), read) in pass.iter().zip(0..) {
                let hidden = hidden.row(ReadIndex(read)).unwrap_or_default();
                if let Some(cache) = cache.filter(|_| writable)
                    && let Err(error) = cache.put(*key, hidden)
                {
                    tracing::warn!(%error, folder = %cache.folder().display(), "hidden states are not kept");
                    writable = false;
                }
                known.insert(*key, hidden.to_vec());
            }
            progress(pass.len());
        }
    }
    let of_prompt = |(key, _): &(PromptKey, Vec<TokenId>)| known.get(key).cloned();
    Ok(Extracted {
        hidden: prompts.iter().filter_map(of_prompt).collect(),
        computed,
        tokens,
    })
}

/// Consecutive prompts of at most [`TOKENS_OF_A_PASS`] tokens, or one longer one.
fn passes<'w, 'p>(
    window: &'w [&'p (PromptKey, Vec<TokenId>)],
) -> impl Iterator<Item = &'w [&'p (PromptKey, Vec<TokenId>)]> {
    let mut left = window;
    std::iter::from_fn(move || {
        if left.is_empty() {
            return None;
        }
        let mut tokens = 0;
        let fits = left.iter().take_while(|(_, prompt)| {
            tokens += prompt.len();
            tokens <= TOKENS_OF_A_PASS
        });
        let (pass, rest) = left.split_at_checked(fits.count().max(1))?;
        left = rest;
        Some(pass)
    })
}
