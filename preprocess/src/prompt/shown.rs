//! A question as text in every order of its options: all that a prompt needs but the state.

use std::borrow::Cow;

use super::PromptForm;
use super::encoded::EncodedOrder;
use super::labels::Labels;
use super::options::{AskedQuestion, ShownOption, shown_name};
use super::template::{Slot, Template};
use super::writer::{Writer, place_behind};
use crate::tokenizer::Place;
use crate::{PromptError, TokenId};

/// A question in every order that is averaged over, as text that only lacks the state.
pub(super) struct ShownQuestion<'a> {
    pub(super) template: &'a Template,
    pub(super) options: usize,
    pub(super) orders: Vec<ShownOrder<'a>>,
}

/// One order of a question's options.
pub(super) struct ShownOrder<'a> {
    instructions: Cow<'a, str>,
    listing: String,
    names: String,
    labels: String,
    order: Vec<usize>,
    label_tokens: Option<Vec<TokenId>>,
    branches: Vec<Vec<TokenId>>,
}

impl<'a> ShownQuestion<'a> {
    pub(super) fn new(
        form: &PromptForm,
        writer: &Writer<'_>,
        asked: &AskedQuestion<'a>,
        order_averages: usize,
    ) -> Result<Self, PromptError> {
        let count = asked.options.len();
        let place = place_behind(&asked.form.question);
        let labels = form
            .label
            .as_ref()
            .map(|label| Labels::new(writer, label, place, count))
            .transpose()?;
        let orders = order_averages.min(count);
        let orders = (0..orders)
            .map(|average| {
                let mut order = asked.order.clone();
                order.rotate_left(average * count / orders);
                ShownOrder::new(form, writer, asked, order, labels.as_ref(), place)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            template: &asked.form.question,
            options: count,
            orders,
        })
    }
}

impl<'a> ShownOrder<'a> {
    fn new(
        form: &PromptForm,
        writer: &Writer<'_>,
        asked: &AskedQuestion<'a>,
        order: Vec<usize>,
        labels: Option<&Labels>,
        place: Place,
    ) -> Result<Self, PromptError> {
        let shape = asked.form;
        // Label and shown place of each of the caller's options.
        let mut place_of = vec![("", 0); order.len()];
        let mut label_tokens = labels.and_then(|labels| labels.tokens.clone());
        for (shown, &option) in order.iter().enumerate() {
            let text = labels
                .and_then(|labels| labels.texts.get(shown))
                .map_or("", String::as_str);
            if let Some(slot) = place_of.get_mut(option) {
                *slot = (text, shown);
            }
            let token = labels.and_then(|labels| labels.tokens.as_ref()?.get(shown).copied());
            if let (Some(token), Some(slot)) = (
                token,
                label_tokens.as_mut().and_then(|tokens| tokens.get_mut(option)),
            ) {
                *slot = token;
            }
        }
        let numbered = || {
            asked
                .options
                .iter()
                .zip(&place_of)
                .enumerate()
                .map(|(index, (option, (label, shown)))| PlacedOption {
                    option,
                    label,
                    index,
                    shown: *shown,
                })
        };
        let in_order = || order.iter().filter_map(|&option| numbered().nth(option));
        let listed = |text| {
            if form.quoted_names {
                shown_name(text)
            } else {
                Cow::Borrowed(text)
            }
        };

        let mut listing = String::new();
        for placed in in_order() {
            let template = chosen(placed.option, &shape.option_line, shape.described_line.as_ref());
            template.fill(|slot| placed.value(slot, listed), &mut listing);
        }
        let names = enumeration(in_order().map(|placed| listed(&placed.option.name)));
        let shown_labels = enumeration(in_order().map(|placed| Cow::Borrowed(placed.label)));
        let branches = numbered()
            .map(|placed| {
                let template = chosen(placed.option, &shape.branch, shape.described_branch.as_ref());
                writer.write(place, template, |slot| placed.value(slot, Cow::Borrowed))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            instructions: asked.instructions.clone(),
            listing,
            names,
            labels: shown_labels,
            order,
            label_tokens,
            branches,
        })
    }

    /// Tokens of the longest option text.
    pub(super) fn longest_branch(&self) -> usize {
        self.branches.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// What fills a slot of the question's template.
    pub(super) fn value(&self, slot: Slot) -> Cow<'_, str> {
        match slot {
            Slot::Instructions => Cow::Borrowed(&*self.instructions),
            Slot::Options => Cow::Borrowed(&self.listing),
            Slot::Names => Cow::Borrowed(&self.names),
            Slot::Labels => Cow::Borrowed(&self.labels),
            Slot::Count => Cow::Owned(self.order.len().to_string()),
            _ => Cow::Borrowed(""),
        }
    }

    /// The encoded order, given the tokens that follow the state.
    pub(super) fn with_tokens(&self, tokens: Vec<TokenId>) -> EncodedOrder {
        EncodedOrder {
            order: self.order.clone(),
            tokens,
            labels: self.label_tokens.clone(),
            branches: self.branches.clone(),
        }
    }
}

/// An option where it stands: its label, its index in the caller's order and its shown place, both from 0.
struct PlacedOption<'v> {
    option: &'v ShownOption<'v>,
    label: &'v str,
    index: usize,
    shown: usize,
}

impl<'v> PlacedOption<'v> {
    /// What fills a slot of an option's templates; `shown` is how its texts are written.
    fn value(&self, slot: Slot, shown: impl Fn(&'v str) -> Cow<'v, str>) -> Cow<'v, str> {
        match slot {
            Slot::Option => shown(&self.option.name),
            Slot::Description => shown(self.option.description.as_deref().unwrap_or_default()),
            Slot::Label => Cow::Borrowed(self.label),
            Slot::Index => Cow::Owned(self.index.to_string()),
            Slot::Number => Cow::Owned((self.shown + 1).to_string()),
            _ => Cow::Borrowed(""),
        }
    }
}

/// The template for an option: its own one where it has a description and the form one for that.
fn chosen<'t>(
    option: &ShownOption<'_>,
    plain: &'t Template,
    described: Option<&'t Template>,
) -> &'t Template {
    match (described, &option.description) {
        (Some(described), Some(_)) => described,
        _ => plain,
    }
}

/// "a", "a or b", "a, b or c".
fn enumeration<'v>(names: impl Iterator<Item = Cow<'v, str>>) -> String {
    let names: Vec<_> = names.collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
