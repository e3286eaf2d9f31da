//! Hidden states of many prompts.

use std::collections::HashMap;

use super::{HeadFitError, HiddenCache, PromptKey};
use crate::service::{Prepared, Service};

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
    /// Tokens that were computed.
    pub tokens: usize,
}

/// The hidden state at the last position of every prompt, out of `cache` where it is there and kept there where it is not.
/// `progress` hears how many prompts were done.
///
/// # Errors
/// The engine fails.
pub fn extract(
    service: &Service,
    prompts: &[(PromptKey, &Prepared)],
    cache: Option<&HiddenCache>,
    progress: impl Fn(usize),
) -> Result<Extracted, HeadFitError> {
    let mut known: HashMap<PromptKey, Vec<f32>> = HashMap::new();
    let mut missing: Vec<(PromptKey, &Prepared)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (key, prepared) in prompts {
        if !seen.insert(*key) {
            progress(1);
            continue;
        }
        match cache.and_then(|cache| cache.get(*key)) {
            Some(hidden) => {
                known.insert(*key, hidden);
                progress(1);
            }
            None => missing.push((*key, prepared)),
        }
    }
    let (computed, mut tokens, mut writable) = (missing.len(), 0, true);
    for window in missing.chunks_mut(WINDOW) {
        window.sort_by_key(|(key, prepared)| (prepared.tokens(), *key));
        for pass in passes(window) {
            let prepared: Vec<&Prepared> = pass.iter().map(|(_, prepared)| *prepared).collect();
            let hidden = service.hidden_states(&prepared)?;
            tokens += prepared.iter().map(|prepared| prepared.tokens()).sum::<usize>();
            for ((key, _), hidden) in pass.iter().zip(hidden) {
                if let Some(cache) = cache.filter(|_| writable)
                    && let Err(error) = cache.put(*key, &hidden)
                {
                    tracing::warn!(%error, folder = %cache.folder().display(), "hidden states are not kept");
                    writable = false;
                }
                known.insert(*key, hidden);
            }
            progress(pass.len());
        }
    }
    let of_prompt = |(key, _): &(PromptKey, &Prepared)| known.get(key).cloned();
    let hidden = prompts.iter().filter_map(of_prompt).collect::<Vec<_>>();
    Ok(Extracted {
        hidden,
        computed,
        tokens,
    })
}

/// Consecutive prompts of at most [`TOKENS_OF_A_PASS`] tokens, or one longer one.
fn passes<'w, 'p>(
    window: &'w [(PromptKey, &'p Prepared)],
) -> impl Iterator<Item = &'w [(PromptKey, &'p Prepared)]> {
    let mut left = window;
    std::iter::from_fn(move || {
        let mut tokens = 0;
        let fits = left.iter().take_while(|(_, prepared)| {
            tokens += prepared.tokens();
            tokens <= TOKENS_OF_A_PASS
        });
        let count = fits.count().max(1);
        let (pass, rest) = left.split_at_checked(count)?;
        left = rest;
        Some(pass)
    })
}
