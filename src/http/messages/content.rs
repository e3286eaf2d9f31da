//! Messages and their content blocks, read into a transcript.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::conversation::Speaker;
use crate::http::fields::{self, Name, Object};
use crate::http::problem::{Fault, Problem};
use crate::http::transcript::{PictureSource, Transcript};
use crate::http::untyped::{array, kind};
use crate::strict_json::{Place, excerpt};

/// One message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageParam {
    /// Who says it.
    #[schema(value_type = MessageRole)]
    role: Name<MessageRole>,
    /// A string, or an array of blocks: `text`, `image`, `document` (plain text), `search_result`, `tool_use` and
    /// `tool_result`; `thinking` and `redacted_thinking` are left out of the state.
    #[schema(value_type = MessageContent)]
    content: Value,
}

/// A string, or an array of blocks.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is read by hand")]
#[serde(untagged)]
pub enum MessageContent {
    /// Text.
    Text(String),
    /// Blocks, each an object with a `type`.
    Blocks(Vec<serde_json::Map<String, Value>>),
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The application: added to `system`.
    System,
}

/// What the messages of a request say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Instructions of the application, in order.
    pub(super) system: Vec<String>,
    pub(super) transcript: Transcript,
}

#[derive(Deserialize)]
struct TextBlock {
    text: String,
}

#[derive(Deserialize)]
struct ImageBlock {
    source: Object<ImageSource>,
}

#[derive(Deserialize)]
struct ImageSource {
    #[serde(rename = "type")]
    kind: String,
    data: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct DocumentBlock {
    source: Object<DocumentSource>,
    title: Option<String>,
    context: Option<String>,
}

#[derive(Deserialize)]
struct DocumentSource {
    #[serde(rename = "type")]
    kind: String,
    data: Option<String>,
    content: Option<Value>,
}

#[derive(Deserialize)]
struct SearchResultBlock {
    title: String,
    source: String,
    content: Value,
}

#[derive(Deserialize)]
struct ToolUseBlock {
    name: String,
    input: Value,
}

#[derive(Deserialize)]
struct ToolResultBlock {
    content: Option<Value>,
    is_error: Option<bool>,
}

impl Said {
    /// Reads `system` and `messages`.
    ///
    /// # Errors
    /// No message, or a block that is not read here.
    pub(super) fn read(system: Option<Value>, messages: Vec<Object<MessageParam>>) -> Result<Self, Problem> {
        let mut said = Self::default();
        if let Some(system) = system {
            said.system(system, &Place::body().key("system"))?;
        }
        let place = Place::body().key("messages");
        for (index, Object(message)) in messages.into_iter().enumerate() {
            let at = place.index(index).key("content");
            match message.role.0 {
                MessageRole::System => said.system(message.content, &at)?,
                MessageRole::User => said.message(Speaker::User, message.content, &at)?,
                MessageRole::Assistant => said.message(Speaker::Assistant, message.content, &at)?,
            }
        }
        if said.transcript.is_empty() {
            let message = "is empty: send at least one message of the user, which is what is judged";
            return Err(Fault::value(place, message).into());
        }
        Ok(said)
    }

    fn system(&mut self, content: Value, place: &Place) -> Result<(), Problem> {
        let texts = match content {
            Value::Null => return Ok(()),
            Value::String(text) => vec![text],
            other => texts(other, place)?,
        };
        self.system
            .extend(texts.into_iter().filter(|text| !text.trim().is_empty()));
        Ok(())
    }

    fn message(&mut self, speaker: Speaker, content: Value, place: &Place) -> Result<(), Problem> {
        let blocks = match content {
            Value::String(text) => {
                self.transcript.go_on(speaker);
                self.transcript.text(text);
                return Ok(());
            }
            other => array(other, place, "a string or an array of blocks")?,
        };
        for (index, block) in blocks.into_iter().enumerate() {
            self.block(speaker, block, &place.index(index))?;
        }
        Ok(())
    }

    fn block(&mut self, speaker: Speaker, block: Value, place: &Place) -> Result<(), Problem> {
        match kind(&block, place)? {
            // What a model thought before it answered is no part of what it said.
            "thinking" | "redacted_thinking" => {}
            "tool_result" => {
                let Object(result): Object<ToolResultBlock> = fields::read(block, place)?;
                self.transcript.begin(Speaker::Tool);
                if result.is_error == Some(true) {
                    self.transcript.text("Error:");
                }
                match result.content {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) => self.transcript.text(text),
                    Some(blocks) => {
                        let place = place.key("content");
                        let blocks = array(blocks, &place, "a string or an array of blocks")?;
                        for (index, block) in blocks.into_iter().enumerate() {
                            self.shown(block, &place.index(index))?;
                        }
                    }
                }
            }
            "tool_use" => {
                let Object(call): Object<ToolUseBlock> = fields::read(block, place)?;
                self.transcript.go_on(speaker);
                self.transcript
                    .text(format!("calls {}({})", call.name, call.input));
            }
            _ => {
                self.transcript.go_on(speaker);
                self.shown(block, place)?;
            }
        }
        Ok(())
    }

