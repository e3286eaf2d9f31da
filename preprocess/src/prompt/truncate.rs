//! Cutting a state to the context: an explicit policy, counted, never silent.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::template::Slot;
use super::writer::Writer;
use super::{EncodeOptions, PromptForm};
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

/// A state that fits.
pub(super) struct FittedState {
    pub(super) ids: Vec<TokenId>,
    pub(super) truncated_tokens: usize,
}

/// The longest question of a request: what the state must leave room for.
#[derive(Clone, Copy)]
pub(super) struct LongestQuestion {
    pub(super) index: usize,
    /// Tokens of its longest path below the state.
    pub(super) tokens: usize,
}

/// Writes the state so that it fits the context above the longest question.
///
/// # Errors
/// It does not fit and the policy forbids to cut it, or the question alone does not fit.
pub(super) fn fit_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    question: LongestQuestion,
    options: &EncodeOptions,
) -> Result<FittedState, PromptError> {
    let frame = write_state(form, writer, "")?.len();
    let Some(allowed) = options
        .context
        .checked_sub(question.tokens)
        .filter(|allowed| *allowed >= frame)
    else {
        return Err(PromptError::TooLong {
            needed: question.tokens + frame,
            at_least: !state.is_empty(),
            allowed: options.context,
            what: format!("question {}", question.index),
            state_can_be_cut: false,
        });
    };
    let too_long = |state_tokens: usize, at_least| PromptError::TooLong {
        needed: state_tokens + question.tokens,
        at_least,
        allowed: options.context,
        what: "the state".into(),
        state_can_be_cut: true,
    };
    let refuses = options.truncate == Truncate::Error;
    // A far too long state is refused before work is spent on it, and never held as tokens.
    let fewest = writer.tokenizer.fewest_tokens(state);
    if refuses && fewest > allowed {
        return Err(too_long(fewest, true));
    }
    let enough = if refuses { allowed } else { usize::MAX };
    let counted = writer
        .tokenizer
        .count_if_long(state, enough)?
        .filter(|count| count.at_least > allowed);
    let tokens = match counted {
        Some(count) if refuses => return Err(too_long(count.at_least, true)),
        Some(count) => count.tokens + frame,
        None => {
            let ids = write_state(form, writer, state)?;
            if ids.len() <= allowed {
                return Ok(FittedState {
                    ids,
                    truncated_tokens: 0,
                });
            }
            if refuses {
                return Err(too_long(ids.len(), false));
            }
            ids.len()
        }
    };
    let ids = cut_state(form, writer, state, options.truncate, allowed)?;
    Ok(FittedState {
        truncated_tokens: tokens.saturating_sub(ids.len()),
        ids,
    })
}

/// The longest state that the policy leaves within `allowed` tokens of the filled template.
fn cut_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    policy: Truncate,
    allowed: usize,
) -> Result<Vec<TokenId>, PromptError> {
    let head = match policy {
        Truncate::Start => Part::default(),
        _ => Part::of(writer, state, allowed, |text, bytes| {
            text.get(..text.floor_char_boundary(bytes))
        })?,
    };
    let tail = match policy {
        Truncate::End => Part::default(),
        _ => Part::of(writer, state, allowed, |text, bytes| {
            text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..)
        })?,
    };
    // The cut text is tokenised again, together with the template, so the number of kept tokens is found by trying.
    let mut keep = allowed.min(head.ends.len().max(tail.ends.len()));
    loop {
        let cut: Cow<'_, str> = match policy {
            _ if keep == 0 => "".into(),
            Truncate::Start => tail.last(keep).into(),
            Truncate::End | Truncate::Error => head.first(keep).into(),
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
        if ids.len() <= allowed || keep == 0 {
            return Ok(ids);
        }
        keep = keep.saturating_sub(ids.len() - allowed);
    }
}

/// One end of the state, long enough for all that could be kept, and where its tokens end.
#[derive(Default)]
struct Part<'s> {
    text: &'s str,
    ends: Vec<usize>,
}

impl<'s> Part<'s> {
    /// Takes as few bytes of an end of `state` as hold `tokens` tokens.
    fn of(
        writer: &Writer<'_>,
        state: &'s str,
        tokens: usize,
        take: impl Fn(&'s str, usize) -> Option<&'s str>,
    ) -> Result<Self, PromptError> {
        let mut bytes = tokens.saturating_mul(4);
        loop {
            let text = take(state, bytes).unwrap_or(state);
            let ends = writer.tokenizer.token_ends(text)?;
            if ends.len() > tokens || text.len() == state.len() {
                return Ok(Self { text, ends });
            }
            bytes = bytes.max(1).saturating_mul(4);
        }
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
