//! The beginning of a text, for people to see what a row is about.

/// Characters of a state that predictions keep.
pub(crate) const SHOWN_STATE: usize = 400;
/// Characters of a question that predictions keep.
pub(crate) const SHOWN_QUESTION: usize = 200;

/// The first `most` characters of `text`, with `…` where it goes on.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
