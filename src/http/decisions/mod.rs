//! `POST /v1/decisions`: OpenAI's Decisions API, as its official client speaks it.

mod input;
mod part;
mod question;
mod request;
mod response;

use std::sync::Arc;
use std::time::Duration;

use assize_preprocess::Until;
use assize_preprocess::decision::Decision;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

pub(super) use part::DecisionPart;

use super::app::App;
use super::asking::Asking;
use super::body::{PlainBody, receive};
use super::fetch::Fetcher;
use super::media::{Attached, Parts, check_count};
use super::openai_errors::OpenAiErrors;
use super::pipeline::Arrival;
use super::problem::{Problem, ProblemKind};
use crate::service::{DecisionSettings, MediumKind, ServiceError};
use crate::strict_json;
use question::Named;
use request::{Asked, DecisionsRequest};
use response::DecisionsResponse;

/// Answers questions about an input, in the shape of OpenAI's Decisions.
///
/// One text of a user is judged as it is; of a conversation the model reads every item behind its speaker. Pictures are read
/// before the text, in their order. Unknown fields are refused. Fields of this server's own start with `x_`.
#[utoipa::path(
    post,
    path = "/v1/decisions",
    tag = "openai",
    request_body(
        content = DecisionsRequest,
        examples(
            ("text" = (value = json!({
                "model": "jev-latest",
                "input": "My parcel has not arrived and I want my money back.",
                "questions": [
                    {"type": "predicate", "name": "angry", "instructions": "The customer is angry."},
                    {"type": "choice", "name": "wish", "instructions": "What does the customer want?", "choices": [
                        {"value": "refund", "description": "money back"}, {"value": "status"}, {"value": false}]},
                    {"type": "score", "name": "urgency", "instructions": "How urgent is it?", "levels": [
                        {"label": "low"}, {"label": "medium", "description": "within a day"}, {"label": "high"}]}
                ]
            }))),
            ("conversation" = (value = json!({
                "model": "jev-latest",
                "input": [
                    {"role": "system", "content": "You sell parcels."},
                    {"role": "user", "content": [
                        {"type": "input_text", "text": "Where is it?"},
                        {"type": "input_json", "data": {"order": 7}}
                    ]},
                    {"type": "function_call", "call_id": "1", "name": "find", "arguments": "{\"order\": 7}"},
                    {"type": "function_call_output", "call_id": "1", "output": "lost"}
                ],
                "questions": [{"type": "predicate", "instructions": "The order was found."}]
            })))
        )
    ),
    responses((status = 200, description = "The answers", body = DecisionsResponse), OpenAiErrors)
)]
pub(super) async fn decisions(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let arrival = Arrival::now(&app);
    let body = receive(request, app.body_limits()).await?;
    let fetcher = app.fetcher.clone();
    let answered = app
        .answer(arrival, move |service| {
            let mut body = body.into_plain()?;
            Parts::new(std::mem::take(&mut body.parts))?.all_claimed()?;
            let json = strict_json::parse(&std::mem::take(&mut body.json))?;
            Ok(DecisionsAsking {
                asked: Asked::read(json, service)?,
                body,
                fetcher,
            })
        })
        .await?;
    let timings = answered.timings;
    let response = DecisionsResponse::new(&app.service, answered);
    Ok((timings.header(), axum::Json(response)).into_response())
}

/// A request of `POST /v1/decisions`.
struct DecisionsAsking {
    asked: Asked,
    /// Holds its room until the pictures are read.
    #[expect(dead_code, reason = "held, not read")]
    body: PlainBody,
    fetcher: Option<Arc<Fetcher>>,
}

impl Asking for DecisionsAsking {
    type Extra = Vec<Named>;

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
        self.asked.transcript.pictures() + self.asked.pictures.len() > 0
    }

    fn attach(&mut self, until: &Until) -> Result<Attached, Problem> {
        let transcript = std::mem::take(&mut self.asked.transcript);
        let pictures = std::mem::take(&mut self.asked.pictures);
        let place = Asked::input_place();
        check_count(transcript.pictures() + pictures.len(), &place)?;
        let fetcher = self.fetcher.as_deref();
        let (state, mut attached) = transcript.into_state(fetcher, until, &place)?;
        for (source, place) in pictures {
            if until.is_over() {
                return Err(Problem::new(ProblemKind::DeadlineExceeded, "the deadline passed"));
            }
            attached.push(MediumKind::Image, source.read(fetcher, &place)?, place);
        }
        self.asked.decision.state = state;
        Ok(attached)
    }

    fn blame(&self, error: &ServiceError) -> Problem {
        self.asked.blame(error)
    }

    fn into_parts(self) -> (Decision, Self::Extra) {
        (self.asked.decision, self.asked.named)
    }
}
