//! `POST /v1/systemone`: the System One protocol, as its official client speaks it.

mod assets;
mod request;
mod response;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

pub use request::SystemOneRequest;
pub use response::SystemOneResponse;

use super::app::App;
use super::body::receive;
use super::json;
use super::pipeline::{Arrival, Ready};
use super::problem::Problem;
use request::Asked;

/// Answers named questions about a state, in the shape of System One.
///
/// Unknown fields at the top level are ignored; inside a question they are refused. Fields of this server's own start with
/// `x_`. Authorization is not checked. Pictures come as `assets`, in base64 or as parts of a `multipart/form-data` body
/// whose part `request` is the JSON; the model reads them before the state, in the order of their first placeholders.
#[utoipa::path(
    post,
    path = "/v1/systemone",
    tag = "system one",
    request_body(content = SystemOneRequest, example = json!({
        "model": "jev-latest",
        "state": "My parcel has not arrived and I want my money back.",
        "questions": {
            "angry": {"type": "noul", "instructions": "Is the customer angry?"},
            "intent": {"type": "choice", "criteria": {"refund": "wants money back", "status": null}},
            "urgency": {"type": "score", "instructions": "How urgent is it?", "criteria": ["low", "medium", "high"]}
        }
    })),
    responses(
        (status = 200, description = "The answers", body = SystemOneResponse),
        (status = "4XX", description = "The request's fault: `detail` is a list for 422, else an object; `error` says the same"),
        (status = "5XX", description = "The server's fault, or the deadline passed"),
    )
)]
pub(super) async fn systemone(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let arrival = Arrival::now(&app);
    let body = receive(request, app.body_limits()).await?;
    let answered = app
        .answer(arrival, |service, deadline| {
            let body = body.into_plain()?;
            let mut asked = Asked::read(json::parse(&body.json)?, service)?;
            let attached = std::mem::take(&mut asked.assets).attach(body.parts)?;
            let prepared = service
                .read_media(&attached.media, Some(deadline.at()))
                .and_then(|media| service.prepare_with_media(&asked.decision, media, Default::default()))
                .map_err(|error| attached.blame(&error).unwrap_or_else(|| asked.blame(&error)))?;
            Ok(Ready {
                decision: asked.decision,
                prepared,
                extra: asked.ids,
            })
        })
        .await?;
    let timings = answered.timings;
    let response = SystemOneResponse::new(&app.service, answered);
    Ok((timings.header(), axum::Json(response)).into_response())
}
