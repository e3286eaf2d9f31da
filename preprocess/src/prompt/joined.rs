//! Joined forms: state and question are tokenised as one text, as a reference does that writes one string per question.
//!
//! No token boundary is forced between state and question, so each question's ids are those of the whole string. What
//! all questions start with alike is shared; a single question shares all but its last token.

use super::PromptForm;
use super::encode::{EncodeOptions, Indexed, state_value, what_is_fixed};
use super::encoded::{EncodedDecision, EncodedQuestion};
use super::media_form::MediumOutline;
use super::shown::ShownQuestion;
use super::truncate::{Room, Written, fit_state};
use super::writer::{Composer, Sequence, Writer};
use crate::PromptError;
use crate::tokenizer::Place;

/// The whole string of every order of every question.
struct Strings {
    questions: Vec<Vec<Sequence>>,
}

impl Strings {
    fn all(&self) -> impl Iterator<Item = &Sequence> {
        self.questions.iter().flatten()
    }

    /// Tokens that all strings start with; at least one is left to each.
    fn shared(&self) -> usize {
        let shortest = self.all().map(|sequence| sequence.ids.len()).min().unwrap_or(0);
        let mut shared = shortest.saturating_sub(1);
        if let Some(first) = self.all().next() {
            for other in self.all().skip(1) {
                let equal = first.ids.iter().zip(&other.ids).take_while(|(a, b)| a == b);
                shared = shared.min(equal.count());
            }
        }
        shared
    }
}

pub(super) fn encode_joined(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    media: &[MediumOutline],
    questions: &[Indexed<'_, '_>],
    options: &EncodeOptions,
) -> Result<EncodedDecision, PromptError> {
    let refused = |field, reason: &str| PromptError::Form {
        form: form.name.clone(),
        field,
        reason: reason.to_owned(),
    };
    if options.prior {
        return Err(refused(
            "joined",
            "a joined form has no prior: use a readout that subtracts none",
        ));
    }
    let branch_of = |question: &ShownQuestion<'_>| {
        let orders = question.orders.iter();
        orders.map(|order| order.longest_branch()).max().unwrap_or(0)
    };
    let write = |text: &str| -> Result<Written<Strings>, PromptError> {
        let mut longest_path = 0;
        let mut strings = Vec::with_capacity(questions.len());
        for (_, question) in questions {
            let mut orders = Vec::with_capacity(question.orders.len());
            for order in &question.orders {
                let mut composer = Composer::new(writer, Place::SequenceStart);
                composer.template(&form.state, state_value(text), media)?;
                composer.template(question.template, |slot| order.value(slot), &[])?;
                let sequence = composer.finish()?;
                longest_path = longest_path.max(sequence.ids.len() + branch_of(question).saturating_sub(1));
                orders.push(sequence);
            }
            strings.push(orders);
        }
        Ok(Written {
            written: Strings { questions: strings },
            longest_path,
        })
    };
    let bare = write("")?;
    let soft: usize = media.iter().map(MediumOutline::soft_tokens).sum();
    let longest = bare
        .written
        .questions
        .iter()
        .zip(questions)
        .max_by_key(|(orders, _)| orders.iter().map(|order| order.ids.len()).max())
        .map_or(0, |(_, (index, _))| *index);
    let room = Room {
        context: options.context,
        truncate: options.truncate,
        // The caller's text may merge with the text around it, so that only the soft tokens are certain.
        certain: soft,
        fixed: what_is_fixed(media, bare.longest_path.saturating_sub(soft), longest),
    };
    let fitted = fit_state(form, writer, state, &room, write)?;
    let strings = fitted.written;
    let shared = strings.shared();
    let first = strings.all().next().cloned().unwrap_or_default();
    if first.soft_runs.iter().any(|run| run.start + run.len > shared) {
        return Err(refused(
            "state",
            "nothing but the media is shared: write text behind {media}",
        ));
    }
    let questions = questions
        .iter()
        .zip(&strings.questions)
        .map(|((_, question), sequences)| {
            let orders = question.orders.iter().zip(sequences);
            let orders = orders.map(|(order, sequence)| {
                order.with_tokens(sequence.ids.get(shared..).unwrap_or_default().to_vec())
            });
            EncodedQuestion::new(question.options, orders.collect())
        })
        .collect();
    let mut state = first.ids;
    state.truncate(shared);
    Ok(EncodedDecision {
        state,
        soft_runs: first.soft_runs,
        prior_state: None,
        truncated_tokens: fitted.truncated_tokens,
        questions,
    })
}
