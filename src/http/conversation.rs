//! A conversation as the state of a decision.
//!
//! One message of a user is the state itself, as `POST /decide` would get it. Several messages are written one after
//! another, each behind its speaker. The model reads pictures before the state, in their order; their places in the text
//! are marked `[image 1]` where there is more than one message or picture, since only then could they be taken for
//! another's.

use assize_preprocess::decision::Content;
use axum::body::Bytes;

use super::media::{Attached, check_count};
use super::problem::Problem;
use crate::service::MediumKind;
use crate::strict_json::Place;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The application's instructions.
    System,
    /// Its developer's.
    Developer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::Developer => "Developer",
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::Tool => "Tool",
        }
    }
}

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    Picture(usize),
}

/// One message.
#[derive(Debug, PartialEq)]
struct Message {
    speaker: Speaker,
    parts: Vec<Part>,
}

/// Messages in order, with the pictures in them.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Message>,
    attached: Attached,
}

impl Conversation {
    /// Begins a message; what is added next belongs to it.
    pub(super) fn begin(&mut self, speaker: Speaker) {
        self.messages.push(Message {
            speaker,
            parts: Vec::new(),
        });
    }

    /// Adds text to the last message, on a line of its own.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.part(Part::Text(text.into()));
    }

    /// Adds a picture, which stands at `place`, to the last message.
    pub(super) fn picture(&mut self, bytes: Bytes, place: Place) {
        let number = self.attached.media.len() + 1;
        self.attached.push(MediumKind::Image, bytes, place);
        self.part(Part::Picture(number));
    }

    fn part(&mut self, part: Part) {
        if self.messages.is_empty() {
            self.begin(Speaker::User);
        }
        if let Some(message) = self.messages.last_mut() {
            message.parts.push(part);
        }
    }

    /// The state and the pictures that the model reads before it. `place` is the field that holds the conversation.
    ///
    /// # Errors
    /// More pictures than a request may have.
    pub(super) fn into_state(self, place: &Place) -> Result<(Content, Attached), Problem> {
        check_count(self.attached.media.len(), place)?;
        let text = match self.messages.as_slice() {
            [only] if only.speaker == Speaker::User => {
                let says_something = only.parts.iter().any(|part| matches!(part, Part::Text(_)));
                only.written(says_something && self.attached.media.len() > 1)
            }
            several => several
                .iter()
                .map(|message| format!("{}: {}", message.speaker.name(), message.written(true)))
                .collect::<Vec<_>>()
                .join("\n\n"),
        };
        Ok((Content::Text(text), self.attached))
    }
}

impl Message {
    fn written(&self, with_marks: bool) -> String {
        let lines = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Picture(number) => with_marks.then(|| format!("[image {number}]")),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(conversation: Conversation) -> (String, usize) {
        let (state, attached) = conversation.into_state(&Place::body().key("input")).unwrap();
        (state.to_text().into_owned(), attached.media.len())
    }

    #[test]
    fn one_message_is_the_state_itself() {
        let mut one = Conversation::default();
        one.begin(Speaker::User);
        one.text("a");
        one.text("b");
        one.picture(vec![1].into(), Place::body());
        assert_eq!(state(one), ("a\nb".into(), 1));
    }

    #[test]
    fn pictures_alone_are_a_state_without_text() {
        let mut two = Conversation::default();
        two.begin(Speaker::User);
        two.picture(vec![1].into(), Place::body());
        two.picture(vec![2].into(), Place::body());
        assert_eq!(state(two), (String::new(), 2));
    }

    #[test]
    fn several_pictures_and_several_messages_are_told_apart() {
        let mut pictures = Conversation::default();
        pictures.begin(Speaker::User);
        pictures.picture(vec![1].into(), Place::body());
        pictures.text("or");
        pictures.picture(vec![2].into(), Place::body());
        assert_eq!(state(pictures).0, "[image 1]\nor\n[image 2]");

        let mut messages = Conversation::default();
        messages.begin(Speaker::System);
        messages.text("Be strict.");
        messages.begin(Speaker::User);
        messages.picture(vec![1].into(), Place::body());
        assert_eq!(state(messages).0, "System: Be strict.\n\nUser: [image 1]");
    }

    #[test]
    fn pictures_are_counted() {
        let mut many = Conversation::default();
        for _ in 0..33 {
            many.picture(vec![1].into(), Place::body());
        }
        assert!(many.into_state(&Place::body().key("input")).is_err());
    }
}
