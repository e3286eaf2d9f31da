//! The HTTP server: routes, protocols, errors, metrics, and the connection loop with its limits and draining.

mod api_limits;
mod app;
mod asking;
mod body;
mod closed_asking;
mod closed_fields;
mod content;
mod conversation;
mod cors;
mod deadline;
mod decide;
mod decisions;
mod documented;
mod fault;
mod fetch;
mod fields;
mod guard;
mod head;
mod health;
mod media;
mod messages;
mod metrics;
mod model_name;
mod models;
mod multipart;
mod observe;
mod ollama;
mod openai_errors;
mod openapi;
mod pipeline;
mod playground;
mod problem;
mod problem_body;
mod protocol;
mod router;
mod server;
mod systemone;
mod timings;
mod transcript;
mod untyped;
mod waiting;
mod whole_number;

pub use app::{Access, App, ServerError, ServerLimits};
pub use content::TextOrJson;
pub use cors::{CorsOrigin, NoOrigin};
pub use decide::{
    ChoiceAnswer, ChosenOption, DecideAnswer, DecideEngine, DecideMediumReport, DecideOption, DecideQuestion,
    DecideRequest, DecideResponse, DecideTimings, DecideUsage, LevelProbability, PredicateAnswer,
    QuestionType, ScoreAnswer,
};
pub use fetch::FetchLimits;
pub use media::{DecideMedium, MediumType};
pub use openapi::ApiDocument;
pub use pipeline::Answered;
pub use problem_body::{ErrorBody, ErrorDetail};
pub use server::{Drained, serve};
pub use timings::StageTimings;
