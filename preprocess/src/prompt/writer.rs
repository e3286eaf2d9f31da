//! Writes filled templates as token ids: text between special tokens is tokenised in one piece.

use std::borrow::Cow;

use super::PromptForm;
use super::template::{Piece, Slot, Template};
use crate::tokenizer::Place;
use crate::{PromptError, PromptTokenizer, TokenId};

/// A tokenizer, and the ids of a form's special tokens in it.
pub(super) struct Writer<'t> {
    pub(super) tokenizer: &'t PromptTokenizer,
    specials: Vec<TokenId>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(form: &PromptForm, tokenizer: &'t PromptTokenizer) -> Result<Self, PromptError> {
        let specials = form
            .special_tokens
            .iter()
            .map(|token| {
                tokenizer
                    .special(token)
                    .ok_or_else(|| PromptError::MissingSpecialToken {
                        form: form.name.clone(),
                        token: token.clone(),
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { tokenizer, specials })
    }

    /// The ids of `template`, filled, at `place`.
    pub(super) fn write<'v>(
        &self,
        place: Place,
        template: &Template,
        value: impl Fn(Slot) -> Cow<'v, str>,
    ) -> Result<Vec<TokenId>, PromptError> {
        let mut place = place;
        let mut ids = Vec::new();
        let mut text = String::new();
        for piece in template.pieces() {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Slot(slot) => text.push_str(&value(*slot)),
                Piece::Special(index) => {
                    self.tokenizer.encode_at(place, &text, &mut ids)?;
                    text.clear();
                    // Every index was made from this list.
                    ids.extend(self.specials.get(*index));
                    place = Place::AfterSpecial;
                }
            }
        }
        self.tokenizer.encode_at(place, &text, &mut ids)?;
        Ok(ids)
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