    /// A block that a message and a tool's result can both have.
    fn shown(&mut self, block: Value, place: &Place) -> Result<(), Problem> {
        match kind(&block, place)? {
            "text" => {
                let Object(block): Object<TextBlock> = fields::read(block, place)?;
                self.transcript.text(block.text);
            }
            "image" => {
                let Object(block): Object<ImageBlock> = fields::read(block, place)?;
                let place = place.key("source");
                let (source, at) = image_source(block.source.0, &place)?;
                self.transcript.picture(source, at);
            }
            "document" => {
                let Object(block): Object<DocumentBlock> = fields::read(block, place)?;
                let parts = document(block.source.0, &place.key("source"))?;
                for text in [block.title, block.context].into_iter().flatten() {
                    self.transcript.text(text);
                }
                for (part, at) in parts {
                    match part {
                        Value::String(text) => self.transcript.text(text),
                        block => self.shown(block, &at)?,
                    }
                }
            }
            "search_result" => {
                let Object(block): Object<SearchResultBlock> = fields::read(block, place)?;
                self.transcript.text(block.title);
                self.transcript.text(block.source);
                for text in texts(block.content, &place.key("content"))? {
                    self.transcript.text(text);
                }
            }
            other => {
                let message = format!(
                    "is {:?}, which is not read here: send its content as a block of type \"text\" or \"image\"",
                    excerpt(other)
                );
                return Err(Fault::value(place.key("type"), message).into());
            }
        }
        Ok(())
    }
}

fn image_source(source: ImageSource, place: &Place) -> Result<(PictureSource, Place), Problem> {
    match (source.kind.as_str(), source.data, source.url) {
        ("base64", Some(data), _) => Ok((PictureSource::Base64(data), place.key("data"))),
        ("base64", None, _) => {
            Err(Fault::missing(place.key("data"), "is missing: the file in base64").into())
        }
        ("url", _, Some(url)) => Ok((PictureSource::Url(url), place.key("url"))),
        ("url", _, None) => Err(Fault::missing(place.key("url"), "is missing: where the picture is").into()),
        (other, ..) => {
            let message = format!(
                "is {:?}, which is not read here: send the picture as \"base64\"",
                excerpt(other)
            );
            Err(Fault::value(place.key("type"), message).into())
        }
    }
}

/// The text, or the blocks, of a document.
fn document(source: DocumentSource, place: &Place) -> Result<Vec<(Value, Place)>, Problem> {
    match (source.kind.as_str(), source.data, source.content) {
        ("text", Some(text), _) => Ok(vec![(Value::String(text), place.key("data"))]),
        ("text", None, _) => Err(Fault::missing(place.key("data"), "is missing: the document's text").into()),
        ("content", _, Some(text @ Value::String(_))) => Ok(vec![(text, place.key("content"))]),
        ("content", _, Some(blocks)) => {
            let place = place.key("content");
            let blocks = array(blocks, &place, "a string or an array of blocks")?;
            let mut parts = Vec::with_capacity(blocks.len());
            for (index, block) in blocks.into_iter().enumerate() {
                let at = place.index(index);
                let kind = kind(&block, &at)?;
                // A document in a document would let one request nest without end.
                if kind != "text" && kind != "image" {
                    let message = format!("is {:?}: a document holds \"text\" and \"image\"", excerpt(kind));
                    return Err(Fault::value(at.key("type"), message).into());
                }
                parts.push((block, at));
            }
            Ok(parts)
        }
        ("content", _, None) => {
            Err(Fault::missing(place.key("content"), "is missing: the document's blocks").into())
        }
        (other, ..) => {
            let message = format!(
                "is {:?}, which is not read here: send the document's text as a source of type \"text\", or its pages as \
                 images",
                excerpt(other)
            );
            Err(Fault::value(place.key("type"), message).into())
        }
    }
}

/// The texts of an array of text blocks.
fn texts(content: Value, place: &Place) -> Result<Vec<String>, Problem> {
    let mut texts = Vec::new();
    for (index, block) in array(content, place, "a string or an array of text blocks")?
        .into_iter()
        .enumerate()
    {
        let at = place.index(index);
        let kind = kind(&block, &at)?;
        if kind != "text" {
            let message = format!("is {:?}: only \"text\" stands here", excerpt(kind));
            return Err(Fault::value(at.key("type"), message).into());
        }
        let Object(block): Object<TextBlock> = fields::read(block, &at)?;
        texts.push(block.text);
    }
    Ok(texts)
}
