//! A caller's own text inside a message, short enough to read.

use std::borrow::Cow;

/// Most characters of a caller's text in a message.
const MOST: usize = 120;

/// The start of `text`, with `…` where it goes on.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}
