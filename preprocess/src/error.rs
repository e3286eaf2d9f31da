//! The error type of this crate.

/// What makes a request longer than the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The state, which a `truncate` policy may cut.
    State,
    /// A question, by its index in the request: it does not fit even without a state.
    Question(usize),
    /// The media, of so many soft tokens in all: they do not fit even without a text.
    Media(usize),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Excess::State => f.write_str("the state"),
            Excess::Question(index) => write!(f, "question {index}, or its options"),
            Excess::Media(soft_tokens) => write!(f, "the media ({soft_tokens} soft tokens), or send fewer"),
        }
    }
}

/// Everything that can go wrong between a decision request and token ids.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The tokenizer file is damaged, or asks for something that cannot be repeated exactly.
    #[error("tokenizer.json: {0}")]
    TokenizerFile(String),
    /// The tokenizer failed on a text.
    #[error("tokenising {bytes} bytes of text: {reason}")]
    Tokenize {
        /// Length of the text.
        bytes: usize,
        /// What the tokenizer said.
        reason: String,
    },
    /// A text can only be tokenised into a special token, which is never done.
    #[error(
        "the text {text:?} can only be written with the special token {token:?} in this model's tokenizer: \
         remove it"
    )]
    SpecialFromText {
        /// The piece of text.
        text: String,
        /// The special token that it would become.
        token: String,
    },
    /// A prompt form is not valid.
    #[error("prompt form {form:?}, field `{field}`: {reason}")]
    Form {
        /// The form's name.
        form: String,
        /// The field at fault.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A prompt form names a special token that the tokenizer does not have.
    #[error(
        "prompt form {form:?} needs the special token {token:?}, which this model's tokenizer lacks: \
         choose a form made for this model"
    )]
    MissingSpecialToken {
        /// The form's name.
        form: String,
        /// The token's text.
        token: String,
    },
    /// A medium of a kind that the form cannot show.
    #[error("medium {medium} is {kind}, which this model does not take: its prompt form {form:?} shows none")]
    MediumUnknown {
        /// Index of the medium in the request, from 0.
        medium: usize,
        /// Its kind.
        kind: &'static str,
        /// The form's name.
        form: String,
    },
    /// A medium without a soft token.
    #[error("medium {medium} ({kind}) is empty: it gives the model nothing to see or hear")]
    EmptyMedium {
        /// Index of the medium in the request, from 0.
        medium: usize,
        /// Its kind.
        kind: &'static str,
    },
    /// The request asks nothing.
    #[error("`questions` is empty: ask at least one question")]
    NoQuestions,
    /// A question cannot be asked as it stands.
    #[error("question {question}: {reason}")]
    Question {
        /// Index of the question in the request, from 0.
        question: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// One option of a question is at fault.
    #[error("question {question}, option {option}: {reason}")]
    Option {
        /// Index of the question in the request, from 0.
        question: usize,
        /// Index of the option in the question, from 0.
        option: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// `order_averages` is out of range.
    #[error("`order_averages` is {0}: use 1 for the caller's order alone, or more to average over orders")]
    OrderAverages(usize),
    /// The prompt does not fit the context of the model.
    #[error(
        "the request needs {}{needed} tokens and the context holds {allowed}: shorten {excess}",
        if *.at_least { "at least " } else { "" },
    )]
    TooLong {
        /// Tokens on the longest path: state, one question, one option.
        needed: usize,
        /// Whether `needed` is a lower bound: far too long texts are refused before they are tokenised.
        at_least: bool,
        /// The context.
        allowed: usize,
        /// What has to be shorter.
        excess: Excess,
    },
}
