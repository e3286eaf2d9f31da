//! Ollama's API, as its official client speaks it.

mod errors;
pub(super) mod library;
mod logprobs;
mod request;
mod response;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::de::DeserializeOwned;

pub(super) use errors::OllamaErrorBody;

use super::app::App;
use super::body::{PlainBody, receive};
use super::closed_asking::{ClosedAsking, Talk};
use super::closed_fields::{ClosedFields, Preface};
use super::fields::{self, Object};
use super::media::Parts;
use super::model_name::check_model;
use super::pipeline::Arrival;
use super::problem::{Problem, ProblemKind};
use crate::service::Service;
use crate::strict_json::{self, Place};
use errors::OllamaErrors;
use request::{Asked, Manner, OllamaChatRequest, OllamaGenerateRequest, schema};
use response::{Answer, OllamaChatResponse, OllamaGenerateResponse, Route, loaded, respond};

/// Answers about a conversation with the JSON of a schema, each field decided in one forward pass.
///
/// `format` must hold a schema whose every field is closed: no free text is written. Unless `stream` is false the answer
/// comes in lines. Without messages the answer says that the model is loaded.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "ollama",
    request_body(content = OllamaChatRequest, example = json!({
        "model": "jev-latest",
        "messages": [{"role": "user", "content": "My parcel has not arrived and I want my money back."}],
        "format": {
            "type": "object",
            "properties": {
                "wish": {"enum": ["refund", "status"], "description": "What does the customer want?"},
                "angry": {"type": "boolean", "description": "Is the customer angry?"}
            },
            "required": ["wish", "angry"]
        },
        "stream": false
    })),
    responses(
        (status = 200, description = "The answer; unless `stream` is false a first line with its text and a last one with \
            the rest", content(
            (OllamaChatResponse = "application/json"),
            (OllamaChatResponse = "application/x-ndjson")
        )),
        OllamaErrors
    )
)]
pub(super) async fn chat(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let read = OllamaChatRequest::into_asked;
    answer(&app, request, Route::Chat, Place::body().key("messages"), read).await
}

/// Answers about a prompt with the JSON of a schema, each field decided in one forward pass.
///
/// As `POST /api/chat` with one message of the user.
#[utoipa::path(
    post,
    path = "/api/generate",
    tag = "ollama",
    request_body(content = OllamaGenerateRequest, example = json!({
        "model": "jev-latest",
        "prompt": "The room was clean but loud.",
        "system": "You judge reviews.",
        "format": {
            "type": "object",
            "properties": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}},
            "required": ["stars"]
        },
        "stream": false
    })),
    responses(
        (status = 200, description = "The answer; unless `stream` is false a first line with its text and a last one with \
            the rest", content(
            (OllamaGenerateResponse = "application/json"),
            (OllamaGenerateResponse = "application/x-ndjson")
        )),
        OllamaErrors
    )
)]
pub(super) async fn generate(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let read = OllamaGenerateRequest::into_asked;
    answer(&app, request, Route::Generate, Place::body().key("prompt"), read).await
}

/// What else Ollama's API has.
pub(super) async fn unsupported(request: Request) -> Problem {
    Problem::new(
        ProblemKind::NotFound,
        format!(
            "{} is not done here: this server answers closed questions with the one model that it was started with, and \
             neither pulls, makes nor removes models, nor embeds texts. It has /api/chat, /api/generate, /api/tags, \
             /api/show, /api/ps and /api/version",
            request.uri().path()
        ),
    )
}

/// What remains to be done for a request.
enum Todo {
    /// Nothing was asked.
    Nothing(Manner),
    Decide(Box<ClosedAsking<Planned>>),
}

/// How the answers become a response.
struct Planned {
    fields: ClosedFields,
    manner: Manner,
}

async fn answer<R: DeserializeOwned + Send + 'static>(
    app: &App,
    request: Request,
    route: Route,
    place: Place,
    into_asked: fn(R) -> Result<Asked, Problem>,
) -> Result<Response, Problem> {
    let arrival = Arrival::now(app);
    let body = receive(request, app.body_limits()).await?;
    let todo = app
        .read(arrival, move |service| {
            let mut body = body.into_plain()?;
            Parts::new(std::mem::take(&mut body.parts))?.all_claimed()?;
            let json = strict_json::parse(&std::mem::take(&mut body.json))?;
            let Object(request): Object<R> = fields::read(json, &Place::body())?;
            plan(into_asked(request)?, place, body, service)
        })
        .await?;
    let asking = match todo {
        Todo::Nothing(manner) => return Ok(loaded(&app.service, route, manner)),
        Todo::Decide(asking) => *asking,
    };
    let answered = app.answer(arrival, move |_| Ok(asking)).await?;
    let Planned { fields, manner } = answered.extra;
    let (value, fields) = fields.assemble(&answered.answers);
    let answer = Answer {
        value,
        fields,
        tokens: answered.input_tokens,
        timings: answered.timings,
    };
    Ok(respond(&app.service, route, manner, answer))
}

fn plan(asked: Asked, place: Place, body: PlainBody, service: &Service) -> Result<Todo, Problem> {
    check_model(Some(&asked.model), service)?;
    let manner = asked.manner;
    if asked.transcript.is_empty() {
        return Ok(Todo::Nothing(manner));
    }
    let format = Place::body().key("format");
    let fields = ClosedFields::read(&schema(asked.format)?, &format, &Preface(asked.system))?;
    let questions = (fields.questions().collect(), fields.places().collect());
    let talk = Talk {
        transcript: asked.transcript,
        place,
        body,
    };
    let asking = ClosedAsking::new(questions, &format, talk, None, Planned { fields, manner })?;
    Ok(Todo::Decide(Box::new(asking)))
}
