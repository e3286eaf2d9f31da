//! `POST /v1/messages`: Anthropic's Messages API, as its official client speaks it.

mod content;
mod errors;
mod plan;
mod request;
mod response;
mod stream;
mod written_bounds;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};

pub(super) use content::MessageContent;
pub(super) use errors::MessagesErrorBody;

use super::app::App;
use super::body::{ReceivedBody, receive};
use super::closed_asking::{ClosedAsking, Talk};
use super::fetch::Fetcher;
use super::fields::{self, Object};
use super::media::Parts;
use super::model_name::check_model;
use super::pipeline::Arrival;
use super::problem::{Problem, ProblemKind};
use crate::service::Service;
use crate::strict_json::{self, Place};
use errors::MessagesErrors;
use plan::Plan;
use request::{CountTokensRequest, MessagesRequest};
use response::{MessagesResponse, TokenCount};

/// Answers with a call of a tool, or with the JSON of a schema, each field decided in one forward pass.
///
/// `tool_choice` must be `any` or name a tool, or `output_config.format` must hold a schema: no free text is written. Every
/// field of the schema must be closed. Headers `x-api-key`, `anthropic-version` and `anthropic-beta` are accepted. With
/// `stream` the same message comes as server-sent events.
#[utoipa::path(
    post,
    path = "/v1/messages",
    tag = "anthropic",
    request_body(
        content = MessagesRequest,
        examples(
            ("tool" = (value = json!({
                "model": "jev-latest",
                "max_tokens": 64,
                "messages": [{"role": "user", "content": "My parcel has not arrived and I want my money back."}],
                "tools": [{"name": "file_ticket", "description": "Files what the customer wants", "input_schema": {
                    "type": "object",
                    "properties": {
                        "wish": {"enum": ["refund", "status"], "description": "What does the customer want?"},
                        "angry": {"type": "boolean", "description": "Is the customer angry?"}
                    },
                    "required": ["wish", "angry"]
                }}],
                "tool_choice": {"type": "tool", "name": "file_ticket"}
            }))),
            ("text" = (value = json!({
                "model": "jev-latest",
                "max_tokens": 64,
                "system": "You judge reviews.",
                "messages": [{"role": "user", "content": [{"type": "text", "text": "The room was clean but loud."}]}],
                "output_config": {"format": {"type": "json_schema", "schema": {
                    "type": "object",
                    "properties": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}},
                    "required": ["stars"]
                }}}
            })))
        )
    ),
    responses(
        (status = 200, description = "The message; with `stream` its events", content(
            (MessagesResponse = "application/json"),
            (String = "text/event-stream")
        )),
        MessagesErrors
    )
)]
pub(super) async fn messages(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let arrival = Arrival::now(&app);
    let body = receive(request, app.body_limits()).await?;
    let fetcher = app.fetcher.clone();
    let answered = app
        .answer(arrival, move |service| read(body, service, fetcher, true))
        .await?;
    let timings = answered.timings;
    let stream = answered.extra.stream;
    let message = MessagesResponse::new(&app.service, answered);
    let response = if stream {
        stream::stream(&message)
    } else {
        Json(message).into_response()
    };
    Ok((timings.header(), response).into_response())
}

/// Counts the tokens that a request would take, which must be one that `POST /v1/messages` answers; only `max_tokens` may
/// be left out.
#[utoipa::path(
    post,
    path = "/v1/messages/count_tokens",
    tag = "anthropic",
    request_body(content = CountTokensRequest, example = json!({
        "model": "jev-latest",
        "messages": [{"role": "user", "content": "The room was clean but loud."}],
        "output_config": {"format": {"type": "json_schema", "schema": {
            "type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]
        }}}
    })),
    responses((status = 200, description = "The number of tokens", body = TokenCount), MessagesErrors)
)]
pub(super) async fn count_tokens(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<TokenCount>, Problem> {
    let arrival = Arrival::now(&app);
    let body = receive(request, app.body_limits()).await?;
    let fetcher = app.fetcher.clone();
    let input_tokens = app
        .count(arrival, move |service| read(body, service, fetcher, false))
        .await?;
    Ok(Json(TokenCount { input_tokens }))
}

/// What else Anthropic's API has below `/v1/messages`.
pub(super) async fn unsupported() -> Problem {
    Problem::new(
        ProblemKind::NotFound,
        "batches and the like are not done here: send each request to POST /v1/messages; requests that arrive together \
         share forward passes",
    )
}

fn read(
    body: ReceivedBody,
    service: &Service,
    fetcher: Option<Arc<Fetcher>>,
    generates: bool,
) -> Result<ClosedAsking<Plan>, Problem> {
    let mut body = body.into_plain()?;
    Parts::new(std::mem::take(&mut body.parts))?.all_claimed()?;
    let json = strict_json::parse(&std::mem::take(&mut body.json))?;
    let Object(request): Object<MessagesRequest> = fields::read(json, &Place::body())?;
    let asked = request.into_asked(generates)?;
    check_model(Some(&asked.model), service)?;
    let (plan, questions, place) = Plan::new(asked.wanted, asked.said.system, asked.stream)?;
    let talk = Talk {
        transcript: asked.said.transcript,
        place: Place::body().key("messages"),
        body,
    };
    ClosedAsking::new(questions, &place, talk, fetcher, plan)
}
