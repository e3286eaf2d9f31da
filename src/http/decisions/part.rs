//! Parts of messages, of outputs of tools and of instructions.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::fields::{self, Name, Object};
use crate::http::problem::{Fault, Problem};
use crate::http::transcript::{PictureSource, Transcript};
use crate::http::untyped::{kind, unexpected};
use crate::strict_json::{Place, excerpt};

/// Most objects and arrays one inside the other in the data of an `input_json`.
const MAX_JSON_LEVELS: usize = 32;
/// Most values in it, objects and arrays among them.
const MAX_JSON_VALUES: usize = 10_000;
/// Most bytes of it as compact JSON.
const MAX_JSON_BYTES: usize = 256 << 10;

/// A part.
#[derive(Debug, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DecisionPart {
    /// Text.
    InputText(InputText),
    /// A picture.
    InputImage(InputImage),
    /// Data, which the model reads as compact JSON.
    InputJson(InputJson),
    /// What the assistant said.
    OutputText(OutputText),
    /// What the assistant said where it refused.
    Refusal(RefusalText),
}

/// Text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputText {
    /// The text.
    text: String,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[schema(value_type = Option<CacheBreakpoint>)]
    prompt_cache_breakpoint: Option<Object<CacheBreakpoint>>,
}

/// A picture.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputImage {
    /// A data URL in base64, or an http(s) URL where the server was started with `--allow-media-urls`.
    image_url: String,
    /// Accepted: the model has one resolution.
    #[serde(default)]
    #[schema(value_type = Option<ImageDetail>)]
    #[allow(dead_code, reason = "checked to be one of the names")]
    detail: Option<Name<ImageDetail>>,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[schema(value_type = Option<CacheBreakpoint>)]
    prompt_cache_breakpoint: Option<Object<CacheBreakpoint>>,
}

/// How closely a picture is looked at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the API gives no more than the names")]
pub enum ImageDetail {
    Low,
    High,
    Auto,
    Original,
}

/// Data: at most 32 objects and arrays one inside the other, 10,000 values, and 256 KiB as compact JSON.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputJson {
    /// An object, or an array of objects.
    #[schema(value_type = JsonData)]
    data: Value,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[schema(value_type = Option<CacheBreakpoint>)]
    prompt_cache_breakpoint: Option<Object<CacheBreakpoint>>,
}

/// An object, or an array of objects.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is read by hand")]
#[serde(untagged)]
pub enum JsonData {
    /// One object.
    One(serde_json::Map<String, Value>),
    /// Several.
    Several(Vec<serde_json::Map<String, Value>>),
}

/// What the assistant said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputText {
    /// The text.
    text: String,
}

/// What the assistant said where it refused.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusalText {
    /// The text.
    refusal: String,
}

/// The end of a prompt that is kept elsewhere.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheBreakpoint {
    /// Always `explicit`.
    #[schema(value_type = BreakpointMode)]
    #[allow(dead_code, reason = "checked to be the name")]
    mode: Name<BreakpointMode>,
}

/// Always `explicit`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BreakpointMode {
    /// The only mode.
    Explicit,
}

/// What has parts, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartsOf {
    User,
    /// The system or a developer.
    Application,
    Assistant,
    /// What a tool gave.
    Output,
    /// The instructions of a question.
    Question,
}

impl PartsOf {
    fn allowed(self) -> &'static [&'static str] {
        match self {
            Self::User | Self::Question => &["input_text", "input_image", "input_json"],
            Self::Application => &["input_text"],
            Self::Assistant => &["output_text", "refusal"],
            Self::Output => &["input_text", "input_image"],
        }
    }
}

/// A part as it was read.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// With the place of its URL.
    Picture(PictureSource, Place),
    Json(Value),
}

impl Part {
    /// Adds it to the last message.
    pub(super) fn say(self, transcript: &mut Transcript) {
        match self {
            Self::Text(text) => transcript.text(text),
            Self::Picture(source, place) => transcript.picture(source, place),
            Self::Json(data) => transcript.text(data.to_string()),
        }
    }
}

/// Reads `content`, a string or an array of parts, which stands at `place`.
///
/// # Errors
/// It is neither, is an empty array, or a part is not one that `of` has.
pub(super) fn read_parts(content: Value, of: PartsOf, place: &Place) -> Result<Vec<Part>, Problem> {
    let parts = match content {
        Value::String(text) => return Ok(vec![Part::Text(text)]),
        Value::Array(parts) => parts,
        other => return Err(unexpected(&other, place, "a string or an array of parts")),
    };
    if parts.is_empty() {
        return Err(Fault::value(place.clone(), "is empty: give a string or at least one part").into());
    }
    let parts = parts.into_iter().enumerate();
    parts
        .map(|(index, part)| read_part(part, of, &place.index(index)))
        .collect()
}

