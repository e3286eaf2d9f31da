//! The bodies of `POST /api/chat` and `POST /api/generate`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::conversation::Speaker;
use crate::http::fields::{Name, Object};
use crate::http::problem::{Fault, Problem};
use crate::http::transcript::{PictureSource, Transcript};
use crate::strict_json::{Place, excerpt};

/// Most alternatives of a field that are given as log probabilities.
const MOST_ALTERNATIVES: u64 = 256;

/// A conversation, and the schema of what is asked about it. Fields that are not listed here are ignored, as Ollama does.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaChatRequest {
    /// The model's name, with or without the tag `:latest`.
    model: String,
    /// The conversation; empty or left out asks whether the model is loaded.
    #[serde(default)]
    #[schema(value_type = Option<Vec<OllamaMessage>>)]
    messages: Option<Vec<Object<OllamaMessage>>>,
    /// The closed JSON schema of the answer.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    format: Option<Value>,
    /// Refused unless empty: Ollama has no way to force a call.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Vec<IgnoredAny>>,
    /// Whether the answer comes in lines; true if it is left out.
    #[serde(default)]
    stream: Option<bool>,
    /// Whether the probabilities also come as `logprobs`, one entry per field.
    #[serde(default)]
    logprobs: Option<bool>,
    /// How many options of each field `logprobs` lists, the most probable first.
    #[serde(default)]
    #[schema(maximum = 256)]
    top_logprobs: Option<u64>,
    /// Accepted: nothing is sampled, so that they change nothing.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    options: Option<Map<String, Value>>,
    /// Accepted: the model stays as long as the server runs.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be one")]
    keep_alive: Option<OllamaDuration>,
    /// Accepted: nothing is thought.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be one")]
    think: Option<OllamaThinking>,
}

/// A prompt, and the schema of what is asked about it. Fields that are not listed here are ignored, as Ollama does.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaGenerateRequest {
    /// The model's name, with or without the tag `:latest`.
    model: String,
    /// What is judged; empty or left out, without pictures, asks whether the model is loaded.
    #[serde(default)]
    prompt: Option<String>,
    /// Instructions, put before each field's description.
    #[serde(default)]
    system: Option<String>,
    /// Pictures in base64.
    #[serde(default)]
    images: Option<Vec<String>>,
    /// The closed JSON schema of the answer.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    format: Option<Value>,
    /// Refused unless empty: nothing is generated that could end in it.
    #[serde(default)]
    suffix: Option<String>,
    /// Refused unless empty: the prompt form is the server's.
    #[serde(default)]
    template: Option<String>,
    /// Refused unless empty: answers have no context to go on from.
    #[serde(default)]
    #[schema(value_type = Option<Vec<i64>>)]
    context: Option<Vec<IgnoredAny>>,
    /// Refused if true: the prompt form is the server's.
    #[serde(default)]
    raw: Option<bool>,
    /// Whether the answer comes in lines; true if it is left out.
    #[serde(default)]
    stream: Option<bool>,
    /// Whether the probabilities also come as `logprobs`, one entry per field.
    #[serde(default)]
    logprobs: Option<bool>,
    /// How many options of each field `logprobs` lists, the most probable first.
    #[serde(default)]
    #[schema(maximum = 256)]
    top_logprobs: Option<u64>,
    /// Accepted: nothing is sampled, so that they change nothing.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    options: Option<Map<String, Value>>,
    /// Accepted: the model stays as long as the server runs.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be one")]
    keep_alive: Option<OllamaDuration>,
    /// Accepted: nothing is thought.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be one")]
    think: Option<OllamaThinking>,
}

/// Seconds, or a text such as `5m`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a number of seconds or a text such as \"5m\"")]
#[allow(dead_code, reason = "checked, not used")]
pub enum OllamaDuration {
    /// Seconds.
    Seconds(f64),
    /// A text such as `5m`.
    Text(String),
}

/// Whether, or how much, a model thinks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a boolean or a text such as \"low\"")]
#[allow(dead_code, reason = "checked, not used")]
pub enum OllamaThinking {
    /// Whether.
    Whether(bool),
    /// How much: `low`, `medium` or `high`.
    Much(String),
}

/// One message.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaMessage {
    /// Who says it.
    #[schema(value_type = OllamaRole)]
    role: Name<OllamaRole>,
    /// What is said.
    #[serde(default)]
    content: Option<String>,
    /// Pictures in base64, before the text.
    #[serde(default)]
    images: Option<Vec<String>>,
    /// Calls that the model made.
    #[serde(default)]
    #[schema(value_type = Option<Vec<OllamaToolCall>>)]
    tool_calls: Option<Vec<Object<OllamaToolCall>>>,
}

/// A call that the model made.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaToolCall {
    /// What was called.
    #[schema(value_type = OllamaCalledFunction)]
    function: Object<OllamaCalledFunction>,
}

/// What was called.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaCalledFunction {
    /// Its name.
    name: String,
    /// What it was called with.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Map<String, Value>,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OllamaRole {
    /// The application: put before each field's description.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// How an answer is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// In lines, or as one object.
    pub(super) stream: bool,
    /// As `logprobs` too, with so many options of each field.
    pub(super) logprobs: Option<usize>,
}

/// What a request asks, whichever route it came by.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) system: Vec<String>,
    /// What is judged; empty where the request only asks whether the model is loaded.
    pub(super) transcript: Transcript,
    pub(super) format: Option<Value>,
    pub(super) manner: Manner,
}

