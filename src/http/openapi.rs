//! `GET /openapi.json`, generated from the types that the handlers use.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use utoipa::OpenApi;

use super::api_limits;
use super::app::App;

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assize",
        description = "Closed questions about a state, answered in one forward pass with probabilities.\n\n\
            Errors are JSON: on every route also 414 for a path and query above 8 KiB and 431 for more than 100 header \
            fields or 32 KiB of them. Only what is no HTTP/1 request (400), or has a head above 64 KiB or 512 fields \
            (431), is answered without a body, because no route is known by then.\n\n\
            `x-assize-limits` has the numbers of every limit of this server.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        super::decide::decide,
        super::systemone::systemone,
        super::decisions::decisions,
        super::messages::messages,
        super::messages::count_tokens,
        super::ollama::chat,
        super::ollama::generate,
        super::ollama::library::tags,
        super::ollama::library::show,
        super::ollama::library::running,
        super::ollama::library::version,
        super::models::models,
        super::health::health,
        super::health::ready,
        super::metrics::metrics,
        super::playground::page,
        super::playground::file,
        openapi
    ),
    components(schemas(
        super::openai_errors::OpenAiErrorBody,
        super::decisions::DecisionPart,
        super::messages::MessagesErrorBody,
        super::messages::MessageContent,
        super::ollama::OllamaErrorBody
    ))
)]
pub struct ApiDocument;

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses((status = 200, description = "OpenAPI 3.1")))]
pub(super) async fn openapi(State(app): State<Arc<App>>) -> Json<utoipa::openapi::OpenApi> {
    let mut document = ApiDocument::openapi();
    api_limits::describe(&app, &mut document);
    Json(document)
}
