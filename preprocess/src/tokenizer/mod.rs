//! Tokenisation in which text can never become a special token.
//!
//! A prompt is built from ids of special tokens, which a prompt form names, and from text. Text goes through
//! [`PromptTokenizer::encode_text`] and its siblings only, so that `<|im_end|>` inside a state is six or so ordinary
//! tokens. On text without special-token strings the ids equal those of the reference tokenizer.

mod long_text;
mod reserved;
mod sequence_start;

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::{AddedToken, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer};

use crate::PromptError;

/// An index into the vocabulary.
pub type TokenId = u32;

/// Where a text stands in the prompt; decides whether the tokenizer's own leading space is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the very start of a sequence.
    SequenceStart,
    /// Right after a special token.
    AfterSpecial,
    /// Behind other text.
    Continues,
}

/// The part of tokenizer.json that is read apart from the tokenizer itself.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    added_tokens: Vec<AddedTokenEntry>,
    #[serde(default)]
    normalizer: Option<Value>,
    #[serde(default)]
    pre_tokenizer: Option<Value>,
    model: ModelHeader,
}

#[derive(Deserialize)]
struct AddedTokenEntry {
    id: TokenId,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

#[derive(Deserialize)]
struct ModelHeader {
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default)]
    unk_id: Option<TokenId>,
    #[serde(default)]
    dropout: Option<f32>,
}

/// A model's tokenizer, read from its tokenizer.json.
pub struct PromptTokenizer {
    at_start: Tokenizer,
    /// `None` where it would equal `at_start`.
    after_special: Option<Tokenizer>,
    /// `None` where it would equal `at_start`.
    continues: Option<Tokenizer>,
    added: HashMap<String, TokenId>,
    reserved: HashSet<TokenId>,
    longest_token: usize,
    may_shrink: bool,
    spans_spaces: bool,
    fingerprint: String,
}

impl std::fmt::Debug for PromptTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptTokenizer")
            .field("fingerprint", &self.fingerprint)
            .field("reserved", &self.reserved.len())
            .finish_non_exhaustive()
    }
}

impl PromptTokenizer {
    /// Reads a Hugging Face tokenizer.json.
    ///
    /// Its post-processor, truncation and padding are dropped: the prompt form alone decides which special tokens a
    /// prompt has.
    ///
    /// # Errors
    /// The file is no tokenizer.json, or its model drops merges at random.
    pub fn from_json(tokenizer_json: &[u8]) -> Result<Self, PromptError> {
        let file_error = |error: &dyn std::fmt::Display| PromptError::TokenizerFile(error.to_string());
        let header: Header = serde_json::from_slice(tokenizer_json).map_err(|error| file_error(&error))?;
        if header.model.dropout.is_some_and(|dropout| dropout != 0.0) {
            return Err(PromptError::TokenizerFile(
                "`model.dropout` makes token ids random: set it to null".into(),
            ));
        }
        let mut tokenizer = Tokenizer::from_bytes(tokenizer_json).map_err(|error| file_error(&error))?;
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| file_error(&error))?;

        let mut added = HashMap::new();
        let mut reserved = HashSet::new();
        let mut to_reserve = Vec::new();
        for entry in header.added_tokens {
            // The tokenizer gives ids by its own rule where the file's ids leave gaps; it is the one that encodes.
            let id = tokenizer.token_to_id(&entry.content).unwrap_or(entry.id);
            if entry.special || reserved::is_control(&entry.content) {
                reserved.insert(id);
                if !entry.special {
                    to_reserve.push(
                        AddedToken::from(entry.content.clone(), true)
                            .single_word(entry.single_word)
                            .lstrip(entry.lstrip)
                            .rstrip(entry.rstrip)
                            .normalized(entry.normalized),
                    );
                }
            }
            added.insert(entry.content, id);
        }
        if !to_reserve.is_empty() {
            tokenizer.add_special_tokens(&to_reserve);
        }
        tokenizer.set_encode_special_tokens(true);
        // The unknown token is what a model's tokenizer gives for a character it cannot write: that is no injection.
        let unknown = header.model.unk_id.or_else(|| {
            header
                .model
                .unk_token
                .and_then(|token| tokenizer.token_to_id(&token))
        });
        if let Some(unknown) = unknown {
            reserved.remove(&unknown);
        }

        let mut longest_token = 1;
        let mut spans_spaces = false;
        for token in tokenizer.get_vocab(true).into_keys() {
            longest_token = longest_token.max(token.len());
            spans_spaces |= long_text::spans_a_space(&token);
        }

