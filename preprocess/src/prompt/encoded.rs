//! A decision as token ids, before it is packed for a forward pass.

use crate::TokenId;

/// One state and its questions as token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedDecision {
    /// The state template, filled: the tokens that every question shares. May be empty in forms that start with
    /// nothing but an empty state.
    pub state: Vec<TokenId>,
    /// Where soft tokens stand in `state`: one run per picture, frame and sound, in order. The ids there are those of the
    /// form's place-holding tokens.
    pub soft_runs: Vec<SoftRun>,
    /// The state template with an empty state, where it was asked for.
    pub prior_state: Option<Vec<TokenId>>,
    /// Tokens of the state that a truncation policy dropped.
    pub truncated_tokens: usize,
    /// The questions, in the caller's order.
    pub questions: Vec<EncodedQuestion>,
}

/// Consecutive places of a state that the soft tokens of one picture, frame or sound take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftRun {
    /// The first place, counted in tokens of the state.
    pub start: usize,
    /// Number of places.
    pub len: usize,
}

/// One question in every option order that is averaged over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedQuestion {
    /// Number of options.
    pub options: usize,
    /// One per option order; at least one.
    pub orders: Vec<EncodedOrder>,
}

/// One question with its options shown in one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedOrder {
    /// The caller's option at each shown place.
    pub order: Vec<usize>,
    /// What follows the state; never empty. The answer is read at its last token.
    pub tokens: Vec<TokenId>,
    /// The one-token label of each of the caller's options; `None` where the form has no labels or the tokenizer too
    /// few one-token ones.
    pub labels: Option<Vec<TokenId>>,
    /// Each of the caller's options as its own text, terminator included; never empty.
    pub branches: Vec<Vec<TokenId>>,
}

impl EncodedDecision {
    /// Tokens of the longest path from the first token to an option's last but one, which is the last that a forward
    /// pass reads.
    pub fn longest_path(&self) -> usize {
        self.state.len()
            + self
                .questions
                .iter()
                .map(EncodedQuestion::longest_path)
                .max()
                .unwrap_or(0)
    }
}

impl EncodedQuestion {
    /// A question of `options` options. A form that does not show them has one order only: the same prompt need not be
    /// read twice.
    pub(super) fn new(options: usize, mut orders: Vec<EncodedOrder>) -> Self {
        if let [first, others @ ..] = orders.as_slice()
            && others.iter().all(|other| {
                other.tokens == first.tokens
                    && other.labels == first.labels
                    && other.branches == first.branches
            })
        {
            orders.truncate(1);
        }
        Self { options, orders }
    }

    /// Tokens of the longest path below the state.
    pub fn longest_path(&self) -> usize {
        let of_order = |order: &EncodedOrder| {
            let branch = order.branches.iter().map(Vec::len).max().unwrap_or(0);
            order.tokens.len() + branch.saturating_sub(1)
        };
        self.orders.iter().map(of_order).max().unwrap_or(0)
    }
}
