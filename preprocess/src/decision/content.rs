//! Text or JSON, as a caller may give a state, an instruction or a description.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a caller wrote: a plain string, or a JSON object or array that is shown to the model as JSON text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text, shown to the model unchanged.
    Text(String),
    /// Structured content, shown to the model as compact JSON with the caller's key order.
    Json(Value),
}

impl Content {
    /// The text that the model reads.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Content::Text(text) => text.as_str().into(),
            Content::Json(value) => value.to_string().into(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Text(text.to_owned())
    }
}