impl OllamaChatRequest {
    /// # Errors
    /// A field asks for what is not done here.
    pub(super) fn into_asked(self) -> Result<Asked, Problem> {
        if self.tools.is_some_and(|tools| !tools.is_empty()) {
            let message = "are offered, and Ollama's API has no way to force a call, which is what is answered here: \
                           describe the choice as an enum in `format`, or use POST /v1/chat/completions with `tool_choice`";
            return Err(Fault::value(Place::body().key("tools"), message).into());
        }
        let manner = manner(self.stream, self.logprobs, self.top_logprobs)?;
        let mut system = Vec::new();
        let mut transcript = Transcript::default();
        let place = Place::body().key("messages");
        for (index, Object(message)) in self.messages.unwrap_or_default().into_iter().enumerate() {
            let place = place.index(index);
            let speaker = match message.role.0 {
                OllamaRole::System => {
                    refuse_pictures(&message.images, &place)?;
                    system.extend(message.content);
                    continue;
                }
                OllamaRole::User => Speaker::User,
                OllamaRole::Assistant => Speaker::Assistant,
                OllamaRole::Tool => Speaker::Tool,
            };
            transcript.begin(speaker);
            pictures(&mut transcript, message.images, &place);
            if let Some(text) = message.content.filter(|text| !text.is_empty()) {
                transcript.text(text);
            }
            for Object(call) in message.tool_calls.unwrap_or_default() {
                let Object(OllamaCalledFunction { name, arguments }) = call.function;
                transcript.text(format!("calls {name}({})", Value::Object(arguments)));
            }
        }
        Ok(Asked {
            model: self.model,
            system,
            transcript,
            format: self.format,
            manner,
        })
    }
}

impl OllamaGenerateRequest {
    /// # Errors
    /// A field asks for what is not done here.
    pub(super) fn into_asked(self) -> Result<Asked, Problem> {
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let refused = [
            (
                "suffix",
                given(&self.suffix),
                "nothing is generated that could end in it",
            ),
            (
                "template",
                given(&self.template),
                "the prompt form is the server's",
            ),
            (
                "context",
                self.context.as_ref().is_some_and(|context| !context.is_empty()),
                "answers have no context to go on from; send the conversation to /api/chat",
            ),
            ("raw", self.raw == Some(true), "the prompt form is the server's"),
        ];
        for (field, given, why) in refused {
            if given {
                let message = format!("is not done here, since {why}: leave it out");
                return Err(Fault::value(Place::body().key(field), message).into());
            }
        }
        let mut transcript = Transcript::default();
        let images = self.images.unwrap_or_default();
        let prompt = self.prompt.filter(|prompt| !prompt.is_empty());
        if prompt.is_some() || !images.is_empty() {
            transcript.begin(Speaker::User);
            pictures(&mut transcript, Some(images), &Place::body());
            if let Some(prompt) = prompt {
                transcript.text(prompt);
            }
        }
        Ok(Asked {
            model: self.model,
            system: self.system.into_iter().collect(),
            transcript,
            format: self.format,
            manner: manner(self.stream, self.logprobs, self.top_logprobs)?,
        })
    }
}

fn manner(stream: Option<bool>, logprobs: Option<bool>, top: Option<u64>) -> Result<Manner, Problem> {
    let place = Place::body().key("top_logprobs");
    let top = top.unwrap_or(0);
    if top > MOST_ALTERNATIVES {
        let message = format!("is {top}: use a whole number from 0 to {MOST_ALTERNATIVES}");
        return Err(Fault::value(place, message).into());
    }
    Ok(Manner {
        stream: stream.unwrap_or(true),
        // At most 256.
        logprobs: (logprobs == Some(true)).then_some(top as usize),
    })
}

/// Pictures stand before the text, as Ollama's prompt forms put them.
fn pictures(transcript: &mut Transcript, images: Option<Vec<String>>, place: &Place) {
    let place = place.key("images");
    for (index, data) in images.unwrap_or_default().into_iter().enumerate() {
        transcript.picture(PictureSource::Base64(data), place.index(index));
    }
}

fn refuse_pictures(images: &Option<Vec<String>>, place: &Place) -> Result<(), Problem> {
    if images.as_ref().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let message =
        "stand in a system message, which is no part of the state: send them with a message of the user";
    Err(Fault::value(place.key("images"), message).into())
}

/// The schema that `format` holds.
///
/// # Errors
/// It holds none, or is left out.
pub(super) fn schema(format: Option<Value>) -> Result<Value, Problem> {
    let place = Place::body().key("format");
    const REMEDY: &str =
        "give a JSON schema whose every field is closed (enum, const, boolean or bounded integer)";
    match format {
        Some(schema @ Value::Object(_)) => Ok(schema),
        None | Some(Value::Null) => {
            let message = format!("is missing, and this server writes no free text: {REMEDY}");
            Err(Fault::missing(place, message).into())
        }
        Some(Value::String(name)) if name.is_empty() => {
            let message = format!("is empty, and this server writes no free text: {REMEDY}");
            Err(Fault::value(place, message).into())
        }
        Some(Value::String(name)) => {
            let message = format!(
                "is {:?}, which leaves the answer open, and this server answers closed questions: {REMEDY}",
                excerpt(&name)
            );
            Err(Fault::value(place, message).into())
        }
        Some(_) => Err(Fault::value(place, format!("is no JSON schema: {REMEDY}")).into()),
    }
}
