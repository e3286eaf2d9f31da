//! Writes filled templates as token ids: text between special tokens is tokenised in one piece.

use std::borrow::Cow;

use super::PromptForm;
use super::encoded::SoftRun;
use super::media_form::{MediumOutline, clock};
use super::template::{Piece, Slot, Template};
use crate::tokenizer::Place;
use crate::{PromptError, PromptTokenizer, TokenId};

/// The ids of a medium's marks.
#[derive(Clone, Copy)]
struct Marks {
    open: TokenId,
    token: TokenId,
    close: TokenId,
}

/// A tokenizer, and the ids of a form's special tokens in it.
pub(super) struct Writer<'t> {
    pub(super) tokenizer: &'t PromptTokenizer,
    form: &'t PromptForm,
    specials: Vec<TokenId>,
    image: Option<Marks>,
    audio: Option<Marks>,
    video: Option<Marks>,
}

/// Token ids, and which of them stand for soft tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) ids: Vec<TokenId>,
    pub(super) soft_runs: Vec<SoftRun>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(form: &'t PromptForm, tokenizer: &'t PromptTokenizer) -> Result<Self, PromptError> {
        let id = |token: &str| {
            tokenizer
                .special(token)
                .ok_or_else(|| PromptError::MissingSpecialToken {
                    form: form.name.clone(),
                    token: token.to_owned(),
                })
        };
        let specials = form
            .special_tokens
            .iter()
            .map(|token| id(token))
            .collect::<Result<_, _>>()?;
        let marks = |open: &str, token: &str, close: &str| {
            Ok::<_, PromptError>(Marks {
                open: id(open)?,
                token: id(token)?,
                close: id(close)?,
            })
        };
        let media = form.media.as_ref();
        let image = media.and_then(|media| media.image.as_ref());
        let audio = media.and_then(|media| media.audio.as_ref());
        let video = media.and_then(|media| media.video.as_ref());
        Ok(Self {
            tokenizer,
            form,
            specials,
            image: image
                .map(|form| marks(&form.open, &form.token, &form.close))
                .transpose()?,
            audio: audio
                .map(|form| marks(&form.open, &form.token, &form.close))
                .transpose()?,
            video: video
                .map(|form| marks(&form.open, &form.token, &form.close))
                .transpose()?,
        })
    }

    /// The ids of `template`, filled, at `place`; for templates without media.
    pub(super) fn write<'v>(
        &self,
        place: Place,
        template: &Template,
        value: impl Fn(Slot) -> Cow<'v, str>,
    ) -> Result<Vec<TokenId>, PromptError> {
        let mut composer = Composer::new(self, place);
        composer.template(template, value, &[])?;
        Ok(composer.finish()?.ids)
    }
}

/// Collects text, special tokens and soft tokens in order; text is tokenised when something else follows it.
pub(super) struct Composer<'w, 't> {
    writer: &'w Writer<'t>,
    place: Place,
    text: String,
    /// Where the caller's text starts in `text`: behind the media.
    caller_from: Option<usize>,
    sequence: Sequence,
}

impl<'w, 't> Composer<'w, 't> {
    pub(super) fn new(writer: &'w Writer<'t>, place: Place) -> Self {
        Self {
            writer,
            place,
            text: String::new(),
            caller_from: None,
            sequence: Sequence::default(),
        }
    }

    /// Appends `template`, filled; `media` stands at its slot `{media}`.
    pub(super) fn template<'v>(
        &mut self,
        template: &Template,
        value: impl Fn(Slot) -> Cow<'v, str>,
        media: &[MediumOutline],
    ) -> Result<(), PromptError> {
        for piece in template.pieces() {
            match piece {
                Piece::Text(literal) => self.text.push_str(literal),
                Piece::Slot(Slot::Media) => {
                    for (index, medium) in media.iter().enumerate() {
                        self.medium(index, medium)?;
                    }
                    self.caller_from = Some(self.text.len());
                }
                Piece::Slot(slot) => self.text.push_str(&value(*slot)),
                Piece::Special(index) => {
                    // Every index was made from this list.
                    if let Some(id) = self.writer.specials.get(*index).copied() {
                        self.special(id)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends text.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Runs of soft tokens so far.
    pub(super) fn runs(&self) -> usize {
        self.sequence.soft_runs.len()
    }

    /// The ids of everything that was appended.
    pub(super) fn finish(mut self) -> Result<Sequence, PromptError> {
        self.flush()?;
        Ok(self.sequence)
    }

    /// Appends a medium with its marks.
    pub(super) fn medium(&mut self, index: usize, medium: &MediumOutline) -> Result<(), PromptError> {
        let marks = match medium {
            MediumOutline::Image { .. } => self.writer.image,
            MediumOutline::Audio { .. } => self.writer.audio,
            MediumOutline::Video { .. } => self.writer.video,
        };
        let Some(marks) = marks else {
            return Err(PromptError::MediumUnknown {
                medium: index,
                kind: medium.kind(),
                form: self.writer.form.name.clone(),
            });
        };
        match medium {
            MediumOutline::Image { soft_tokens } | MediumOutline::Audio { soft_tokens } => {
                self.soft(index, medium.kind(), marks, *soft_tokens)
            }
            MediumOutline::Video { frames } => {
                let media = self.writer.form.media.as_ref();
                let times = media
                    .and_then(|media| media.video.as_ref())
                    .is_some_and(|video| video.times);
                if frames.is_empty() {
                    return Err(PromptError::EmptyMedium {
                        medium: index,
                        kind: medium.kind(),
                    });
                }
                for (number, frame) in frames.iter().enumerate() {
                    if times {
                        let gap = if number == 0 { "" } else { " " };
                        self.text.push_str(&format!("{gap}{} ", clock(frame.seconds)));
                    }
                    self.soft(index, medium.kind(), marks, frame.soft_tokens)?;
                }
                Ok(())
            }
        }
    }

    fn soft(
        &mut self,
        medium: usize,
        kind: &'static str,
        marks: Marks,
        count: usize,
    ) -> Result<(), PromptError> {
        if count == 0 {
            return Err(PromptError::EmptyMedium { medium, kind });
        }
        self.special(marks.open)?;
        self.sequence.soft_runs.push(SoftRun {
            start: self.sequence.ids.len(),
            len: count,
        });
        self.sequence.ids.extend(std::iter::repeat_n(marks.token, count));
        self.special(marks.close)
    }

    /// Appends a special token.
    pub(super) fn special(&mut self, id: TokenId) -> Result<(), PromptError> {
        self.flush()?;
        self.sequence.ids.push(id);
        self.place = Place::AfterSpecial;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PromptError> {
        if let Some(from) = self.caller_from.take() {
            let (before, caller) = self.text.split_at_checked(from).unwrap_or((&self.text, ""));
            let kept = self.writer.form.trim.apply(caller);
            if kept.len() != caller.len() {
                self.text = format!("{before}{kept}");
            }
        }
        self.writer
            .tokenizer
            .encode_at(self.place, &self.text, &mut self.sequence.ids)?;
        if !self.text.is_empty() {
            self.place = Place::Continues;
            self.text.clear();
        }
        Ok(())
    }
}

/// The place of what follows `template`.
pub(super) fn place_behind(template: &Template) -> Place {
    if template.ends_with_special() {
        Place::AfterSpecial
    } else {
        Place::Continues
    }
}
