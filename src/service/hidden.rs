//! Hidden states of prompts: what a head is fitted on.

use std::time::Instant;

use assize_heads::fitted_head::PromptCut;
use assize_heads::{PackedDecision, Readout};
use assize_models::{PackedBatch, TokenId};
use assize_preprocess::decision::Decision;

use super::{Prepared, PreparedMedia, Service, ServiceError};

impl Service {
    /// Writes a decision of one question as a fitted head reads it: cut by `cut`, options in the caller's order.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_for_head(&self, decision: &Decision, cut: PromptCut) -> Result<Prepared, ServiceError> {
        self.encode(
            decision,
            PreparedMedia::default(),
            self.encoding_for_head(cut),
            &Readout::Slot,
            Instant::now(),
        )
    }

    /// The hidden state at the last position of each prompt, from one forward pass; `[decisions, width]`. Of a decision of
    /// several questions, that of the first.
    ///
    /// # Errors
    /// A decision cannot be packed, or the engine fails.
    pub fn hidden_states(&self, decisions: &[&Prepared]) -> Result<Vec<Vec<f32>>, ServiceError> {
        let mut batch = PackedBatch::new();
        let packed = decisions
            .iter()
            .map(|prepared| {
                let asked = prepared.groups.first().map(|group| &group.encoded);
                let asked = asked.ok_or(ServiceError::Mismatch {
                    what: "questions",
                    asked: 1,
                    scored: 0,
                })?;
                let media = &prepared.media.media;
                Ok(PackedDecision::pack(asked, media, &Readout::Slot, &mut batch)?)
            })
            .collect::<Result<Vec<_>, ServiceError>>()?;
        let hidden = self.backbone.forward(&batch)?;
        packed
            .iter()
            .map(|packed| {
                let first = packed.last_hidden(&hidden)?.first().map(|row| row.to_vec());
                first.ok_or(ServiceError::Mismatch {
                    what: "questions",
                    asked: 1,
                    scored: 0,
                })
            })
            .collect()
    }
}

impl Prepared {
    /// The tokens of the first question's prompt, state first: all that its hidden state depends on.
    pub fn prompt(&self) -> impl Iterator<Item = TokenId> + '_ {
        let encoded = self.groups.first().map(|group| &group.encoded);
        let state = encoded.into_iter().flat_map(|encoded| &encoded.state);
        let order = encoded
            .and_then(|encoded| encoded.questions.first())
            .and_then(|question| question.orders.first());
        state
            .chain(order.into_iter().flat_map(|order| &order.tokens))
            .copied()
    }
}
