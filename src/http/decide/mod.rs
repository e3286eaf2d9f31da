//! `POST /decide`: one question or many about one state.

mod option;
mod request;
mod response;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

use assize_preprocess::Until;
use assize_preprocess::decision::Decision;

pub use option::DecideOption;
pub use request::{DecideQuestion, DecideRequest, QuestionType};
pub use response::{
    ChoiceAnswer, ChosenOption, DecideAnswer, DecideEngine, DecideMediumReport, DecideResponse,
    DecideTimings, DecideUsage, LevelProbability, PredicateAnswer, ScoreAnswer,
};

use super::app::App;
use super::asking::Asking;
use super::body::{PlainBody, receive};
use super::fetch::Fetcher;
use super::media::Attached;
use super::pipeline::Arrival;
use super::problem::Problem;
use crate::service::{DecisionSettings, ServiceError};
use request::Asked;

/// Answers closed questions about a state.
///
/// Either one question at the top level (`question` with `options`, with `levels`, or with `"type": "predicate"`) or
/// several in `questions`. Questions are judged independently of each other; answers come in the order of the
/// questions and probabilities in the order of the options.
#[utoipa::path(
    post,
    path = "/decide",
    tag = "decide",
    request_body(
        content = DecideRequest,
        examples(
            ("choice" = (value = json!({
                "state": "My parcel has not arrived and I want my money back.",
                "question": "What does the customer want?",
                "options": ["refund", {"name": "status", "description": "to know where the parcel is"}]
            }))),
            ("predicate" = (value = json!({
                "state": {"subject": "You won!", "body": "Click here to claim your prize."},
                "question": "Is this mail spam?",
                "type": "predicate"
            }))),
            ("many" = (value = json!({
                "state": "The room was clean but the staff were rude.",
                "questions": [
                    {"id": "mood", "type": "choice", "question": "What is the mood?", "options": ["good", "bad", "mixed"]},
                    {"id": "clean", "type": "predicate", "question": "Was the room clean?"},
                    {"id": "stars", "type": "score", "question": "How many stars?", "levels": ["one", "two", "three"]}
                ],
                "order_averages": 2,
                "truncate": "middle",
                "deadline_ms": 5000
            })))
        )
    ),
    responses(
        (status = 200, description = "The answers", body = DecideResponse),
        (status = 400, description = "The body is not JSON", body = super::problem_body::ErrorBody),
        (status = 404, description = "No model of that name", body = super::problem_body::ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = super::problem_body::ErrorBody),
        (status = 413, description = "The body, or the state with `truncate` \"error\", is too large", body = super::problem_body::ErrorBody),
        (status = 415, description = "Not JSON, or an encoding other than zstd", body = super::problem_body::ErrorBody),
        (status = 422, description = "A field is missing or wrong", body = super::problem_body::ErrorBody),
        (status = 429, description = "The queue is full; see Retry-After", body = super::problem_body::ErrorBody),
        (status = 500, description = "The server failed", body = super::problem_body::ErrorBody),
        (status = 503, description = "The server is stopping; see Retry-After", body = super::problem_body::ErrorBody),
        (status = 504, description = "The deadline passed", body = super::problem_body::ErrorBody),
    )
)]
pub(super) async fn decide(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let arrival = Arrival::now(&app);
    let body = receive(request, app.body_limits()).await?;
    let fetcher = app.fetcher.clone();
    let answered = app
        .answer(arrival, move |service| {
            let body = body.into_plain()?;
            let request = DecideRequest::parse(&body.json)?;
            request.check_model(service)?;
            Ok(DecideAsking {
                asked: request.into_asked()?,
                body,
                fetcher,
            })
        })
        .await?;
    let timings = answered.timings;
    let response = DecideResponse::new(&app.service, answered);
    Ok((timings.header(), axum::Json(response)).into_response())
}

/// A request of `POST /decide`, with the rest of its body.
struct DecideAsking {
    asked: Asked,
    body: PlainBody,
    fetcher: Option<Arc<Fetcher>>,
}

impl Asking for DecideAsking {
    type Extra = Vec<Option<String>>;

    fn decision(&self) -> &Decision {
        &self.asked.decision
    }

    fn settings(&self) -> DecisionSettings {
        self.asked.settings
    }

    fn deadline(&self) -> Option<Duration> {
        self.asked.deadline
    }

    fn brings_media(&self) -> bool {
        self.asked.media.as_ref().is_some_and(|media| !media.is_empty()) || !self.body.parts.is_empty()
    }

    fn attach(&mut self, until: &Until) -> Result<Attached, Problem> {
        let parts = std::mem::take(&mut self.body.parts);
        Attached::gather(self.asked.media.take(), parts, self.fetcher.as_deref(), until)
    }

    fn blame(&self, error: &ServiceError) -> Problem {
        self.asked.blame(error)
    }

    fn into_parts(self) -> (Decision, Self::Extra) {
        (self.asked.decision, self.asked.ids)
    }
}
