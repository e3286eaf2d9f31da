//! Cutting a state to the context: an explicit policy, counted, never silent.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::PromptForm;
use super::writer::Writer;
use crate::{Excess, PromptError};

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

/// What the prompt around a state leaves room for.
pub(super) struct Room {
    /// Most tokens on one path.
    pub(super) context: usize,
    /// What happens to a state that does not fit.
    pub(super) truncate: Truncate,
    /// Tokens on the longest path that are there beside the state's own, whatever the state.
    pub(super) certain: usize,
    /// What to shorten where even an empty state does not fit.
    pub(super) fixed: Excess,
}

/// A prompt around some state.
pub(super) struct Written<T> {
    pub(super) written: T,
    /// Tokens of its longest path.
    pub(super) longest_path: usize,
}

/// A prompt that fits.
pub(super) struct Fitted<T> {
    pub(super) written: T,
    /// Tokens of the state that were dropped.
    pub(super) truncated_tokens: usize,
}

/// Writes the prompt around as much of the state as fits; `write` gives the prompt around a text.
///
/// # Errors
/// The state does not fit and the policy forbids to cut it, or the rest alone does not fit.
pub(super) fn fit_state<T>(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    room: &Room,
    write: impl Fn(&str) -> Result<Written<T>, PromptError>,
) -> Result<Fitted<T>, PromptError> {
    let bare = write("")?.longest_path;
    if bare > room.context {
        return Err(PromptError::TooLong {
            needed: bare,
            at_least: !state.is_empty(),
            allowed: room.context,
            excess: room.fixed,
        });
    }
    let allowed = room.context.saturating_sub(room.certain);
    let too_long = |needed: usize, at_least| PromptError::TooLong {
        needed,
        at_least,
        allowed: room.context,
        excess: Excess::State,
    };
    let refuses = room.truncate == Truncate::Error;
    // A far too long state is refused before work is spent on it, and never held as tokens.
    let fewest = writer.tokenizer.fewest_tokens(state);
    if refuses && fewest > allowed {
        return Err(too_long(fewest + room.certain, true));
    }
    let enough = if refuses { allowed } else { usize::MAX };
    let counted = writer
        .tokenizer
        .count_if_long(state, enough)?
        .filter(|count| count.at_least > allowed);
    let tokens = match counted {
        Some(count) if refuses => return Err(too_long(count.at_least + room.certain, true)),
        Some(count) => count.tokens + bare,
        None => {
            let whole = write(state)?;
            if whole.longest_path <= room.context {
                return Ok(Fitted {
                    written: whole.written,
                    truncated_tokens: 0,
                });
            }
            if refuses {
                return Err(too_long(whole.longest_path, false));
            }
            whole.longest_path
        }
    };
    let cut = cut_state(form, writer, state, room, allowed, write)?;
    Ok(Fitted {
        truncated_tokens: tokens.saturating_sub(cut.longest_path),
        written: cut.written,
    })
}

/// The prompt around the longest state that the policy leaves; at most `allowed` tokens of it can fit.
fn cut_state<T>(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    room: &Room,
    allowed: usize,
    write: impl Fn(&str) -> Result<Written<T>, PromptError>,
) -> Result<Written<T>, PromptError> {
    let policy = room.truncate;
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
        let prompt = write(&cut)?;
        if prompt.longest_path <= room.context || keep == 0 {
            return Ok(prompt);
        }
        keep = keep.saturating_sub(prompt.longest_path - room.context);
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
