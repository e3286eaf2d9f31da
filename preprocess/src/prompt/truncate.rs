//! Cutting a state to the context: an explicit policy, counted, never silent.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::PromptForm;
use super::template::Slot;
use super::writer::Writer;
use crate::tokenizer::Place;
use crate::{PromptError, TokenId};

/// Which part of a state that is too long is dropped. Questions and options are never cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truncate {
    /// None: the request is refused.
    #[default]
    Error,
    /// The start of the state.
    Start,
    /// The end of the state.
    End,
    /// The middle of the state; the form's `middle_gap` stands in its place.
    Middle,
}

impl std::str::FromStr for Truncate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(Truncate::Error),
            "start" => Ok(Truncate::Start),
            "end" => Ok(Truncate::End),
            "middle" => Ok(Truncate::Middle),
            other => Err(format!(
                "unknown policy {other:?}: use error, start, end or middle"
            )),
        }
    }
}

/// The ids of the state template around `state`.
pub(super) fn write_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
) -> Result<Vec<TokenId>, PromptError> {
    writer.write(Place::SequenceStart, &form.state, |slot| match slot {
        Slot::State => Cow::Borrowed(state),
        _ => Cow::Borrowed(""),
    })
}

/// The longest state that the policy leaves within `allowed` tokens of the filled template; `None` if not even an
/// empty state fits.
pub(super) fn cut_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    policy: Truncate,
    allowed: usize,
) -> Result<Option<Vec<TokenId>>, PromptError> {
    let head = Part::of_start(writer, state, allowed)?;
    let tail = Part::of_end(writer, state, allowed)?;
    // The cut text is tokenised again, together with the template, so the number of kept tokens is found by trying.
    let mut keep = allowed.min(head.ends.len().max(tail.ends.len()));
    loop {
        let cut: Cow<'_, str> = match policy {
            Truncate::Start => tail.last(keep).into(),
            Truncate::End | Truncate::Error => head.first(keep).into(),
            Truncate::Middle if keep == 0 => "".into(),
            Truncate::Middle => {
                let behind = keep / 2;
                format!(
                    "{}{}{}",
                    head.first(keep - behind),
                    form.middle_gap,
                    tail.last(behind)
                )
                .into()
            }
        };
        let ids = write_state(form, writer, &cut)?;
        if ids.len() <= allowed {
            return Ok(Some(ids));
        }
        if keep == 0 {
            return Ok(None);
        }
        keep = keep.saturating_sub((ids.len() - allowed).max(1));
    }
}

/// One end of the state, long enough for all that could be kept, and where its tokens end.
struct Part<'s> {
    text: &'s str,
    ends: Vec<usize>,
}

impl<'s> Part<'s> {
    fn of_start(writer: &Writer<'_>, state: &'s str, tokens: usize) -> Result<Self, PromptError> {
        let bytes = writer.tokenizer.most_bytes(tokens).unwrap_or(state.len());
        let text = state.get(..state.floor_char_boundary(bytes)).unwrap_or(state);
        Ok(Self {
            ends: writer.tokenizer.token_ends(text)?,
            text,
        })
    }

    fn of_end(writer: &Writer<'_>, state: &'s str, tokens: usize) -> Result<Self, PromptError> {
        let bytes = writer.tokenizer.most_bytes(tokens).unwrap_or(state.len());
        let from = state.ceil_char_boundary(state.len().saturating_sub(bytes));
        let text = state.get(from..).unwrap_or(state);
        Ok(Self {
            ends: writer.tokenizer.token_ends(text)?,
            text,
        })
    }

    /// The text of the first `tokens` tokens.
    fn first(&self, tokens: usize) -> &'s str {
        let end = match tokens.checked_sub(1) {
            None => 0,
            Some(last) => self.ends.get(last).copied().unwrap_or(self.text.len()),
        };
        // Tokens inside one character share its end, so an end is a character boundary; floor for odd normalisers.
        self.text
            .get(..self.text.floor_char_boundary(end))
            .unwrap_or(self.text)
    }

    /// The text of the last `tokens` tokens.
    fn last(&self, tokens: usize) -> &'s str {
        let from = match self.ends.len().checked_sub(tokens) {
            None | Some(0) => 0,
            Some(dropped) => self.ends.get(dropped - 1).copied().unwrap_or(0),
        };
        self.text
            .get(self.text.ceil_char_boundary(from)..)
            .unwrap_or(self.text)
    }
}
