//! The input of a request: a string, or the items of a conversation.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::part::{DecisionPart, PartsOf, read_parts};
use crate::http::conversation::Speaker;
use crate::http::fields::{self, Name};
use crate::http::problem::{Fault, Problem};
use crate::http::transcript::Transcript;
use crate::http::untyped::{kind, unexpected};
use crate::strict_json::{Place, excerpt};

/// A string, or messages and calls of tools with their outputs, in order.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is read by hand")]
#[serde(untagged)]
pub enum DecisionInput {
    /// What the user says.
    Text(String),
    /// At least one item.
    Items(Vec<DecisionItem>),
}

/// An item.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is read by hand")]
#[serde(untagged)]
pub enum DecisionItem {
    /// A message.
    Message(DecisionMessage),
    /// A call of a tool, or what it gave.
    Call(DecisionCall),
}

/// A message; its `type`, `message`, may be left out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionMessage {
    /// Always `message`.
    #[serde(default, rename = "type")]
    #[schema(value_type = Option<MessageType>)]
    #[allow(dead_code, reason = "checked to be the name")]
    kind: Option<Name<MessageType>>,
    /// Who says it.
    #[schema(value_type = DecisionRole)]
    role: Name<DecisionRole>,
    /// A string or parts: of a user `input_text`, `input_image` and `input_json`, of the system and a developer
    /// `input_text`, of the assistant `output_text` and `refusal`.
    #[schema(value_type = DecisionContent)]
    content: Value,
    /// Of the assistant's: accepted, and not shown to the model.
    #[serde(default)]
    #[schema(value_type = Option<MessagePhase>)]
    phase: Option<Name<MessagePhase>>,
}

/// Always `message`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageType {
    /// The only type.
    Message,
}

/// A string, or an array of parts.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is read by hand")]
#[serde(untagged)]
pub enum DecisionContent {
    /// Text.
    Text(String),
    /// At least one part.
    Parts(Vec<DecisionPart>),
}

/// Who says a message.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionRole {
    /// The person.
    User,
    /// The application's developer.
    Developer,
    /// The application.
    System,
    /// The model.
    Assistant,
}

/// What a message of the assistant is to its turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the API gives no more than the names")]
pub enum MessagePhase {
    Commentary,
    FinalAnswer,
}

/// A call of a tool, or what it gave. Every output names the `call_id` of a call before it.
#[derive(Debug, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DecisionCall {
    /// A call with JSON arguments.
    FunctionCall(FunctionCall),
    /// What it gave.
    FunctionCallOutput(CallOutput),
    /// A call with text.
    CustomToolCall(CustomToolCall),
    /// What it gave.
    CustomToolCallOutput(CallOutput),
}

/// A call with JSON arguments.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionCall {
    /// Its id, different from that of every other call.
    call_id: String,
    /// The tool.
    name: String,
    /// JSON as text; it is shown as it is.
    arguments: String,
    /// Accepted, and not shown.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    id: Option<String>,
    /// Written before the name.
    #[serde(default)]
    namespace: Option<String>,
    /// Accepted, and not shown.
    #[serde(default)]
    #[schema(value_type = Option<CallStatus>)]
    #[allow(dead_code, reason = "checked to be one of the names")]
    status: Option<Name<CallStatus>>,
}

/// A call with text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomToolCall {
    /// Its id, different from that of every other call.
    call_id: String,
    /// The tool.
    name: String,
    /// What the tool is given.
    input: String,
    /// Accepted, and not shown.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    id: Option<String>,
    /// Written before the name.
    #[serde(default)]
    namespace: Option<String>,
    /// Accepted, and not shown.
    #[serde(default)]
    #[schema(value_type = Option<CallStatus>)]
    #[allow(dead_code, reason = "checked to be one of the names")]
    status: Option<Name<CallStatus>>,
}

