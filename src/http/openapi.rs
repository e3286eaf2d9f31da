//! `GET /openapi.json`, generated from the types that the handlers use.

use axum::Json;
use utoipa::OpenApi;

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assize",
        description = "Closed questions about a state, answered in one forward pass with probabilities.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        super::decide::decide,
        super::systemone::systemone,
        super::models::models,
        super::health::health,
        super::health::ready,
        super::metrics::metrics,
        openapi
    )
)]
pub struct ApiDocument;

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses((status = 200, description = "OpenAPI 3.1")))]
pub(super) async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(ApiDocument::openapi())
}
