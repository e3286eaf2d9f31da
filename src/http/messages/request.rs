//! The body of `POST /v1/messages`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::content::{MessageContent, MessageParam, Said};
use super::written_bounds;
use crate::http::fields::{Name, Object};
use crate::http::problem::{Fault, Problem};
use crate::http::whole_number::WholeNumber;
use crate::strict_json::{Place, excerpt};

/// Tokens that a request may allow for the answer, which takes none.
type MaxTokens = WholeNumber<{ i32::MAX as u64 }>;

/// A conversation, and the tools or the schema that say what is asked about it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesRequest {
    /// The model's name or an alias.
    model: String,
    /// What is judged.
    #[schema(value_type = Vec<MessageParam>, min_items = 1)]
    messages: Vec<Object<MessageParam>>,
    /// Instructions: a string, or an array of text blocks. They are put before each question's own.
    #[serde(default)]
    #[schema(value_type = Option<MessageContent>)]
    system: Option<Value>,
    /// Required, except for counting tokens; nothing is generated, so that it changes nothing.
    #[serde(default)]
    #[schema(value_type = i32, required = true, minimum = 1)]
    max_tokens: Option<MaxTokens>,
    /// Tools whose `input_schema` is closed: every field an enum, a const, a boolean or a bounded integer.
    #[serde(default)]
    #[schema(value_type = Option<Vec<MessagesTool>>)]
    tools: Option<Vec<Object<MessagesTool>>>,
    /// `{"type": "any"}` asks which tool is called, `{"type": "tool", "name": ...}` names it.
    #[serde(default)]
    #[schema(value_type = Option<MessagesToolChoice>)]
    tool_choice: Option<Object<MessagesToolChoice>>,
    /// Its `format` is the closed JSON schema of an answer in text.
    #[serde(default)]
    #[schema(value_type = Option<OutputConfig>)]
    output_config: Option<Object<OutputConfig>>,
    /// An older name of `output_config.format`.
    #[serde(default)]
    #[schema(value_type = Option<OutputFormat>)]
    output_format: Option<Object<OutputFormat>>,
    /// Whether the answer comes as server-sent events.
    #[serde(default)]
    stream: Option<bool>,
    /// Accepted: nothing is sampled.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1)]
    temperature: Option<f64>,
    /// Accepted: nothing is sampled.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f64>,
    /// Accepted: nothing is sampled.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a number")]
    top_k: Option<i64>,
    /// Accepted: nothing is generated that could be stopped.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be texts")]
    stop_sequences: Option<Vec<String>>,
    /// Accepted, and kept by nobody.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    metadata: Option<Map<String, Value>>,
    /// Accepted: nothing is thought.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    thinking: Option<Map<String, Value>>,
    /// Accepted: there is one tier.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    service_tier: Option<String>,
    /// Accepted: there is one speed.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    speed: Option<String>,
    /// Accepted: there is one place.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    inference_geo: Option<String>,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    cache_control: Option<Map<String, Value>>,
    /// Accepted: there are none.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[allow(dead_code, reason = "checked to be an object")]
    diagnostics: Option<Map<String, Value>>,
    /// Refused: nothing is run.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    container: Option<IgnoredAny>,
    /// Refused unless empty: no other server is asked.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>, max_items = 0)]
    mcp_servers: Option<Vec<IgnoredAny>>,
    /// Refused: conversations are judged as they are sent.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    context_management: Option<IgnoredAny>,
}

/// A request whose tokens are counted: the same, but `max_tokens` may be left out.
pub(super) struct CountTokensRequest;

impl PartialSchema for CountTokensRequest {
    fn schema() -> RefOr<Schema> {
        let mut schema = MessagesRequest::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.required.retain(|field| field != "max_tokens");
            object
                .properties
                .insert("max_tokens".to_owned(), Option::<i32>::schema());
        }
        schema
    }
}

impl ToSchema for CountTokensRequest {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        MessagesRequest::schemas(schemas);
    }
}

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
pub struct MessagesTool {
    /// `custom`, or left out: tools that the service itself runs are refused.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Its name.
    name: String,
    /// What it does, which the model reads.
    #[serde(default)]
    description: Option<String>,
    /// The closed JSON schema of its input.
    #[serde(default)]
    #[schema(value_type = Object, required = true)]
    input_schema: Option<Value>,
}

