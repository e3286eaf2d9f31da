//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tower_http::catch_panic::CatchPanicLayer;

use super::app::App;
use super::{
    cors, decide, decisions, guard, health, messages, metrics, models, observe, ollama, openapi, playground,
    systemone,
};

/// All routes. Every response passes [`observe::observe`], which writes errors in the shape of the route's protocol.
pub(super) fn router(app: Arc<App>) -> Router {
    let cors = cors::layer(&app.cors);
    let routes = Router::new()
        .route("/", get(playground::page))
        .route("/playground/{file}", get(playground::file))
        .route("/decide", post(decide::decide))
        .route("/v1/systemone", post(systemone::systemone))
        .route("/v1/decisions", post(decisions::decisions))
        .route("/v1/models", get(models::models))
        .route("/v1/messages", post(messages::messages))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        .route("/v1/messages/{*rest}", any(messages::unsupported))
        .route("/api/chat", post(ollama::chat))
        .route("/api/generate", post(ollama::generate))
        .route("/api/tags", get(ollama::library::tags))
        .route("/api/show", post(ollama::library::show))
        .route("/api/ps", get(ollama::library::running))
        .route("/api/version", get(ollama::library::version))
        .route("/api/{*rest}", any(ollama::unsupported))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(CatchPanicLayer::custom(|_| {
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), unless_aborted))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observe::observe))
        .with_state(app);
    match cors {
        // Outermost, so that a page may read errors too, and that a preflight request needs no key.
        Some(cors) => routes.layer(cors),
        None => routes,
    }
}

/// Answers 503 in place of a handler that is still at work when the server gives up.
async fn unless_aborted(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    tokio::select! {
        biased;
        response = next.run(request) => response,
        () = app.aborted() => App::stopping_problem().into_response(),
    }
}
