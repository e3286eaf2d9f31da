//! From a decision to token ids.

use std::borrow::Cow;

use super::PromptForm;
use super::encoded::{EncodedDecision, EncodedQuestion};
use super::joined::encode_joined;
use super::media_form::MediumOutline;
use super::options::AskedQuestion;
use super::shown::ShownQuestion;
use super::template::Slot;
use super::truncate::{Room, Truncate, Written, fit_state};
use super::writer::{Composer, Sequence, Writer, place_behind};
use crate::decision::Decision;
use crate::tokenizer::Place;
use crate::{Excess, PromptError, PromptTokenizer};

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
    /// Writes `decision`, which shows no media, as token ids.
    ///
    /// # Errors
    /// As [`Self::encode_with_media`].
    pub fn encode(
        &self,
        tokenizer: &PromptTokenizer,
        decision: &Decision,
        options: &EncodeOptions,
    ) -> Result<EncodedDecision, PromptError> {
        self.encode_with_media(tokenizer, decision, &[], options)
    }

    /// Writes `decision` as token ids, with room for the soft tokens of `media` in the order given. All questions share one
    /// state, which is cut to fit the longest of them; [`Self::encode_groups`] cuts for each question alone.
    ///
    /// # Errors
    /// The form names a special token that the tokenizer lacks, or shows no medium of that kind; a medium is empty; a
    /// question is not valid (no or too many options, empty or duplicate names, nothing asked); the prompt does not fit
    /// the context; the tokenizer fails; a prior is asked of a joined form.
    pub fn encode_with_media(
        &self,
        tokenizer: &PromptTokenizer,
        decision: &Decision,
        media: &[MediumOutline],
        options: &EncodeOptions,
    ) -> Result<EncodedDecision, PromptError> {
        let state = decision.state.to_text();
        let (writer, questions) = self.show(tokenizer, decision, media, options)?;
        self.encode_together(&writer, &state, media, &questions, options)
    }

    /// One state for all questions.
    pub(super) fn encode_together(
        &self,
        writer: &Writer<'_>,
        state: &str,
        media: &[MediumOutline],
        questions: &[ShownQuestion<'_>],
        options: &EncodeOptions,
    ) -> Result<EncodedDecision, PromptError> {
        if self.joined {
            let questions: Vec<_> = questions.iter().enumerate().collect();
            return encode_joined(self, writer, state, media, &questions, options);
        }
        let questions = encode_questions(self, writer, questions)?;
        encode_split(self, writer, state, media, questions, 0, options)
    }

    /// Checks what is asked and shows each question in every order.
    pub(super) fn show<'a>(
        &'a self,
        tokenizer: &'a PromptTokenizer,
        decision: &'a Decision,
        media: &[MediumOutline],
        options: &EncodeOptions,
    ) -> Result<(Writer<'a>, Vec<ShownQuestion<'a>>), PromptError> {
        if options.order_averages == 0 {
            return Err(PromptError::OrderAverages(0));
        }
        if decision.questions.is_empty() {
            return Err(PromptError::NoQuestions);
        }
        if let Some(medium) = media.first()
            && self.media.is_none()
        {
            return Err(PromptError::MediumUnknown {
                medium: 0,
                kind: medium.kind(),
                form: self.name.clone(),
            });
        }
        let writer = Writer::new(self, tokenizer)?;
        let questions = decision
            .questions
            .iter()
            .enumerate()
            .map(|(index, question)| {
                let asked = AskedQuestion::new(self, question, index)?;
                ShownQuestion::new(self, &writer, &asked, options.order_averages)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((writer, questions))
    }
}

/// A question with its index in the request.
pub(super) type Indexed<'q, 'a> = (usize, &'q ShownQuestion<'a>);

/// Writes questions as ids, in every order, each with its index.
pub(super) fn encode_questions(
    form: &PromptForm,
    writer: &Writer<'_>,
    questions: &[ShownQuestion<'_>],
) -> Result<Vec<(usize, EncodedQuestion)>, PromptError> {
    let place = place_behind(&form.state);
    let encode = |question: &ShownQuestion<'_>| {
        let orders = question
            .orders
            .iter()
            .map(|order| {
                let tokens = writer.write(place, question.template, |slot| order.value(slot))?;
                Ok(order.with_tokens(tokens))
            })
            .collect::<Result<_, PromptError>>()?;
        Ok(EncodedQuestion::new(question.options, orders))
    };
    let indexed = questions.iter().enumerate();
    indexed
        .map(|(index, question)| Ok((index, encode(question)?)))
        .collect()
}

/// State and questions tokenised apart. The state is cut to leave at least `room` tokens to each question.
pub(super) fn encode_split(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    media: &[MediumOutline],
    questions: Vec<(usize, EncodedQuestion)>,
    room: usize,
    options: &EncodeOptions,
) -> Result<EncodedDecision, PromptError> {
    let (index, longest) = questions
        .iter()
        .map(|(index, question)| (*index, question.longest_path()))
        .max_by_key(|(_, tokens)| *tokens)
        .unwrap_or((0, 0));
    let below = longest.max(room);
    let room = Room {
        context: options.context,
        truncate: options.truncate,
        certain: below,
        fixed: what_is_fixed(media, longest, index),
    };
    let fitted = fit_state(form, writer, state, &room, |text| {
        let sequence = write_state(form, writer, text, media)?;
        Ok(Written {
            longest_path: sequence.ids.len() + below,
            written: sequence,
        })
    })?;
    Ok(EncodedDecision {
        state: fitted.written.ids,
        soft_runs: fitted.written.soft_runs,
        prior_state: options
            .prior
            .then(|| Ok::<_, PromptError>(write_state(form, writer, "", &[])?.ids))
            .transpose()?,
        truncated_tokens: fitted.truncated_tokens,
        questions: questions.into_iter().map(|(_, question)| question).collect(),
    })
}

/// The state template around a text.
pub(super) fn write_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    text: &str,
    media: &[MediumOutline],
) -> Result<Sequence, PromptError> {
    let mut composer = Composer::new(writer, Place::SequenceStart);
    composer.template(&form.state, state_value(text), media)?;
    composer.finish()
}

/// What fills the slots of a state template.
pub(super) fn state_value<'s>(state: &'s str) -> impl Fn(Slot) -> Cow<'s, str> {
    move |slot| match slot {
        Slot::State => Cow::Borrowed(state),
        _ => Cow::Borrowed(""),
    }
}

/// What to shorten where a request does not fit even with an empty state.
pub(super) fn what_is_fixed(media: &[MediumOutline], question_tokens: usize, question: usize) -> Excess {
    let soft_tokens: usize = media.iter().map(MediumOutline::soft_tokens).sum();
    if soft_tokens > question_tokens {
        Excess::Media(soft_tokens)
    } else {
        Excess::Question(question)
    }
}
