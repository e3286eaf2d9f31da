//! One-token labels: `A` to `Z`, then `AA` to `ZZ`, then numbers, as far as the tokenizer has them as one token.

use std::borrow::Cow;
use std::collections::HashSet;

use super::template::Template;
use super::writer::Writer;
use crate::tokenizer::Place;
use crate::{PromptError, TokenId};

/// The labels of a question's shown places.
pub(super) struct Labels {
    /// What is shown, one per shown place.
    pub(super) texts: Vec<String>,
    /// The token of each, where every one has its own.
    pub(super) tokens: Option<Vec<TokenId>>,
}

impl Labels {
    /// The first `count` labels that are one token behind the question. Too few: plain numbers without tokens.
    pub(super) fn new(
        writer: &Writer<'_>,
        label: &Template,
        place: Place,
        count: usize,
    ) -> Result<Self, PromptError> {
        let mut texts = Vec::with_capacity(count);
        let mut tokens = Vec::with_capacity(count);
        let mut seen = HashSet::new();
        for text in alphabet() {
            if texts.len() == count {
                break;
            }
            let ids = writer.write(place, label, |_| Cow::Borrowed(text.as_str()))?;
            if let [token] = ids[..]
                && seen.insert(token)
            {
                tokens.push(token);
                texts.push(text);
            }
        }
        if texts.len() == count {
            return Ok(Self {
                texts,
                tokens: Some(tokens),
            });
        }
        Ok(Self {
            texts: (1..=count).map(|number| number.to_string()).collect(),
            tokens: None,
        })
    }
}

fn alphabet() -> impl Iterator<Item = String> {
    let letters = || 'A'..='Z';
    letters()
        .map(String::from)
        .chain(
            letters().flat_map(move |first| letters().map(move |second| String::from_iter([first, second]))),
        )
        .chain((1..1000).map(|number: u32| number.to_string()))
}
