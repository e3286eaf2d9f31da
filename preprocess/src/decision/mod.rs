//! The protocol-neutral decision request: a state, and questions with ordered options.

mod content;
mod question;

pub use content::Content;
pub use question::{MAX_OPTIONS, Question, QuestionOption, Shape};

/// A request: one state and every question that is asked about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is being judged.
    pub state: Content,
    /// The questions, in the caller's order; answers come back in the same order.
    pub questions: Vec<Question>,
}
