//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;

use super::app::App;
use super::{decide, health, metrics, models, observe, openapi, systemone};

/// All routes. Every response passes [`observe::observe`], which writes errors in the shape of the route's protocol.
pub(super) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/decide", post(decide::decide))
        .route("/v1/systemone", post(systemone::systemone))
        .route("/v1/models", get(models::models))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(CatchPanicLayer::custom(|_| {
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observe::observe))
        .with_state(app)
}
