//! `GET /openapi.json`, generated from the types that the handlers use.

use axum::Json;
use utoipa::OpenApi;

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assize",
        description = "Closed questions about a state, answered in one forward pass with probabilities.\n\n\
            Errors are JSON: on every route also 414 for a path and query above 8 KiB and 431 for more than 100 header \
            fields or 32 KiB of them. Only what is no HTTP/1 request (400), or has a head above 64 KiB or 512 fields \
            (431), is answered without a body, because no route is known by then.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        super::decide::decide,
        super::systemone::systemone,
        super::models::models,
        super::health::health,
        super::health::ready,
        super::metrics::metrics,
        super::playground::page,
        super::playground::file,
        openapi
    )
)]
pub struct ApiDocument;

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses((status = 200, description = "OpenAPI 3.1")))]
pub(super) async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(ApiDocument::openapi())
}
