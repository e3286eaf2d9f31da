//! The answers of `POST /api/chat` and `POST /api/generate`: one object, or lines of JSON.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::logprobs::{OllamaLogprob, logprobs};
use super::request::Manner;
use crate::http::closed_fields::FieldAnswer;
use crate::http::timings::StageTimings;
use crate::service::Service;

/// An answer to a chat: one object, or the lines of one.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OllamaChatResponse {
    /// The model's name.
    model: String,
    /// When it was answered.
    created_at: String,
    /// The answer.
    message: OllamaAnswerMessage,
    #[serde(flatten)]
    rest: OllamaRest,
}

/// An answer to a prompt: one object, or the lines of one.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OllamaGenerateResponse {
    /// The model's name.
    model: String,
    /// When it was answered.
    created_at: String,
    /// The JSON of the answer; empty in the last of several lines.
    response: String,
    #[serde(flatten)]
    rest: OllamaRest,
}

/// What the model says.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OllamaAnswerMessage {
    /// Always `assistant`.
    role: &'static str,
    /// The JSON of the answer; empty in the last of several lines.
    content: String,
}

/// What both answers have.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct OllamaRest {
    /// Whether this is the whole answer, or its last line.
    done: bool,
    /// `stop`, or `load` where nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'static str>,
    /// From the request's arrival to its answer, in nanoseconds, as all durations here.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_duration: Option<u64>,
    /// Always 0: the model was loaded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_duration: Option<u64>,
    /// Tokens that the forward pass computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_count: Option<usize>,
    /// Time of the forward pass and its readout.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_duration: Option<u64>,
    /// Always 0: nothing is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_count: Option<usize>,
    /// Always 0: nothing is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_duration: Option<u64>,
    /// Where `logprobs` asked for them: one entry per field.
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Vec<OllamaLogprob>>,
    /// What this server adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    x_assize: Option<OllamaExtension>,
}

/// What this server adds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OllamaExtension {
    /// The probabilities, per field.
    fields: Vec<FieldAnswer>,
}

/// Which of the two routes answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Chat,
    Generate,
}

/// The answers to a request's fields.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) fields: Vec<FieldAnswer>,
    pub(super) tokens: usize,
    pub(super) timings: StageTimings,
}

/// The response of `route` to an answer.
pub(super) fn respond(service: &Service, route: Route, manner: Manner, answer: Answer) -> Response {
    let nanoseconds = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let timings = answer.timings;
    let rest = OllamaRest {
        done: true,
        done_reason: Some("stop"),
        total_duration: Some(nanoseconds(timings.total)),
        load_duration: Some(0),
        prompt_eval_count: Some(answer.tokens),
        prompt_eval_duration: Some(nanoseconds(timings.forward + timings.readout)),
        eval_count: Some(0),
        eval_duration: Some(0),
        logprobs: manner.logprobs.map(|most| logprobs(&answer.fields, most)),
        x_assize: Some(OllamaExtension {
            fields: answer.fields,
        }),
    };
    let text = answer.value.to_string();
    let response = if manner.stream {
        // Clients put the texts of all lines together, and read the rest from the last one.
        let first = OllamaRest {
            logprobs: rest.logprobs.clone(),
            ..OllamaRest::default()
        };
        let last = OllamaRest {
            logprobs: None,
            ..rest
        };
        lines(&[
            written(service, route, text, first),
            written(service, route, String::new(), last),
        ])
    } else {
        Json(written(service, route, text, rest)).into_response()
    };
    (timings.header(), response).into_response()
}

/// The response to a request that asks nothing: the model is loaded.
pub(super) fn loaded(service: &Service, route: Route, manner: Manner) -> Response {
    let rest = OllamaRest {
        done: true,
        done_reason: Some("load"),
        ..OllamaRest::default()
    };
    let answer = written(service, route, String::new(), rest);
    if manner.stream {
        lines(&[answer])
    } else {
        Json(answer).into_response()
    }
}

fn written(service: &Service, route: Route, text: String, rest: OllamaRest) -> Value {
    let model = service.name().to_owned();
    let created_at = Utc::now().to_rfc3339_opts(SecondsFormat::Nanos, true);
    match route {
        Route::Chat => serde_json::json!(OllamaChatResponse {
            model,
            created_at,
            message: OllamaAnswerMessage {
                role: "assistant",
                content: text,
            },
            rest,
        }),
        Route::Generate => serde_json::json!(OllamaGenerateResponse {
            model,
            created_at,
            response: text,
            rest,
        }),
    }
}

fn lines(lines: &[Value]) -> Response {
    let mut body = String::new();
    for line in lines {
        body.push_str(&line.to_string());
        body.push('\n');
    }
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}
