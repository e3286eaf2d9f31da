//! `GET /health` and `GET /ready`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use super::problem::Problem;

/// The state of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthStatus {
    /// `ok`, or `ready`.
    status: &'static str,
}

/// Whether the process answers at all.
#[utoipa::path(get, path = "/health", tag = "operation", responses((status = 200, body = HealthStatus)))]
pub(super) async fn health() -> Json<HealthStatus> {
    Json(HealthStatus { status: "ok" })
}

/// Whether decisions are taken: 200, or 503 while the server is stopping.
#[utoipa::path(get, path = "/ready", tag = "operation", responses((status = 200, body = HealthStatus), (status = 503, body = super::problem_body::ErrorBody)))]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Json<HealthStatus>, Problem> {
    if app.is_stopping() {
        return Err(App::stopping_problem());
    }
    Ok(Json(HealthStatus { status: "ready" }))
}