/// Which tool is called.
#[derive(Debug, Deserialize, ToSchema)]
pub struct MessagesToolChoice {
    /// Whether the tool is named, or is what is asked.
    #[serde(rename = "type")]
    #[schema(value_type = MessagesToolChoiceType)]
    kind: Name<MessagesToolChoiceType>,
    /// The tool, where it is named.
    #[serde(default)]
    name: Option<String>,
    /// Accepted: there is always exactly one call.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a boolean")]
    disable_parallel_tool_use: Option<bool>,
}

/// Whether a tool is called, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessagesToolChoiceType {
    /// Any of the tools: which one is asked.
    Any,
    /// The one that is named.
    Tool,
    /// Refused: whether to call at all is open.
    Auto,
    /// None: the answer is text, whose schema `output_config.format` gives.
    None,
}

/// How the answer is to be written.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OutputConfig {
    /// Its schema.
    #[serde(default)]
    #[schema(value_type = Option<OutputFormat>)]
    format: Option<Object<OutputFormat>>,
    /// Accepted: an answer is one forward pass.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    effort: Option<String>,
}

/// The schema of an answer in text.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OutputFormat {
    /// Always `json_schema`.
    #[serde(rename = "type")]
    kind: String,
    /// The closed JSON schema.
    #[schema(value_type = Object)]
    schema: Value,
}

/// What a request asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Wanted {
    /// A call of one of these tools.
    Call {
        tools: Vec<OfferedTool>,
        /// The index of the one that is named; `None` asks which.
        named: Option<usize>,
    },
    /// A text that holds the JSON of a schema, which stands at a place.
    Text { schema: Value, place: Place },
}

/// A tool that may be called.
#[derive(Debug, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) schema: Value,
    /// Where it stands.
    pub(super) place: Place,
}

/// A request whose fields were checked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) said: Said,
    pub(super) wanted: Wanted,
    pub(super) stream: bool,
}

const NO_TEXT: &str = "this server writes no free text: set `tool_choice` to {\"type\": \"any\"} or to {\"type\": \"tool\", \
                       \"name\": ...}, or give a closed JSON schema as `output_config.format`";

impl MessagesRequest {
    /// Checks what the types alone do not. `generates` is whether `max_tokens` must be there.
    ///
    /// # Errors
    /// A field is missing, or asks for what is not done here.
    pub(super) fn into_asked(self, generates: bool) -> Result<Asked, Problem> {
        let body = Place::body();
        if generates && self.max_tokens.is_none() {
            let message = "missing field `max_tokens`";
            return Err(Fault::missing(body.key("max_tokens"), message).into());
        }
        for (field, value) in [("temperature", self.temperature), ("top_p", self.top_p)] {
            if let Some(value) = value
                && !(0.0..=1.0).contains(&value)
            {
                let message = format!("is {value}: use a number from 0 to 1");
                return Err(Fault::value(body.key(field), message).into());
            }
        }
        for (field, given, why) in [
            ("container", self.container.is_some(), "nothing is run here"),
            (
                "mcp_servers",
                self.mcp_servers.is_some_and(|servers| !servers.is_empty()),
                "no other server is asked",
            ),
            (
                "context_management",
                self.context_management.is_some(),
                "a conversation is judged as it is sent",
            ),
        ] {
            if given {
                return Err(
                    Fault::value(body.key(field), format!("is not done here: {why}; leave it out")).into(),
                );
            }
        }
        let format = format(self.output_config, self.output_format)?;
        let wanted = wanted(self.tools.unwrap_or_default(), self.tool_choice, format)?;
        Ok(Asked {
            model: self.model,
            said: Said::read(self.system, self.messages)?,
            wanted,
            stream: self.stream.unwrap_or(false),
        })
    }
}

/// The schema of an answer in text, and where it stands.
fn format(
    config: Option<Object<OutputConfig>>,
    older: Option<Object<OutputFormat>>,
) -> Result<Option<(Value, Place)>, Problem> {
    let newer = config.and_then(|Object(config)| config.format);
    let (Object(format), place) = match (newer, older) {
        (None, None) => return Ok(None),
        (Some(format), None) => (format, Place::body().key("output_config").key("format")),
        (None, Some(format)) => (format, Place::body().key("output_format")),
        (Some(_), Some(_)) => {
            let message = "is an older name of `output_config.format`: give one of them";
            return Err(Fault::value(Place::body().key("output_format"), message).into());
        }
    };
    if format.kind != "json_schema" {
        let message = format!("is {:?}: use \"json_schema\"", excerpt(&format.kind));
        return Err(Fault::value(place.key("type"), message).into());
    }
    let mut schema = format.schema;
    if !schema.is_object() {
        return Err(Fault::value(place.key("schema"), "is no JSON schema: give an object").into());
    }
    written_bounds::restore(&mut schema);
    Ok(Some((schema, place.key("schema"))))
}

