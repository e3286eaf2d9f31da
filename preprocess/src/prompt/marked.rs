//! Prompts that are written out, special tokens included: what a reference's fixtures hold.

use super::PromptForm;
use super::encoded::SoftRun;
use super::media_form::MediumOutline;
use super::writer::{Composer, Sequence, Writer};
use crate::tokenizer::Place;
use crate::{PromptError, PromptTokenizer, TokenId};

/// A written-out prompt as token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedPrompt {
    /// The ids, soft tokens included.
    pub ids: Vec<TokenId>,
    /// Where soft tokens stand: one run per picture, frame and sound, in order of place.
    pub soft_runs: Vec<SoftRun>,
    /// The medium that each run belongs to, as an index into the media that were given.
    pub media: Vec<usize>,
}

impl PromptForm {
    /// Ids of a written-out prompt in which special tokens stand for themselves, and the place-holding token of each kind
    /// (`<|image|>`, ...) for the next medium of that kind. For trusted text only: a caller's text could forge turns.
    ///
    /// # Errors
    /// The form shows no media, or the prompt has more or fewer places of a kind than there are media.
    pub fn encode_marked(
        &self,
        tokenizer: &PromptTokenizer,
        prompt: &str,
        media: &[MediumOutline],
    ) -> Result<MarkedPrompt, PromptError> {
        let refused = |reason: String| PromptError::Form {
            form: self.name.clone(),
            field: "media",
            reason,
        };
        let writer = Writer::new(self, tokenizer)?;
        let tokens = [
            (
                "image",
                self.media()
                    .and_then(|media| media.image.as_ref())
                    .map(|form| &form.token),
            ),
            (
                "audio",
                self.media()
                    .and_then(|media| media.audio.as_ref())
                    .map(|form| &form.token),
            ),
            (
                "video",
                self.media()
                    .and_then(|media| media.video.as_ref())
                    .map(|form| &form.token),
            ),
        ];
        let mut waiting: Vec<(usize, &MediumOutline)> = media.iter().enumerate().collect();
        let mut placed = Vec::new();
        let mut composer = Composer::new(&writer, Place::SequenceStart);
        let mut rest = prompt;
        while !rest.is_empty() {
            let Some((before, token, behind)) = tokenizer.next_special(rest) else {
                composer.text(rest);
                break;
            };
            composer.text(before);
            rest = behind;
            let kind = tokens
                .iter()
                .find(|(_, mark)| mark.is_some_and(|mark| mark == token));
            match (kind, tokenizer.special(token)) {
                (Some((kind, _)), _) => {
                    let next = waiting.iter().position(|(_, medium)| medium.kind() == *kind);
                    let next = next.ok_or_else(|| {
                        refused(format!("the prompt has more places of kind {kind} than media"))
                    })?;
                    let (index, medium) = waiting.remove(next);
                    let runs = composer.runs();
                    composer.medium(index, medium)?;
                    placed.resize(placed.len() + composer.runs() - runs, index);
                }
                (None, Some(id)) => composer.special(id)?,
                (None, None) => composer.text(token),
            }
        }
        if let Some((index, medium)) = waiting.first() {
            return Err(refused(format!(
                "medium {index} ({}) has no place in the prompt",
                medium.kind()
            )));
        }
        let Sequence { ids, soft_runs } = composer.finish()?;
        Ok(MarkedPrompt {
            ids,
            soft_runs,
            media: placed,
        })
    }
}
