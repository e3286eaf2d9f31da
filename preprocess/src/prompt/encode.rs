//! From a decision to token ids.

use std::borrow::Cow;

use super::PromptForm;
use super::encoded::{EncodedDecision, EncodedOrder, EncodedQuestion};
use super::labels::Labels;
use super::options::{AskedQuestion, ShownOption, shown_name};
use super::template::{Slot, Template};
use super::truncate::{LongestQuestion, Truncate, fit_state, write_state};
use super::writer::{Writer, place_behind};
use crate::decision::Decision;
use crate::tokenizer::Place;
use crate::{PromptError, PromptTokenizer};

/// How a decision is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Most tokens on one path: the context of the model, or a lower limit of the server.
    pub context: usize,
    /// What happens to a state that does not fit.
    pub truncate: Truncate,
    /// Number of option orders that are averaged over: evenly spaced rotations of the shown order, at most one per
    /// option. 1 is the caller's order alone.
    pub order_averages: usize,
    /// Whether the state template with an empty state is wanted too, for a readout that subtracts it.
    pub prior: bool,
}

impl PromptForm {
    /// Writes `decision` as token ids.
    ///
    /// # Errors
    /// The form names a special token that the tokenizer lacks; a question is not valid (no or too many options, empty
    /// or duplicate names, nothing asked); the prompt does not fit the context; the tokenizer fails.
    pub fn encode(
        &self,
        tokenizer: &PromptTokenizer,
        decision: &Decision,
        options: &EncodeOptions,
    ) -> Result<EncodedDecision, PromptError> {
        if options.order_averages == 0 {
            return Err(PromptError::OrderAverages(0));
        }
        if decision.questions.is_empty() {
            return Err(PromptError::NoQuestions);
        }
        let writer = Writer::new(self, tokenizer)?;
        let asked = decision
            .questions
            .iter()
            .enumerate()
            .map(|(index, question)| AskedQuestion::new(self, question, index))
            .collect::<Result<Vec<_>, _>>()?;
        let questions = asked
            .iter()
            .map(|question| self.encode_question(&writer, question, options.order_averages))
            .collect::<Result<Vec<_>, _>>()?;
        let longest = questions
            .iter()
            .map(EncodedQuestion::longest_path)
            .enumerate()
            .max_by_key(|(_, tokens)| *tokens)
            .unwrap_or((0, 0));
        let longest = LongestQuestion {
            index: longest.0,
            tokens: longest.1,
        };
        let state = fit_state(self, &writer, &decision.state.to_text(), longest, options)?;
        Ok(EncodedDecision {
            state: state.ids,
            prior_state: options
                .prior
                .then(|| write_state(self, &writer, ""))
                .transpose()?,
            truncated_tokens: state.truncated_tokens,
            questions,
        })
    }

    fn encode_question(
        &self,
        writer: &Writer<'_>,
        asked: &AskedQuestion<'_>,
        order_averages: usize,
    ) -> Result<EncodedQuestion, PromptError> {
        let count = asked.options.len();
        let place = place_behind(&asked.form.question);
        let labels = self
            .label
            .as_ref()
            .map(|label| Labels::new(writer, label, place, count))
            .transpose()?;
        let orders = order_averages.min(count);
        let mut encoded: Vec<EncodedOrder> = Vec::with_capacity(orders);
        for average in 0..orders {
            let mut order = asked.order.clone();
            order.rotate_left(average * count / orders);
            encoded.push(self.encode_order(writer, asked, order, labels.as_ref(), place)?);
        }
        // A form that does not show the options has one order only: the same prompt need not be read twice.
        if let [first, others @ ..] = encoded.as_slice()
            && others.iter().all(|other| {
                other.tokens == first.tokens
                    && other.labels == first.labels
                    && other.branches == first.branches
            })
        {
            encoded.truncate(1);
        }
        Ok(EncodedQuestion {
            options: count,
            orders: encoded,
        })
    }

    fn encode_order(
        &self,
        writer: &Writer<'_>,
        asked: &AskedQuestion<'_>,
        order: Vec<usize>,
        labels: Option<&Labels>,
        place: Place,
    ) -> Result<EncodedOrder, PromptError> {
        let shape = asked.form;
        // The label of each of the caller's options, by the place where it is shown.
        let mut label_of = vec![""; order.len()];
        let mut tokens_of = labels.and_then(|labels| labels.tokens.clone());
        for (shown, &option) in order.iter().enumerate() {
            let text = labels
                .and_then(|labels| labels.texts.get(shown))
                .map_or("", String::as_str);
            if let Some(slot) = label_of.get_mut(option) {
                *slot = text;
            }
            let token = labels.and_then(|labels| labels.tokens.as_ref()?.get(shown).copied());
            if let (Some(token), Some(slot)) = (
                token,
                tokens_of.as_mut().and_then(|tokens| tokens.get_mut(option)),
            ) {
                *slot = token;
            }
        }
        let numbered = || asked.options.iter().zip(&label_of).enumerate();
        let in_order = || order.iter().filter_map(|&option| numbered().nth(option));

        let mut listing = String::new();
        for (index, (option, label)) in in_order() {
            let template = chosen(option, &shape.option_line, shape.described_line.as_ref());
            template.fill(
                |slot| option_value(slot, option, label, index, true),
                &mut listing,
            );
        }
        let names = enumeration(in_order().map(|(_, (option, _))| shown_name(&option.name)));
        let shown_labels = enumeration(in_order().map(|(_, (_, label))| Cow::Borrowed(*label)));
        let tokens = writer.write(place_behind(&self.state), &shape.question, |slot| match slot {
            Slot::Instructions => Cow::Borrowed(&*asked.instructions),
            Slot::Options => Cow::Borrowed(listing.as_str()),
            Slot::Names => Cow::Borrowed(names.as_str()),
            Slot::Labels => Cow::Borrowed(shown_labels.as_str()),
            _ => Cow::Borrowed(""),
        })?;
        let branches = numbered()
            .map(|(index, (option, label))| {
                let template = chosen(option, &shape.branch, shape.described_branch.as_ref());
                writer.write(place, template, |slot| {
                    option_value(slot, option, label, index, false)
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(EncodedOrder {
            order,
            tokens,
            labels: tokens_of,
            branches,
        })
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

fn option_value<'v>(
    slot: Slot,
    option: &'v ShownOption<'_>,
    label: &'v str,
    index: usize,
    listed: bool,
) -> Cow<'v, str> {
    let shown = |text: &'v str| {
        if listed {
            shown_name(text)
        } else {
            Cow::Borrowed(text)
        }
    };
    match slot {
        Slot::Option => shown(&option.name),
        Slot::Description => shown(option.description.as_deref().unwrap_or_default()),
        Slot::Label => Cow::Borrowed(label),
        Slot::Index => Cow::Owned(index.to_string()),
        _ => Cow::Borrowed(""),
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
