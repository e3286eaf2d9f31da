//! Hidden states of prompts: what a head is fitted on.

use std::time::Instant;

use assize_heads::Readout;
use assize_heads::fitted_head::PromptCut;
use assize_models::{HiddenStates, PackedBatch, TokenId};
use assize_preprocess::decision::Decision;

use super::{Prepared, PreparedMedia, Service, ServiceError};

impl Service {
    /// Writes a decision of one question, about text alone, as a fitted head reads it: cut by `cut`, options in the
    /// caller's order.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_for_head(&self, decision: &Decision, cut: PromptCut) -> Result<Prepared, ServiceError> {
        let options = self.encoding_for_head(cut);
        let media = PreparedMedia::default();
        self.encode(decision, media, options, &Readout::Slot, Instant::now())
    }

    /// The hidden state at the last position of each prompt, from one forward pass: row i is that of `prompts[i]`. What all
    /// prompts start with is computed once.
    ///
    /// # Errors
    /// A prompt is empty or too long, or the engine fails.
    pub fn hidden_states(&self, prompts: &[Vec<TokenId>]) -> Result<HiddenStates, ServiceError> {
        let mut batch = PackedBatch::new();
        let shared = shared_start(prompts);
        let parent = match prompts.first().and_then(|prompt| prompt.get(..shared)) {
            Some(start) if !start.is_empty() => Some(batch.push_segment(None, start)?),
            _ => None,
        };
        for prompt in prompts {
            let rest = prompt.get(shared..).unwrap_or_default();
            let segment = batch.push_segment(parent, rest)?;
            batch.read_last(segment)?;
        }
        Ok(self.backbone.forward(&batch)?)
    }
}

impl Prepared {
    /// The tokens of the first question's prompt, state first: all that its hidden state depends on.
    pub fn prompt(&self) -> Vec<TokenId> {
        let Some(encoded) = self.groups.first().map(|group| &group.encoded) else {
            return Vec::new();
        };
        let question = encoded.questions.first();
        let order = question.and_then(|question| question.orders.first());
        let behind = order.map_or(&[][..], |order| &order.tokens);
        [&encoded.state[..], behind].concat()
    }
}

/// Tokens that all prompts start with; at least one of each is left.
fn shared_start(prompts: &[Vec<TokenId>]) -> usize {
    let (Some(first), true) = (prompts.first(), prompts.len() > 1) else {
        return 0;
    };
    let common = |prompt: &Vec<TokenId>| {
        let equal = first.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        equal.min(prompt.len().saturating_sub(1))
    };
    prompts.iter().map(common).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_keeps_a_token_of_its_own() {
        for (prompts, shared) in [
            (vec![vec![1, 2, 3], vec![1, 2, 4]], 2),
            (vec![vec![1, 2, 3], vec![1, 2]], 1),
            (vec![vec![1, 2], vec![1, 2]], 1),
            (vec![vec![1], vec![1]], 0),
            (vec![vec![1, 2], vec![3]], 0),
            (vec![vec![1, 2]], 0),
            (vec![], 0),
        ] {
            assert_eq!(shared_start(&prompts), shared, "{prompts:?}");
        }
    }
}
