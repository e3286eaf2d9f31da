//! The outermost layer: request ids, error bodies, counters.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use uuid::Uuid;

use super::app::App;
use super::head;
use super::problem::Problem;
use super::problem_body::render;
use super::protocol::Protocol;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SYSTEM_ONE_REQUEST_ID: HeaderName = HeaderName::from_static("x-typesafe-request-id");
const ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const LONGEST_REQUEST_ID: usize = 128;

/// Names the request, runs it, gives an error its body, and counts it.
pub(super) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let protocol = Protocol::of_path(request.uri().path());
    let id = request_id(&request);
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned());
    // At the highest level, so that whatever is logged about a request carries its id.
    let span = tracing::error_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        key = tracing::field::Empty
    );
    let mut response = {
        use tracing::Instrument as _;
        match head::check(&request) {
            Ok(()) => next.run(request).instrument(span.clone()).await,
            Err(problem) => problem.into_response(),
        }
    };
    let _entered = span.enter();
    let mut reason = None;
    if response.status().is_client_error() || response.status().is_server_error() {
        let problem = response
            .extensions_mut()
            .remove::<Problem>()
            .unwrap_or_else(|| Problem::from_status(response.status()));
        reason = Some(problem.kind.name());
        let kept = [header::ALLOW, header::WWW_AUTHENTICATE]
            .map(|name| response.headers().get(&name).cloned().map(|value| (name, value)));
        response = render(&problem, protocol, id.to_str().unwrap_or_default());
        response.headers_mut().extend(kept.into_iter().flatten());
    }
    let headers = response.headers_mut();
    match protocol {
        // An unknown route below /v1 may be anybody's.
        Protocol::SystemOne | Protocol::OpenAi => _ = headers.insert(SYSTEM_ONE_REQUEST_ID, id.clone()),
        Protocol::Anthropic => _ = headers.insert(ANTHROPIC_REQUEST_ID, id.clone()),
        Protocol::Native | Protocol::Ollama => {}
    }
    headers.insert(REQUEST_ID, id);
    let route = route.as_deref().unwrap_or("other");
    app.metrics
        .observe_response(route, response.status(), reason, started.elapsed());
    response
}

/// The caller's id where it is short printable ASCII, else a new one.
fn request_id(request: &Request) -> HeaderValue {
    request
        .headers()
        .get(&REQUEST_ID)
        .filter(|id| {
            (1..=LONGEST_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
        })
        .cloned()
        .unwrap_or_else(|| {
            // A UUID's digits are always a valid header value.
            HeaderValue::try_from(format!("req_{}", Uuid::now_v7().simple()))
                .unwrap_or(HeaderValue::from_static("req_0"))
        })
}
