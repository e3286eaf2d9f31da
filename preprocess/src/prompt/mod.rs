//! Prompt forms: how a decision is written for a model.
//!
//! A form is data (JSON): one template for the state, which all questions share, one per question shape for the text
//! behind it, and one for an option's own text as the answer. The ends of the state, of a question and of an option
//! are token boundaries by design; inside each, literal text and caller text are tokenised together, so that the ids
//! equal the reference tokenizer's on the same string. In a joined form the end of the state is no boundary: state and
//! question are tokenised as one text, and questions share the tokens that come out equal.
//!
//! Caller text can forge nothing: special tokens come from the form's literals only, and an option whose name could
//! be taken for more than one line is shown quoted (see [`shown_name`]).

mod built_in;
mod encode;
mod encoded;
mod form;
mod groups;
mod joined;
mod labels;
mod marked;
mod media_form;
mod options;
mod shown;
mod template;
mod trim;
mod truncate;
mod writer;

pub use encode::EncodeOptions;
pub use encoded::{EncodedDecision, EncodedOrder, EncodedQuestion, SoftRun};
pub use form::{PREDICATE_FALSE, PREDICATE_TRUE, PromptForm};
pub use groups::EncodedGroup;
pub use marked::MarkedPrompt;
pub use media_form::{AudioForm, FrameOutline, FrameScale, ImageForm, MediaForm, MediumOutline, VideoForm};
pub use options::shown_name;
pub use trim::Trim;
pub use truncate::Truncate;
