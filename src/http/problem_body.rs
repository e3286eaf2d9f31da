//! The JSON of an error, in each protocol's shape.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::problem::Problem;
use super::protocol::Protocol;
use crate::scheduler::whole_seconds;
use crate::strict_json::{Place, Step};

/// An error of `/decide`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"error": {
    "type": "invalid_request",
    "message": "unknown field `option`, expected `options`",
    "field": "option",
}}))]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail {
    /// The kind of error, for programs.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What is wrong and how to mend it, for people.
    pub message: String,
    /// The field at fault, such as `questions[0].options[2].name`.
    pub field: Option<String>,
}

/// Writes the response of a problem; `request_id` is the one in its headers.
pub(super) fn render(problem: &Problem, protocol: Protocol, request_id: &str) -> Response {
    let body = match protocol {
        Protocol::Native => native(problem),
        Protocol::SystemOne => every_client(problem, problem.kind.name()),
        Protocol::OpenAi => every_client(problem, problem.kind.openai_name()),
        Protocol::Anthropic => json!({
            "type": "error",
            "error": {"type": problem.kind.anthropic_name(), "message": problem.message()},
            "request_id": request_id,
        }),
        Protocol::Ollama => json!({"error": problem.message()}),
    };
    let mut response = (problem.kind.status(protocol), axum::Json(body)).into_response();
    let headers = response.headers_mut();
    if let Some(wait) = problem.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        headers.insert(
            HeaderName::from_static("retry-after-ms"),
            HeaderValue::from(wait.as_millis() as u64),
        );
    }
    if problem.close {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn native(problem: &Problem) -> Value {
    let first = problem.faults.first();
    let error = ErrorDetail {
        kind: problem.kind.name(),
        message: first.map(|fault| fault.message.clone()).unwrap_or_default(),
        field: first
            .filter(|fault| !fault.place.is_body())
            .map(|fault| fault.place.to_string()),
    };
    json!(ErrorBody { error })
}

/// One body for every client at once: `detail` for System One's, `error` for those that read OpenAI's shape.
fn every_client(problem: &Problem, kind: &str) -> Value {
    let message = problem.message();
    let detail = match problem.kind.system_one_name() {
        Some(name) => json!({"error_type": name, "message": message}),
        None => problem
            .faults
            .iter()
            .map(|fault| json!({"loc": loc(&fault.place), "msg": fault.message, "type": fault.code}))
            .collect(),
    };
    let param = problem
        .faults
        .first()
        .filter(|fault| !fault.place.is_body())
        .map(|fault| fault.place.to_string());
    json!({
        "detail": detail,
        "error": {"type": kind, "message": message, "param": param, "code": problem.kind.name()},
    })
}

fn loc(place: &Place) -> Value {
    let steps = place.steps().iter().map(|step| match step {
        Step::Key(key) => json!(key),
        Step::Index(index) => json!(index),
    });
    std::iter::once(json!("body")).chain(steps).collect()
}
