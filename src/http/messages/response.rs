//! The answer of `POST /v1/messages`.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::plan::{Outcome, Plan};
use crate::http::closed_fields::FieldAnswer;
use crate::http::pipeline::Answered;
use crate::service::Service;

/// A message of the model: one call of a tool, or one text that holds JSON.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagesResponse {
    /// `msg_` and an id of its own.
    pub(super) id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Always `assistant`.
    role: &'static str,
    /// The model's name.
    model: String,
    /// Always one block.
    pub(super) content: Vec<ContentBlock>,
    /// `tool_use` after a call, `end_turn` after a text.
    pub(super) stop_reason: &'static str,
    /// Always null: nothing is generated that could be stopped.
    stop_sequence: Option<String>,
    /// What the request cost.
    pub(super) usage: MessagesUsage,
    /// The probabilities.
    x_assize: MessagesExtension,
}

/// What this server adds.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagesExtension {
    /// Which tool is called, where that was asked.
    tool: Option<FieldAnswer>,
    /// Per field of the tool that is called, or of the schema.
    fields: Vec<FieldAnswer>,
}

impl MessagesResponse {
    /// The message that the answers make.
    pub(super) fn new(service: &Service, answered: Answered<Plan>) -> Self {
        let Outcome { block, tool, fields } = answered.extra.outcome(&answered.answers);
        Self {
            id: format!("msg_{}", Uuid::now_v7().simple()),
            kind: "message",
            role: "assistant",
            model: service.name().to_owned(),
            stop_reason: match &block {
                ContentBlock::Text { .. } => "end_turn",
                ContentBlock::ToolUse { .. } => "tool_use",
            },
            content: vec![block],
            stop_sequence: None,
            usage: MessagesUsage::new(answered.input_tokens),
            x_assize: MessagesExtension { tool, fields },
        }
    }
}

/// What the model says.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// A text, which holds the JSON of the answer.
    Text {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    ToolUse {
        /// `toolu_` and an id of its own.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with.
        #[schema(value_type = Object)]
        input: Value,
    },
}

/// What a request cost.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct MessagesUsage {
    /// Tokens that the forward pass computed.
    input_tokens: usize,
    /// Always 0: nothing is generated.
    output_tokens: usize,
    /// Always 0: prompts are not kept.
    cache_creation_input_tokens: usize,
    /// Always 0: prompts are not kept.
    cache_read_input_tokens: usize,
}

/// Tokens of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenCount {
    /// Tokens that answering it would take, which is what `usage.input_tokens` would say.
    pub(super) input_tokens: usize,
}

impl MessagesUsage {
    fn new(input_tokens: usize) -> Self {
        Self {
            input_tokens,
            output_tokens: 0,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
        }
    }
}

impl ContentBlock {
    pub(super) fn call(name: String, input: Value) -> Self {
        Self::ToolUse {
            id: format!("toolu_{}", Uuid::now_v7().simple()),
            name,
            input,
        }
    }
}