/// What a tool gave.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallOutput {
    /// That of the call.
    call_id: String,
    /// A string, or parts: `input_text` and `input_image`.
    #[schema(value_type = DecisionContent)]
    output: Value,
    /// Accepted, and not shown.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    id: Option<String>,
    /// Accepted, and not shown.
    #[serde(default)]
    #[schema(value_type = Option<CallStatus>)]
    #[allow(dead_code, reason = "checked to be one of the names")]
    status: Option<Name<CallStatus>>,
}

/// How far a call is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the API gives no more than the names")]
pub enum CallStatus {
    InProgress,
    Completed,
    Incomplete,
}

/// Reads `input`, which stands at `place`.
///
/// # Errors
/// It is neither a string nor items, an item is not one that is read here, or an output has no call.
pub(super) fn read_input(input: Value, place: &Place) -> Result<Transcript, Problem> {
    let mut reader = Reader::default();
    match input {
        Value::String(text) => {
            reader.transcript.begin(Speaker::User);
            reader.transcript.text(text);
        }
        Value::Array(items) if items.is_empty() => {
            return Err(Fault::value(place.clone(), "is empty: give a string or at least one item").into());
        }
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                reader.item(item, &place.index(index))?;
            }
        }
        other => return Err(unexpected(&other, place, "a string or an array of items")),
    }
    Ok(reader.transcript)
}

#[derive(Default)]
struct Reader {
    transcript: Transcript,
    function_calls: HashSet<String>,
    custom_calls: HashSet<String>,
}

impl Reader {
    fn item(&mut self, mut item: Value, place: &Place) -> Result<(), Problem> {
        if item.is_object() && item.get("type").is_none() {
            return self.message(fields::read(item, place)?, place);
        }
        let kind = kind(&item, place)?.to_owned();
        if kind == "message" {
            return self.message(fields::read(item, place)?, place);
        }
        if let Value::Object(fields) = &mut item {
            fields.shift_remove("type");
        }
        match kind.as_str() {
            "function_call" => self.call(DecisionCall::FunctionCall(fields::read(item, place)?), place),
            "function_call_output" => self.call(
                DecisionCall::FunctionCallOutput(fields::read(item, place)?),
                place,
            ),
            "custom_tool_call" => self.call(DecisionCall::CustomToolCall(fields::read(item, place)?), place),
            "custom_tool_call_output" => self.call(
                DecisionCall::CustomToolCallOutput(fields::read(item, place)?),
                place,
            ),
            other => {
                let message = format!(
                    "is {:?}: use message, function_call, function_call_output, custom_tool_call or \
                     custom_tool_call_output",
                    excerpt(other)
                );
                Err(Fault::value(place.key("type"), message).into())
            }
        }
    }

    fn message(&mut self, message: DecisionMessage, place: &Place) -> Result<(), Problem> {
        let Name(role) = message.role;
        if message.phase.is_some() && !matches!(role, DecisionRole::Assistant) {
            let message = "belongs to the assistant's messages: leave it out";
            return Err(Fault::value(place.key("phase"), message).into());
        }
        let (speaker, parts) = match role {
            DecisionRole::User => (Speaker::User, PartsOf::User),
            DecisionRole::Developer => (Speaker::Developer, PartsOf::Application),
            DecisionRole::System => (Speaker::System, PartsOf::Application),
            DecisionRole::Assistant => (Speaker::Assistant, PartsOf::Assistant),
        };
        self.transcript.begin(speaker);
        self.parts(message.content, parts, &place.key("content"))
    }

    fn parts(&mut self, content: Value, of: PartsOf, place: &Place) -> Result<(), Problem> {
        for part in read_parts(content, of, place)? {
            part.say(&mut self.transcript);
        }
        Ok(())
    }

