//! A message as server-sent events.
//!
//! The answer is known in one forward pass, so that the events are written together once it is there; until then the
//! request can still fail with a status of its own.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::response::{ContentBlock, MessagesResponse};

/// The events of a message, as one body.
pub(super) fn stream(message: &MessagesResponse) -> Response {
    let mut body = String::new();
    for (name, data) in events(message) {
        body.push_str("event: ");
        body.push_str(name);
        body.push_str("\ndata: ");
        body.push_str(&data.to_string());
        body.push_str("\n\n");
    }
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, body).into_response()
}

fn events(message: &MessagesResponse) -> Vec<(&'static str, Value)> {
    let mut begun = json!(message);
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![(
        "message_start",
        json!({"type": "message_start", "message": begun}),
    )];
    for (index, block) in message.content.iter().enumerate() {
        let (empty, delta) = match block {
            ContentBlock::Text { text } => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": text}),
            ),
            ContentBlock::ToolUse { id, name, input } => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        events.push((
            "content_block_delta",
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
        events.push((
            "content_block_stop",
            json!({"type": "content_block_stop", "index": index}),
        ));
    }
    events.push((
        "message_delta",
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": message.stop_reason, "stop_sequence": null},
            "usage": message.usage,
        }),
    ));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}
