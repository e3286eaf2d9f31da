//! The limits of a running server and its keys, as `/openapi.json` tells them.

use assize_preprocess::decision::MAX_OPTIONS;
use serde::Serialize;
use utoipa::openapi::OpenApi;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};

use super::app::App;
use super::fault::MAX_QUESTIONS;
use super::guard;
use super::head::{MAX_FIELD_BYTES, MAX_FIELDS, MAX_TARGET_BYTES};
use super::media::MAX_MEDIA;

/// Under which name the document has the limits.
const LIMITS: &str = "x-assize-limits";
/// Under which name it has the keys.
const KEY: &str = "key";

/// What a request may at most have. Of `/v1/systemone` and OpenAI's routes the schemas say more.
#[derive(Debug, Serialize)]
struct ApiLimits {
    /// Bytes of a body, as sent and after decompression.
    body_bytes: usize,
    /// Questions of one request of `/decide` and `/v1/systemone`.
    questions: usize,
    /// Options of a question.
    options: usize,
    /// Media of a request; 0 where the model reads text only.
    media: usize,
    /// Tokens of a prompt: one question with the state and its media.
    context_tokens: usize,
    /// Tokens of a request: the state once, and every question.
    request_tokens: usize,
    /// Milliseconds of a request that names no deadline.
    deadline_ms: u128,
    /// Milliseconds for a body to arrive.
    body_ms: u128,
    /// Requests that wait for the engine.
    queue_requests: usize,
    /// Tokens that wait for the engine.
    queue_tokens: usize,
    /// Open connections.
    connections: usize,
    /// Bytes of path and query.
    target_bytes: usize,
    /// Header fields.
    header_fields: usize,
    /// Bytes of all header fields.
    header_bytes: usize,
}

impl ApiLimits {
    fn of(app: &App) -> Self {
        let limits = &app.limits;
        Self {
            body_bytes: app.body_limits().bytes,
            questions: MAX_QUESTIONS,
            options: MAX_OPTIONS,
            media: if app.service.takes_media() { MAX_MEDIA } else { 0 },
            context_tokens: app.service.context(),
            request_tokens: limits.request_tokens,
            deadline_ms: limits.deadline.as_millis(),
            body_ms: limits.body_time.as_millis(),
            queue_requests: limits.queue_jobs,
            queue_tokens: limits.queue_tokens,
            connections: limits.connections,
            target_bytes: MAX_TARGET_BYTES,
            header_fields: MAX_FIELDS,
            header_bytes: MAX_FIELD_BYTES,
        }
    }
}

/// Adds to `document` what only the running server knows: its limits, and whether it asks for keys.
pub(super) fn describe(app: &App, document: &mut OpenApi) {
    let limits = serde_json::to_value(ApiLimits::of(app)).unwrap_or_default();
    let extensions = document.extensions.get_or_insert_with(Extensions::default);
    extensions.insert(LIMITS.to_owned(), limits);
    if app.keys.is_none() {
        return;
    }
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = document.components.get_or_insert_with(Default::default);
    components.add_security_scheme(KEY, bearer);
    document.security = Some(vec![SecurityRequirement::new(KEY, Vec::<String>::new())]);
    for (path, item) in &mut document.paths.paths {
        if !guard::is_open(path) {
            continue;
        }
        for operation in [&mut item.get, &mut item.head].into_iter().flatten() {
            // An empty list: none of the document's schemes applies.
            operation.security = Some(Vec::new());
        }
    }
}
