//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;

use super::app::App;
use super::{decide, health, metrics, models, observe, openapi, playground, systemone};

/// All routes. Every response passes [`observe::observe`], which writes errors in the shape of the route's protocol.
pub(super) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(playground::page))
        .route("/playground/{file}", get(playground::file))
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
        .layer(middleware::from_fn_with_state(Arc::clone(&app), unless_aborted))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observe::observe))
        .with_state(app)
}

/// Answers 503 in place of a handler that is still at work when the server gives up.
async fn unless_aborted(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    tokio::select! {
        biased;
        response = next.run(request) => response,
        () = app.aborted() => App::stopping_problem().into_response(),
    }
}