        let rebuilt = |for_place: Place| -> Result<Option<Tokenizer>, PromptError> {
            let normalizer = sequence_start::normalizer_at(header.normalizer.as_ref(), for_place);
            let pre_tokenizer = sequence_start::pre_tokenizer_at(header.pre_tokenizer.as_ref(), for_place);
            if normalizer == header.normalizer && pre_tokenizer == header.pre_tokenizer {
                return Ok(None);
            }
            let mut copy = tokenizer.clone();
            copy.with_normalizer(parse::<NormalizerWrapper>(normalizer)?);
            copy.with_pre_tokenizer(parse::<PreTokenizerWrapper>(pre_tokenizer)?);
            Ok(Some(copy))
        };
        let after_special = rebuilt(Place::AfterSpecial)?;
        let continues = rebuilt(Place::Continues)?;
        Ok(Self {
            after_special,
            continues,
            at_start: tokenizer,
            added,
            reserved,
            longest_token,
            may_shrink: sequence_start::may_shrink(header.normalizer.as_ref()),
            spans_spaces,
            fingerprint: hex::encode(Sha256::digest(tokenizer_json)),
        })
    }

    /// Ids of a text that stands alone. Equal to the reference tokenizer without its special tokens, except that
    /// special-token text stays text.
    ///
    /// # Errors
    /// The tokenizer fails, or a piece of the text can be written as a special token only.
    pub fn encode_text(&self, text: &str) -> Result<Vec<TokenId>, PromptError> {
        let mut ids = Vec::new();
        self.encode_at(Place::SequenceStart, text, &mut ids)?;
        Ok(ids)
    }

    /// Ids of a text that continues other text: no leading space is added.
    ///
    /// # Errors
    /// As [`Self::encode_text`].
    pub fn encode_continuation(&self, text: &str) -> Result<Vec<TokenId>, PromptError> {
        let mut ids = Vec::new();
        self.encode_at(Place::Continues, text, &mut ids)?;
        Ok(ids)
    }

    /// The id of a special (or otherwise added) token, by its exact text.
    pub fn special(&self, token: &str) -> Option<TokenId> {
        self.added.get(token).copied()
    }

    /// The first special (or otherwise added) token in a text, between what stands before and behind it; the longest of
    /// those that start at one place.
    pub(crate) fn next_special<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        let at = |token: &String| text.find(token.as_str()).map(|start| (start, token.len()));
        let (start, length) = self
            .added
            .keys()
            .filter(|token| !token.is_empty())
            .filter_map(at)
            .min_by_key(|(start, length)| (*start, usize::MAX - length))?;
        let (before, rest) = text.split_at_checked(start)?;
        let (token, behind) = rest.split_at_checked(length)?;
        Some((before, token, behind))
    }

    /// Whether `id` is a token that text may never become.
    pub fn is_reserved(&self, id: TokenId) -> bool {
        self.reserved.contains(&id)
    }

    /// The text of some ids, special tokens included; for logs and error messages.
    ///
    /// # Errors
    /// An id outside the vocabulary makes no error, it is left out; the decoder itself may fail.
    pub fn decode(&self, ids: &[TokenId]) -> Result<String, PromptError> {
        self.at_start
            .decode(ids, false)
            .map_err(|error| PromptError::TokenizerFile(error.to_string()))
    }

    /// sha256 (hex) of the tokenizer.json that was read.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Fewest tokens that `text` can take, without tokenising it; 0 where the tokenizer may drop characters.
    pub(crate) fn fewest_tokens(&self, text: &str) -> usize {
        if self.may_shrink {
            0
        } else {
            text.len().div_ceil(self.longest_token)
        }
    }

    fn tokenizer_at(&self, place: Place) -> &Tokenizer {
        match place {
            Place::SequenceStart => None,
            Place::AfterSpecial => self.after_special.as_ref(),
            Place::Continues => self.continues.as_ref(),
        }
        .unwrap_or(&self.at_start)
    }

    /// Appends the ids of `text` at `place`.
    pub(crate) fn encode_at(
        &self,
        place: Place,
        text: &str,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), PromptError> {
        let mut place = place;
        let mut rest = text;
        while let Some(cut) = self.next_chunk(rest)? {
            let (chunk, behind) = rest.split_at(cut);
            self.encode_chunk(place, chunk, ids)?;
            (place, rest) = (Place::Continues, behind);
        }
        self.encode_chunk(place, rest, ids)
    }

    fn encode_chunk(&self, place: Place, text: &str, ids: &mut Vec<TokenId>) -> Result<(), PromptError> {
        if text.is_empty() {
            return Ok(());
        }
        let encoding = self
            .tokenizer_at(place)
            .encode_fast(text, false)
            .map_err(|error| tokenize_error(text, &error))?;
        if encoding.get_ids().iter().any(|id| self.is_reserved(*id)) {
            return self.encode_around_reserved(place, text, ids);
        }
        ids.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// Where each token of `text` ends, in bytes, as text that continues other text.
    pub(crate) fn token_ends(&self, text: &str) -> Result<Vec<usize>, PromptError> {
        let encoding = self
            .tokenizer_at(Place::Continues)
            .encode(text, false)
            .map_err(|error| tokenize_error(text, &error))?;
        Ok(encoding.get_offsets().iter().map(|(_, end)| *end).collect())
    }
}

fn tokenize_error(text: &str, error: &dyn std::fmt::Display) -> PromptError {
    PromptError::Tokenize {
        bytes: text.len(),
        reason: error.to_string(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: Option<Value>) -> Result<Option<T>, PromptError> {
    value
        .map(serde_json::from_value)
        .transpose()
        .map_err(|error| PromptError::TokenizerFile(error.to_string()))
}