fn read_part(mut part: Value, of: PartsOf, place: &Place) -> Result<Part, Problem> {
    let kind = kind(&part, place)?.to_owned();
    let allowed = of.allowed();
    if !allowed.contains(&kind.as_str()) {
        let message = format!("is {:?}: use {}", excerpt(&kind), allowed.join(", "));
        return Err(Fault::value(place.key("type"), message).into());
    }
    if let Value::Object(fields) = &mut part {
        fields.shift_remove("type");
    }
    let part = match kind.as_str() {
        "input_text" => DecisionPart::InputText(fields::read(part, place)?),
        "input_image" => DecisionPart::InputImage(fields::read(part, place)?),
        "input_json" => DecisionPart::InputJson(fields::read(part, place)?),
        "output_text" => DecisionPart::OutputText(fields::read(part, place)?),
        _ => DecisionPart::Refusal(fields::read(part, place)?),
    };
    if of == PartsOf::Question && part.has_breakpoint() {
        let message = "does not belong to a question: leave it out";
        return Err(Fault::value(place.key("prompt_cache_breakpoint"), message).into());
    }
    Ok(match part {
        DecisionPart::InputText(InputText { text, .. }) | DecisionPart::OutputText(OutputText { text }) => {
            Part::Text(text)
        }
        DecisionPart::Refusal(RefusalText { refusal }) => Part::Text(refusal),
        DecisionPart::InputImage(image) => {
            Part::Picture(PictureSource::Url(image.image_url), place.key("image_url"))
        }
        DecisionPart::InputJson(json) => {
            check_data(&json.data, &place.key("data"))?;
            Part::Json(json.data)
        }
    })
}

impl DecisionPart {
    fn has_breakpoint(&self) -> bool {
        match self {
            Self::InputText(part) => part.prompt_cache_breakpoint.is_some(),
            Self::InputImage(part) => part.prompt_cache_breakpoint.is_some(),
            Self::InputJson(part) => part.prompt_cache_breakpoint.is_some(),
            Self::OutputText(_) | Self::Refusal(_) => false,
        }
    }
}

fn check_data(data: &Value, place: &Place) -> Result<(), Problem> {
    match data {
        Value::Object(_) => {}
        Value::Array(items) => {
            if let Some(index) = items.iter().position(|item| !item.is_object()) {
                let item = items.get(index).unwrap_or(&Value::Null);
                return Err(unexpected(item, &place.index(index), "an object"));
            }
        }
        other => return Err(unexpected(other, place, "an object or an array of objects")),
    }
    let refuse = |message: String| Err(Problem::from(Fault::value(place.clone(), message)));
    let levels = levels(data);
    if levels > MAX_JSON_LEVELS {
        return refuse(format!(
            "nests {levels} objects and arrays: nest at most {MAX_JSON_LEVELS}"
        ));
    }
    let values = values(data);
    if values > MAX_JSON_VALUES {
        return refuse(format!("has {values} values: give at most {MAX_JSON_VALUES}"));
    }
    let bytes = data.to_string().len();
    if bytes > MAX_JSON_BYTES {
        return refuse(format!(
            "is {bytes} bytes of compact JSON: give at most {MAX_JSON_BYTES}"
        ));
    }
    Ok(())
}

/// Objects and arrays one inside the other. The depth of a body is bounded, so that this may recurse.
fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(data: Value) -> Result<(), Problem> {
        check_data(&data, &Place::body().key("data"))
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, _| json!({"a": inner}))
    }

    #[test]
    fn data_is_bounded() {
        assert!(data(nested(32)).is_ok());
        assert!(data(nested(33)).unwrap_err().message().contains("nests 33"));
        // The array and the objects in it are values as well.
        assert!(data(json!(vec![json!({}); 9_999])).is_ok());
        let many = data(json!(vec![json!({}); 10_000])).unwrap_err();
        assert!(many.message().contains("10001 values"), "{}", many.message());
        let long = |bytes: usize| json!({"a": "é".repeat((bytes - 8) / 2)});
        assert_eq!(long(256 << 10).to_string().len(), 256 << 10);
        assert!(data(long(256 << 10)).is_ok());
        assert!(
            data(long((256 << 10) + 2))
                .unwrap_err()
                .message()
                .contains("262146")
        );
        assert!(
            data(json!("a"))
                .unwrap_err()
                .message()
                .contains("an object or an array of objects")
        );
        assert!(
            data(json!([{}, []]))
                .unwrap_err()
                .message()
                .contains("data[1]: is an array")
        );
    }
}
