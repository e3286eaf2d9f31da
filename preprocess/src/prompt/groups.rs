//! Questions about a state that is cut: each gets the part that it would get if it were asked alone.

use std::collections::BTreeMap;

use super::PromptForm;
use super::encode::{EncodeOptions, encode_questions, encode_split, write_state};
use super::encoded::{EncodedDecision, EncodedQuestion};
use super::joined::encode_joined;
use super::media_form::MediumOutline;
use super::shown::ShownQuestion;
use super::truncate::Truncate;
use super::writer::Writer;
use crate::decision::Decision;
use crate::{Excess, PromptError, PromptTokenizer};

/// Share of the context that a cut leaves to a question however short it is, so that most questions share one cut.
const QUESTION_SHARE: usize = 16;

/// Questions of one request that share their state, token for token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedGroup {
    /// Indices of the questions in the request, in the order of `encoded`.
    pub questions: Vec<usize>,
    /// The state and these questions.
    pub encoded: EncodedDecision,
}

impl PromptForm {
    /// Writes `decision` as token ids such that no question changes what another is asked about.
    ///
    /// A state that fits is shared by all questions. One that does not is cut by the policy of `options`: for a question
    /// of at most a sixteenth of the context to what that much leaves, for a longer one to what it leaves itself. Questions
    /// of joined forms, whose tokens depend on the text before them, then stand alone.
    ///
    /// # Errors
    /// As [`Self::encode_with_media`].
    pub fn encode_groups(
        &self,
        tokenizer: &PromptTokenizer,
        decision: &Decision,
        media: &[MediumOutline],
        options: &EncodeOptions,
    ) -> Result<Vec<EncodedGroup>, PromptError> {
        let state = decision.state.to_text();
        let (writer, questions) = self.show(tokenizer, decision, media, options)?;
        let uncut = EncodeOptions {
            truncate: Truncate::Error,
            ..*options
        };
        match self.encode_together(&writer, &state, media, &questions, &uncut) {
            Err(PromptError::TooLong {
                excess: Excess::State,
                ..
            }) if options.truncate != Truncate::Error => {}
            whole => {
                return Ok(vec![EncodedGroup {
                    questions: (0..questions.len()).collect(),
                    encoded: whole?,
                }]);
            }
        }
        if self.joined {
            let alone = questions.iter().enumerate().map(|question| {
                Ok(EncodedGroup {
                    questions: vec![question.0],
                    encoded: encode_joined(self, &writer, &state, media, &[question], options)?,
                })
            });
            return alone.collect();
        }
        split_groups(self, &writer, &state, media, &questions, options)
    }
}

/// Groups by the room that a cut leaves to each question; a question that needs no cut leaves 0.
fn split_groups(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    media: &[MediumOutline],
    questions: &[ShownQuestion<'_>],
    options: &EncodeOptions,
) -> Result<Vec<EncodedGroup>, PromptError> {
    let context = options.context;
    let whole = whole_state(form, writer, state, media, context)?;
    let bare = write_state(form, writer, "", media)?.ids.len();
    let least = (context / QUESTION_SHARE).min(context.saturating_sub(bare));
    let mut groups: BTreeMap<usize, Vec<(usize, EncodedQuestion)>> = BTreeMap::new();
    for (index, question) in encode_questions(form, writer, questions)? {
        let tokens = question.longest_path();
        let room = match whole {
            Some(whole) if whole + tokens <= context => 0,
            _ => tokens.max(least),
        };
        groups.entry(room).or_default().push((index, question));
    }
    groups
        .into_iter()
        .map(|(room, questions)| {
            Ok(EncodedGroup {
                questions: questions.iter().map(|(index, _)| *index).collect(),
                encoded: encode_split(form, writer, state, media, questions, room, options)?,
            })
        })
        .collect()
}

/// Tokens of the whole state with its template, unless they are more than the context holds.
fn whole_state(
    form: &PromptForm,
    writer: &Writer<'_>,
    state: &str,
    media: &[MediumOutline],
    context: usize,
) -> Result<Option<usize>, PromptError> {
    if writer.tokenizer.fewest_tokens(state) > context
        || writer
            .tokenizer
            .count_if_long(state, context)?
            .is_some_and(|count| count.at_least > context)
    {
        return Ok(None);
    }
    Ok(Some(write_state(form, writer, state, media)?.ids.len()))
}
