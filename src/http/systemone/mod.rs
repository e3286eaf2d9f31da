//! `POST /v1/systemone`: the System One protocol, as its official client speaks it.

mod assets;
mod request;
mod response;

use std::sync::Arc;
use std::time::Duration;

use assize_preprocess::Until;
use assize_preprocess::decision::Decision;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

pub use request::SystemOneRequest;
pub use response::SystemOneResponse;

use super::app::App;
use super::asking::Asking;
use super::body::{PlainBody, receive};
use super::media::Attached;
use super::pipeline::Arrival;
use super::problem::Problem;
use crate::service::{DecisionSettings, ServiceError};
use crate::strict_json;
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
        .answer(arrival, |service| {
            let body = body.into_plain()?;
            Ok(SystemOneAsking {
                asked: Asked::read(strict_json::parse(&body.json)?, service)?,
                body,
            })
        })
        .await?;
    let timings = answered.timings;
    let response = SystemOneResponse::new(&app.service, answered);
    Ok((timings.header(), axum::Json(response)).into_response())
}

/// What of a request its answer names.
struct Named {
    /// Of the questions, in order.
    ids: Vec<String>,
    /// Placeholders of pictures that no text has.
    unused_assets: Vec<String>,
}

/// A request of `POST /v1/systemone`, with the rest of its body.
struct SystemOneAsking {
    asked: Asked,
    body: PlainBody,
}

impl Asking for SystemOneAsking {
    type Extra = Named;

    fn decision(&self) -> &Decision {
        &self.asked.decision
    }

    fn settings(&self) -> DecisionSettings {
        DecisionSettings::default()
    }

    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn brings_media(&self) -> bool {
        !self.asked.assets.is_empty() || !self.body.parts.is_empty()
    }

    fn attach(&mut self, _until: &Until) -> Result<Attached, Problem> {
        let parts = std::mem::take(&mut self.body.parts);
        std::mem::take(&mut self.asked.assets).attach(parts)
    }

    fn blame(&self, error: &ServiceError) -> Problem {
        self.asked.blame(error)
    }

    fn into_parts(self) -> (Decision, Self::Extra) {
        let named = Named {
            ids: self.asked.ids,
            unused_assets: self.asked.unused_assets,
        };
        (self.asked.decision, named)
    }
}
