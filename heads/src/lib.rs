//! Readouts: from the hidden states of one forward pass to one score per option.

mod error;
pub mod fit;
pub mod fitted_head;
mod option_trie;
mod packed_decision;
mod question_scores;
mod readout;
mod slot_head;

pub use error::HeadError;
pub use fitted_head::FittedHead;
pub use packed_decision::PackedDecision;
pub use question_scores::QuestionScores;
pub use readout::{Readout, Reduce};
pub use slot_head::SlotHead;