    fn call(&mut self, call: DecisionCall, place: &Place) -> Result<(), Problem> {
        match call {
            DecisionCall::FunctionCall(call) => {
                self.calls(call.namespace, &call.name, &call.arguments);
                remember(&mut self.function_calls, call.call_id, place)
            }
            DecisionCall::CustomToolCall(call) => {
                self.calls(call.namespace, &call.name, &call.input);
                remember(&mut self.custom_calls, call.call_id, place)
            }
            DecisionCall::FunctionCallOutput(output) => {
                find(&self.function_calls, &output.call_id, "function_call", place)?;
                self.transcript.begin(Speaker::Tool);
                self.parts(output.output, PartsOf::Output, &place.key("output"))
            }
            DecisionCall::CustomToolCallOutput(output) => {
                find(&self.custom_calls, &output.call_id, "custom_tool_call", place)?;
                self.transcript.begin(Speaker::Tool);
                self.parts(output.output, PartsOf::Output, &place.key("output"))
            }
        }
    }

    /// Writes a call, as part of what the assistant said before it.
    fn calls(&mut self, namespace: Option<String>, name: &str, given: &str) {
        let namespace = namespace.map_or(String::new(), |namespace| format!("{namespace}."));
        self.transcript.go_on(Speaker::Assistant);
        self.transcript.text(format!("calls {namespace}{name}({given})"));
    }
}

fn remember(calls: &mut HashSet<String>, id: String, place: &Place) -> Result<(), Problem> {
    match calls.replace(id) {
        None => Ok(()),
        Some(id) => {
            let message = format!(
                "{:?} is also the id of a call before it: ids must differ",
                excerpt(&id)
            );
            Err(Fault::value(place.key("call_id"), message).into())
        }
    }
}

fn find(calls: &HashSet<String>, id: &str, kind: &str, place: &Place) -> Result<(), Problem> {
    if calls.contains(id) {
        return Ok(());
    }
    let message = format!(
        "is {:?}, and no {kind} before it has that call_id: send the call as well",
        excerpt(id)
    );
    Err(Fault::value(place.key("call_id"), message).into())
}

#[cfg(test)]
mod tests {
    use assize_preprocess::Until;
    use serde_json::json;

    use super::*;

    fn state(input: Value) -> String {
        let place = Place::body().key("input");
        let transcript = read_input(input, &place).unwrap();
        let (state, _) = transcript.into_state(None, &Until::default(), &place).unwrap();
        state.to_text().into_owned()
    }

    #[test]
    fn one_text_of_the_user_is_the_state_itself() {
        for input in [
            json!("a\nb"),
            json!([{"role": "user", "content": "a\nb"}]),
            json!([{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_text", "text": "b", "prompt_cache_breakpoint": null}]}]),
        ] {
            assert_eq!(state(input), "a\nb");
        }
        let json = json!([{"role": "user", "content": [{"type": "input_json", "data": {"b": [1, null], "a": "é"}}]}]);
        assert_eq!(state(json), r#"{"b":[1,null],"a":"é"}"#);
    }

    #[test]
    fn a_conversation_is_written_with_its_speakers() {
        let input = json!([
            {"role": "system", "content": "Be strict."},
            {"role": "developer", "content": [{"type": "input_text", "text": "Be fair."}]},
            {"role": "user", "content": "Where is it?"},
            {"role": "assistant", "phase": "commentary", "content": [
                {"type": "output_text", "text": "Let me see."}, {"type": "refusal", "refusal": "No guess."}]},
            {"type": "function_call", "call_id": "1", "name": "find", "namespace": "shop", "arguments": "{\"id\": 7}",
             "id": null, "status": "completed"},
            {"type": "custom_tool_call", "call_id": "1", "name": "note", "input": "looked"},
            {"type": "function_call_output", "call_id": "1", "output": "lost", "status": null},
            {"type": "custom_tool_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "ok"}]},
        ]);
        assert_eq!(
            state(input),
            "System: Be strict.\n\nDeveloper: Be fair.\n\nUser: Where is it?\n\nAssistant: Let me see.\nNo guess.\n\
             calls shop.find({\"id\": 7})\ncalls note(looked)\n\nTool: lost\n\nTool: ok"
        );
    }
}
