//! Which tokens text may never become, and how text is tokenised where a model would give one all the same.

use super::{Place, PromptTokenizer, TokenId, tokenize_error};
use crate::PromptError;

/// HTML elements that some vocabularies (Gemma's) list as added tokens: they are ordinary text of e-mails and pages.
const HTML_ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// Whether an added token that the file does not flag as special is a control token by its form: `<think>`,
/// `<unused7>`, `[multimodal]`. Runs of spaces or line breaks, words and HTML elements are not.
pub(super) fn is_control(token: &str) -> bool {
    let inner = token
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .map(|inner| (inner, true))
        .or_else(|| {
            let inner = token.strip_prefix('[')?.strip_suffix(']')?;
            Some((inner, false))
        });
    match inner {
        None => false,
        Some((inner, angled)) => {
            let name = inner.strip_prefix('/').unwrap_or(inner);
            let is_html = angled && HTML_ELEMENTS.contains(&name);
            !name.is_empty() && !is_html
        }
    }
}

impl PromptTokenizer {
    /// Encodes a text whose plain encoding holds reserved ids: the text is cut inside every piece that became one,
    /// so that no part can.
    pub(super) fn encode_around_reserved(
        &self,
        place: Place,
        text: &str,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), PromptError> {
        let encoding = self
            .tokenizer_at(place)
            .encode(text, false)
            .map_err(|error| tokenize_error(text, &error))?;
        let mut cuts = Vec::new();
        for (id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            if !self.is_reserved(*id) {
                continue;
            }
            let piece = text.get(start..end).unwrap_or_default();
            // A leading space belongs to the token's own text in some vocabularies: cut behind the first character.
            let first = piece.chars().next().map_or(0, char::len_utf8);
            if first == 0 || first >= piece.len() {
                return Err(PromptError::SpecialFromText {
                    text: piece.to_owned(),
                    token: self.at_start.id_to_token(*id).unwrap_or_default(),
                });
            }
            if cuts.last() != Some(&(start + first)) {
                cuts.push(start + first);
            }
        }
        let mut place = place;
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            let part = text.get(from..cut).unwrap_or_default();
            self.encode_chunk(place, part, ids)?;
            (place, from) = (Place::Continues, cut);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_control;

    #[test]
    fn control_tokens_are_told_from_text() {
        for token in [
            "<think>",
            "</tool_call>",
            "<unused7>",
            "[multimodal]",
            "<|x|>",
            "<image_soft_token>",
        ] {
            assert!(is_control(token), "{token}");
        }
        for token in ["\n\n", "▁▁▁", "<table>", "</h1>", "hello", "<>", "[]", "<", "[a"] {
            assert!(!is_control(token), "{token}");
        }
    }
}
