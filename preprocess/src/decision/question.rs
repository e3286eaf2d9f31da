//! A question and its ordered options: choice, predicate or score.

use super::Content;

/// Most options that one question may have.
pub const MAX_OPTIONS: usize = 256;

/// One option of a choice, or one level of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionOption {
    /// The option's own text, exactly as the caller wrote it.
    pub name: String,
    /// What the option means, where the caller explained it.
    pub description: Option<Content>,
}

/// What is asked for. All shapes are an ordered list of options to the model; only the reading back differs.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// One of several options.
    Choice(Vec<QuestionOption>),
    /// True or false; the answer is the probability of true.
    Predicate {
        /// What counts as true, where the caller said so.
        when_true: Option<Content>,
        /// What counts as false, where the caller said so.
        when_false: Option<Content>,
    },
    /// Ordered levels, lowest first; the answer is the expected level.
    Score(Vec<Content>),
}

/// One question about the state.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question in words; `None` where the options alone say what is asked.
    pub instructions: Option<Content>,
    /// The kind of answer and its options.
    pub shape: Shape,
}
