//! Cutting white space off the ends of the caller's text, where the model was trained on text cut so.

use serde::{Deserialize, Serialize};

/// What is cut off the text between the media and the next special token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trim {
    /// Nothing.
    #[default]
    None,
    /// What Python's `str.strip` cuts.
    Python,
}

impl Trim {
    /// `text` without what is cut.
    pub(super) fn apply(self, text: &str) -> &str {
        match self {
            Trim::None => text,
            Trim::Python => text.trim_matches(is_python_space),
        }
    }
}

/// Whether Python's `str.isspace` holds for a character: the property White_Space of Unicode and the four separators
/// U+001C to U+001F, which have the bidirectional class B, S or WS (Python documentation, `str.isspace`).
fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character for which CPython 3.11's `str.isspace` holds.
    const PYTHON: &str = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\
                          \u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

    #[test]
    fn as_python_does() {
        let found: String = ('\0'..=char::MAX).filter(|c| is_python_space(*c)).collect();
        assert_eq!(found, PYTHON);
        assert_eq!(Trim::Python.apply("\u{1f}\n a b\u{200b}\u{3000}"), "a b\u{200b}");
        assert_eq!(Trim::None.apply(" a "), " a ");
    }
}
