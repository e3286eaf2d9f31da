//! A conversation as it was read, its pictures not fetched yet.

use assize_preprocess::Until;
use assize_preprocess::decision::Content;
use axum::body::Bytes;

use super::conversation::{Conversation, Speaker};
use super::fetch::Fetcher;
use super::media::{Attached, check_count, decode_base64, read_url};
use super::problem::{Problem, ProblemKind};
use crate::strict_json::Place;

/// Where the bytes of a picture are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PictureSource {
    /// In the request.
    Base64(String),
    /// At a `data:` URL, or at one that the server fetches.
    Url(String),
}

impl PictureSource {
    /// The bytes of the picture, which stands at `place`.
    ///
    /// # Errors
    /// Its base64 or its URL is not valid, or it cannot be fetched.
    pub(super) fn read(&self, fetcher: Option<&Fetcher>, place: &Place) -> Result<Bytes, Problem> {
        match self {
            Self::Base64(data) => decode_base64(data, place),
            Self::Url(url) => read_url(url, fetcher, place),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Begin(Speaker),
    Text(String),
    Picture(PictureSource, Place),
}

/// What was said, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Transcript {
    lines: Vec<Line>,
    pictures: usize,
}

impl Transcript {
    /// Begins a message; what is added next belongs to it.
    pub(super) fn begin(&mut self, speaker: Speaker) {
        self.lines.push(Line::Begin(speaker));
    }

    /// Begins a message unless the last one is the same speaker's.
    pub(super) fn go_on(&mut self, speaker: Speaker) {
        let last = self.lines.iter().rev().find_map(|line| match line {
            Line::Begin(speaker) => Some(*speaker),
            Line::Text(_) | Line::Picture(..) => None,
        });
        if last != Some(speaker) {
            self.begin(speaker);
        }
    }

    /// Adds text to the last message, on a line of its own.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Text(text.into()));
    }

    /// Adds a picture, which stands at `place`, to the last message.
    pub(super) fn picture(&mut self, source: PictureSource, place: Place) {
        self.pictures += 1;
        self.lines.push(Line::Picture(source, place));
    }

    /// Whether no message was begun.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many pictures it has.
    pub(super) fn pictures(&self) -> usize {
        self.pictures
    }

    /// The state, and the pictures that the model reads before it. `place` is the field that holds the conversation; who
    /// waits for it waits `until` then.
    ///
    /// # Errors
    /// More pictures than a request may have; one whose base64 or URL is not valid, or that cannot be fetched.
    pub(super) fn into_state(
        self,
        fetcher: Option<&Fetcher>,
        until: &Until,
        place: &Place,
    ) -> Result<(Content, Attached), Problem> {
        check_count(self.pictures, place)?;
        let mut conversation = Conversation::default();
        for line in self.lines {
            match line {
                Line::Begin(speaker) => conversation.begin(speaker),
                Line::Text(text) => conversation.text(text),
                Line::Picture(source, at) => {
                    if until.is_over() {
                        return Err(Problem::new(ProblemKind::DeadlineExceeded, "the deadline passed"));
                    }
                    conversation.picture(source.read(fetcher, &at)?, at);
                }
            }
        }
        conversation.into_state(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_speaker_who_goes_on_has_one_message() {
        let place = Place::body().key("messages");
        let state = |transcript: Transcript| {
            let (state, _) = transcript.into_state(None, &Until::default(), &place).unwrap();
            state.to_text().into_owned()
        };
        let mut together = Transcript::default();
        let mut apart = Transcript::default();
        for text in ["a", "b"] {
            together.go_on(Speaker::User);
            together.text(text);
            apart.begin(Speaker::User);
            apart.text(text);
        }
        assert_eq!(state(together), "a\nb");
        assert_eq!(state(apart), "User: a\n\nUser: b");
    }
}