fn wanted(
    tools: Vec<Object<MessagesTool>>,
    choice: Option<Object<MessagesToolChoice>>,
    format: Option<(Value, Place)>,
) -> Result<Wanted, Problem> {
    let place = Place::body().key("tool_choice");
    let kind = choice.as_ref().map(|Object(choice)| choice.kind.0);
    match (kind, format) {
        (Some(MessagesToolChoiceType::Any | MessagesToolChoiceType::Tool), _) => {
            let tools = offered(tools)?;
            let named = match choice.and_then(|Object(choice)| named(choice).transpose()) {
                None => None,
                Some(name) => {
                    let name = name?;
                    let index = tools.iter().position(|tool| tool.name == name);
                    let Some(index) = index else {
                        let message = format!("{:?} is none of the tools", excerpt(&name));
                        return Err(Fault::value(place.key("name"), message).into());
                    };
                    Some(index)
                }
            };
            Ok(Wanted::Call { tools, named })
        }
        (Some(MessagesToolChoiceType::None), Some((schema, place))) => Ok(Wanted::Text { schema, place }),
        (None | Some(MessagesToolChoiceType::Auto), Some((schema, place))) if tools.is_empty() => {
            Ok(Wanted::Text { schema, place })
        }
        (None | Some(MessagesToolChoiceType::Auto), Some(_)) => {
            let message = "leaves open whether a tool is called, which is not decided here: set it to \
                           {\"type\": \"any\"} for a call or to {\"type\": \"none\"} for the text of `output_config.format`";
            Err(Fault::value(place, message).into())
        }
        (Some(MessagesToolChoiceType::Auto), None) => {
            Err(Fault::value(place.key("type"), format!("is \"auto\", and {NO_TEXT}")).into())
        }
        (Some(MessagesToolChoiceType::None), None) => {
            Err(Fault::value(place.key("type"), format!("is \"none\", and {NO_TEXT}")).into())
        }
        (None, None) => Err(Fault::missing(place, format!("is missing, and {NO_TEXT}")).into()),
    }
}

/// The name in a choice, where that is one of a named tool.
fn named(choice: MessagesToolChoice) -> Result<Option<String>, Problem> {
    let place = Place::body().key("tool_choice").key("name");
    match (choice.kind.0, choice.name) {
        (MessagesToolChoiceType::Tool, Some(name)) => Ok(Some(name)),
        (MessagesToolChoiceType::Tool, None) => {
            Err(Fault::missing(place, "is missing: the tool that is called").into())
        }
        (_, Some(_)) => {
            let message =
                "stands beside a type other than \"tool\": set the type to \"tool\", or leave the name out";
            Err(Fault::value(place, message).into())
        }
        (_, None) => Ok(None),
    }
}

fn offered(tools: Vec<Object<MessagesTool>>) -> Result<Vec<OfferedTool>, Problem> {
    let list = Place::body().key("tools");
    if tools.is_empty() {
        let message = "is empty or missing: `tool_choice` asks for a call of one of them";
        return Err(Fault::missing(list, message).into());
    }
    let mut offered: Vec<OfferedTool> = Vec::with_capacity(tools.len());
    for (index, Object(tool)) in tools.into_iter().enumerate() {
        let place = list.index(index);
        if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
            let message = format!(
                "is {:?}, a tool that the service itself runs: give a tool of your own, with `input_schema`",
                excerpt(kind)
            );
            return Err(Fault::value(place.key("type"), message).into());
        }
        if offered.iter().any(|other| other.name == tool.name) {
            let message = format!(
                "{:?} is also the name of another tool: names must differ",
                excerpt(&tool.name)
            );
            return Err(Fault::value(place.key("name"), message).into());
        }
        let Some(mut schema) = tool.input_schema else {
            return Err(Fault::missing(place.key("input_schema"), "missing field `input_schema`").into());
        };
        written_bounds::restore(&mut schema);
        offered.push(OfferedTool {
            name: tool.name,
            description: tool.description,
            schema,
            place,
        });
    }
    Ok(offered)
}
