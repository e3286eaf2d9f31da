//! The error type of this crate.

use std::path::PathBuf;

use assize_models::ModelError;

/// Everything that can go wrong between an encoded decision and option scores.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// A readout's settings are not valid.
    #[error("readout, field `{field}`: {reason}")]
    Readout {
        /// The field at fault.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A label readout was asked of a question without one-token labels.
    #[error(
        "question {question}: its {options} options have no one-token labels in this prompt form and tokenizer: \
         ask with fewer options, or use the text readout"
    )]
    NoLabels {
        /// Index of the question in the request, from 0.
        question: usize,
        /// Number of options.
        options: usize,
    },
    /// A question has more options than the slot head has slots, or too few to decide between.
    #[error("question {question}: it has {options} options and this model's head takes 2 to {slots}")]
    Slots {
        /// Index of the question in the request, from 0.
        question: usize,
        /// Number of options.
        options: usize,
        /// Slots of the head.
        slots: usize,
    },
    /// A slot head was made for hidden states of another width.
    #[error(
        "the head reads hidden states of {head} numbers and the model gives {model}: it belongs to another model"
    )]
    Width {
        /// Width that the head reads.
        head: usize,
        /// Width of the model.
        model: usize,
    },
    /// A slot readout without a head.
    #[error("the slot readout needs a head, and there is none: put head.safetensors into the model folder")]
    NoHead,
    /// A head's file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A head's file is no head.
    #[error("{path}: not a slot head: {reason}")]
    HeadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A fitted head's card is missing a field, contradicts itself or its numbers.
    #[error("{path}: not a head's card: {reason}")]
    HeadCard {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A question that the fitted head is not for.
    #[error("question {question}: {reason}: ask exactly that, or start without --head")]
    NotFitted {
        /// Index of the question in the request, from 0.
        question: usize,
        /// What differs, with both sides.
        reason: String,
    },
    /// A head could not be fitted.
    #[error("fitting a head: {0}")]
    Fit(String),
    /// The media of a decision are not those that its prompt has places for.
    #[error("the media do not fit the prompt: {0}")]
    Media(String),
    /// A text readout that subtracts the prior was given a decision encoded without one.
    #[error(
        "the readout subtracts the score without the state, but the decision was encoded without `prior`"
    )]
    NoPrior,
    /// An encoded question has no tokens where there must be some.
    #[error("question {question}: {what} has no tokens")]
    NoTokens {
        /// Index of the question in the request, from 0.
        question: usize,
        /// What is empty.
        what: String,
    },
    /// An encoded question contradicts itself.
    #[error("question {question}: {reason}")]
    Malformed {
        /// Index of the question in the request, from 0.
        question: usize,
        /// What is wrong.
        reason: String,
    },
    /// The hidden states are not those of the batch that this decision was packed into.
    #[error("the forward pass returned no row {row}, which a question reads")]
    MissingRow {
        /// The read that has no row.
        row: u32,
    },
    /// The model gave a score that is no number.
    #[error(
        "question {question}, option {option}: its score is {value}; the model or its engine is at fault"
    )]
    NotFinite {
        /// Index of the question in the request, from 0.
        question: usize,
        /// Index of the option, from 0.
        option: usize,
        /// What came out.
        value: f64,
    },
    /// The batch or the backbone failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}
