//! The body of `POST /v1/decisions`.

use assize_preprocess::decision::{Content, Decision, Shape};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::input::{DecisionInput, read_input};
use super::question::{DecisionQuestion, Named, read_question};
use crate::http::fault::{StatePlace, asks_more_than_it_offers, blame};
use crate::http::fields::{self, Name, Object};
use crate::http::model_name::check_model;
use crate::http::problem::{Fault, Problem, ProblemKind};
use crate::http::transcript::{PictureSource, Transcript};
use crate::service::{Service, ServiceError};
use crate::strict_json::Place;

/// Most questions of one request, as the API documents it.
const MAX_QUESTIONS: usize = 400;

/// An input and the questions about it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionsRequest {
    /// The model's name or an alias.
    model: String,
    /// What is judged: a string, or the items of a conversation.
    #[schema(value_type = DecisionInput)]
    input: Value,
    /// The questions; answers come in their order.
    #[schema(value_type = Vec<DecisionQuestion>, min_items = 1, max_items = 400)]
    questions: Vec<Value>,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    prompt_cache_key: Option<String>,
    /// Accepted: prompts are not kept.
    #[serde(default)]
    #[schema(value_type = Option<PromptCacheOptions>)]
    #[allow(dead_code, reason = "checked to be options")]
    prompt_cache_options: Option<Object<PromptCacheOptions>>,
    /// Accepted, and kept by nobody.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    safety_identifier: Option<String>,
}

/// How a prompt is kept elsewhere.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptCacheOptions {
    /// `implicit` or `explicit`.
    #[serde(default)]
    #[schema(value_type = Option<PromptCacheMode>)]
    #[allow(dead_code, reason = "checked to be one of the names")]
    mode: Option<Name<PromptCacheMode>>,
    /// A span such as `30m`.
    #[serde(default)]
    #[allow(dead_code, reason = "checked to be a text")]
    ttl: Option<String>,
}

/// Who sets the breakpoints of a prompt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the API gives no more than the names")]
pub enum PromptCacheMode {
    Implicit,
    Explicit,
}

/// A request in the terms of the service.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its state is written once the pictures are there.
    pub(super) decision: Decision,
    pub(super) transcript: Transcript,
    /// In the instructions of the only question; the model reads them behind those of the input.
    pub(super) pictures: Vec<(PictureSource, Place)>,
    pub(super) named: Vec<Named>,
}

impl Asked {
    /// Reads a body.
    ///
    /// # Errors
    /// A field is missing, unknown or wrong, or the model is not served.
    pub(super) fn read(body: Value, service: &Service) -> Result<Self, Problem> {
        let Object(request): Object<DecisionsRequest> = fields::read(body, &Place::body())?;
        check_model(Some(&request.model), service)?;
        request.into_asked()
    }

    /// The field that holds the conversation.
    pub(super) fn input_place() -> Place {
        Place::body().key("input")
    }

    fn question_place(index: usize) -> Place {
        Place::body().key("questions").index(index)
    }

    /// The field that an error of the service is about.
    pub(super) fn blame(&self, error: &ServiceError) -> Problem {
        let shape = |question: usize| {
            let question = self.decision.questions.get(question);
            question.map(|question| &question.shape)
        };
        let longest_part = |question: usize| {
            let place = Self::question_place(question);
            match self.decision.questions.get(question) {
                Some(asked) if !asks_more_than_it_offers(asked) => match asked.shape {
                    Shape::Choice(_) => place.key("choices"),
                    Shape::Score(_) => place.key("levels"),
                    Shape::Predicate { .. } => place.key("instructions"),
                },
                _ => place.key("instructions"),
            }
        };
        let place = |question: usize, option: Option<usize>| {
            let place = Self::question_place(question);
            let Some(option) = option else { return place };
            match shape(question) {
                Some(Shape::Score(_)) => place.key("levels").index(option),
                _ => place.key("choices").index(option),
            }
        };
        blame(error, &StatePlace::whole("input"), place, longest_part)
    }
}

impl DecisionsRequest {
    fn into_asked(self) -> Result<Asked, Problem> {
        let transcript = read_input(self.input, &Asked::input_place())?;
        check_count(self.questions.len())?;
        let of_input = transcript.pictures();
        let several = self.questions.len() > 1;
        let mut asked = Asked {
            decision: Decision {
                state: Content::Text(String::new()),
                questions: Vec::with_capacity(self.questions.len()),
            },
            transcript,
            pictures: Vec::new(),
            named: Vec::with_capacity(self.questions.len()),
        };
        for (index, question) in self.questions.into_iter().enumerate() {
            let question = read_question(question, of_input + 1, &Asked::question_place(index))?;
            // The model reads pictures before the state, where every question sees them.
            if several && let Some((_, place)) = question.pictures.first() {
                let message = "is a picture of one question, which works where it is the only one: put the picture into \
                               `input`";
                return Err(Fault::value(place.clone(), message).into());
            }
            asked.pictures.extend(question.pictures);
            asked.decision.questions.push(question.question);
            asked.named.push(question.named);
        }
        Ok(asked)
    }
}

fn check_count(count: usize) -> Result<(), Problem> {
    let place = Place::body().key("questions");
    match count {
        0 => Err(Fault::value(place, "is empty: ask at least one question").into()),
        1..=MAX_QUESTIONS => Ok(()),
        _ => {
            let message = format!("has {count} questions: ask at most {MAX_QUESTIONS}");
            let fault = Fault::value(place, message);
            Err(Problem::of_fault(ProblemKind::TooManyQuestions, fault))
        }
    }
}
