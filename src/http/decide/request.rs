//! The body of `POST /decide`.

use std::collections::HashMap;
use std::time::Duration;

use assize_preprocess::decision::{Content, Decision, MAX_OPTIONS, Question, QuestionOption, Shape};
use assize_preprocess::prompt::Truncate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::option::DecideOption;
use crate::http::content::TextOrJson;
use crate::http::fault::{MAX_QUESTIONS, StatePlace, asks_more_than_it_offers, blame};
use crate::http::fields::{self, Name, Object};
use crate::http::media::DecideMedium;
use crate::http::model_name::check_model;
use crate::http::problem::{Fault, Problem, ProblemKind};
use crate::http::whole_number::WholeNumber;
use crate::service::{DecisionSettings, Service, ServiceError};
use crate::strict_json::Place;
use crate::strict_json::{self, JsonError};

/// Option orders that may be averaged over.
type OrderAverages = WholeNumber<{ MAX_OPTIONS as u64 }>;
/// Milliseconds that a request may ask for.
type DeadlineMs = WholeNumber<600_000>;

/// A state and the questions about it.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// What is being judged.
    state: TextOrJson,
    /// Pictures, sounds and videos that belong to the state; the model reads them in this order, before the state. In a
    /// `multipart/form-data` body it may be left out: then the parts named `image`, `audio` and `video` are the media.
    #[serde(default)]
    #[schema(value_type = Option<Vec<DecideMedium>>, max_items = 32)]
    media: Option<Vec<Object<DecideMedium>>>,
    /// The model; the one that is served if it is left out.
    #[serde(default)]
    model: Option<String>,
    /// Several questions. Not together with a question at the top level.
    #[serde(default)]
    #[schema(value_type = Option<Vec<DecideQuestion>>, min_items = 1, max_items = 1024)]
    questions: Option<Vec<Object<DecideQuestion>>>,
    /// One question: its id, returned with the answer.
    #[serde(default)]
    id: Option<String>,
    /// One question: its type. May be left out beside `options` (choice) and `levels` (score).
    #[serde(default, rename = "type")]
    #[schema(value_type = Option<QuestionType>)]
    kind: Option<Name<QuestionType>>,
    /// One question: what is asked.
    #[serde(default)]
    question: Option<TextOrJson>,
    /// One question: another name for `question`.
    #[serde(default)]
    instructions: Option<TextOrJson>,
    /// One question: the options of a choice.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 256)]
    options: Option<Vec<DecideOption>>,
    /// One question: the levels of a score, lowest first.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 256)]
    levels: Option<Vec<TextOrJson>>,
    /// One question: what counts as true, for a predicate.
    #[serde(default)]
    when_true: Option<TextOrJson>,
    /// One question: what counts as false, for a predicate.
    #[serde(default)]
    when_false: Option<TextOrJson>,
    /// Option orders to average over, in the same forward pass; 1 is the caller's order alone. It changes an answer only
    /// where the model's prompt form shows the options; `orders` in the answer says how many were averaged over.
    #[serde(default)]
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 256, default = 1)]
    order_averages: Option<OrderAverages>,
    /// Which part of a state that is too long is dropped; `error` refuses such a state. Each question is asked of the part
    /// that it would be asked of alone: what a question of up to a sixteenth of the context leaves room for, and less for a
    /// longer one.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^(error|start|end|middle)$", default = "error")]
    truncate: Option<Name<Truncate>>,
    /// Time after which the answer is of no use, counted from the arrival of the request. It is then taken out of the
    /// queue; a forward pass that serves nobody else is ended.
    #[serde(default)]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 600_000)]
    deadline_ms: Option<DeadlineMs>,
}

/// One question of several.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideQuestion {
    /// Returned with the answer; unique in the request.
    #[serde(default)]
    id: Option<String>,
    /// May be left out beside `options` (choice) and `levels` (score).
    #[serde(default, rename = "type")]
    #[schema(value_type = Option<QuestionType>)]
    kind: Option<Name<QuestionType>>,
    /// What is asked.
    #[serde(default)]
    question: Option<TextOrJson>,
    /// Another name for `question`.
    #[serde(default)]
    instructions: Option<TextOrJson>,
    /// The options of a choice.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 256)]
    options: Option<Vec<DecideOption>>,
    /// The levels of a score, lowest first.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 256)]
    levels: Option<Vec<TextOrJson>>,
    /// What counts as true, for a predicate.
    #[serde(default)]
    when_true: Option<TextOrJson>,
    /// What counts as false, for a predicate.
    #[serde(default)]
    when_false: Option<TextOrJson>,
}

/// The type of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuestionType {
    /// One of several options.
    Choice,
    /// True or false.
    Predicate,
    /// A position on ordered levels.
    Score,
}

/// A request in the terms of the service.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) decision: Decision,
    pub(super) settings: DecisionSettings,
    pub(super) deadline: Option<Duration>,
    pub(super) ids: Vec<Option<String>>,
    pub(super) media: Option<Vec<Object<DecideMedium>>>,
    /// Where each question stands.
    places: Vec<Place>,
}

impl DecideRequest {
    /// Reads a body from its bytes.
    ///
    /// # Errors
    /// It is not JSON, or a field is missing, unknown, of the wrong type or out of range.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Problem> {
        let body = strict_json::parse(body).map_err(|error| {
            // A number that no reader holds fails before its field is read; its range is said all the same.
            if let JsonError::HugeNumber { number, place } | JsonError::BigInteger { number, place } = &error
            {
                let message = match place.to_string().as_str() {
                    "order_averages" => Some(OrderAverages::refuse(number)),
                    "deadline_ms" => Some(DeadlineMs::refuse(number)),
                    _ => None,
                };
                if let Some(message) = message {
                    return Fault::value(place.clone(), message).into();
                }
            }
            Problem::from(error)
        })?;
        Self::read(body)
    }

    fn read(body: Value) -> Result<Self, Problem> {
        if !body.is_object() {
            return Err(Fault::value(Place::body(), "the body must be a JSON object").into());
        }
        Ok(fields::read(body, &Place::body())?)
    }

    /// Refuses a model that is not served.
    pub(super) fn check_model(&self, service: &Service) -> Result<(), Problem> {
        check_model(self.model.as_deref(), service)
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// Fields that do not belong together, or values out of range.
    pub(super) fn into_asked(self) -> Result<Asked, Problem> {
        let body = Place::body();
        let single = DecideQuestion {
            id: self.id,
            kind: self.kind,
            question: self.question,
            instructions: self.instructions,
            options: self.options,
            levels: self.levels,
            when_true: self.when_true,
            when_false: self.when_false,
        };
        let placed: Vec<(Place, DecideQuestion)> = match self.questions {
            None => vec![(body, single)],
            Some(questions) => {
                if let Some(field) = single.given_field() {
                    let message =
                        "stands beside `questions`: ask one question at the top level or several there";
                    return Err(Fault::value(body.key(field), message).into());
                }
                let place = body.key("questions");
                check_question_count(questions.len(), &place)?;
                let placed = questions.into_iter().enumerate();
                placed
                    .map(|(index, Object(question))| (place.index(index), question))
                    .collect()
            }
        };
        check_ids(&placed)?;
        let mut asked = Asked {
            decision: Decision {
                state: self.state.0,
                questions: Vec::with_capacity(placed.len()),
            },
            settings: DecisionSettings {
                // At most 256.
                order_averages: self.order_averages.map_or(1, |orders| orders.get() as usize),
                truncate: self.truncate.map(|Name(part)| part).unwrap_or_default(),
                max_tokens: None,
            },
            deadline: self
                .deadline_ms
                .map(|deadline| Duration::from_millis(deadline.get())),
            ids: Vec::with_capacity(placed.len()),
            media: self.media,
            places: Vec::with_capacity(placed.len()),
        };
        for (place, question) in placed {
            asked.ids.push(question.id.clone());
            asked.decision.questions.push(question.into_question(&place)?);
            asked.places.push(place);
        }
        Ok(asked)
    }
}

fn check_question_count(count: usize, place: &Place) -> Result<(), Problem> {
    match count {
        0 => Err(Fault::value(place.clone(), "is empty: ask at least one question").into()),
        1..=MAX_QUESTIONS => Ok(()),
        _ => Err(Problem::of_fault(
            ProblemKind::TooManyQuestions,
            Fault::value(
                place.clone(),
                format!("has {count} questions: ask at most {MAX_QUESTIONS}"),
            ),
        )),
    }
}

fn check_ids(placed: &[(Place, DecideQuestion)]) -> Result<(), Problem> {
    let mut seen = HashMap::new();
    for (place, question) in placed {
        if let Some(id) = &question.id
            && let Some(first) = seen.insert(id.as_str(), place)
        {
            let message = format!("{id:?} is also the id of {first}: ids must differ");
            return Err(Fault::value(place.key("id"), message).into());
        }
    }
    Ok(())
}

impl Asked {
    /// The field that an error of the service is about.
    pub(super) fn blame(&self, error: &ServiceError) -> Problem {
        let longest_part = |question: usize| {
            let place = self.places.get(question).cloned().unwrap_or_default();
            match self.decision.questions.get(question) {
                Some(question) if !asks_more_than_it_offers(question) => match question.shape {
                    Shape::Choice(_) => place.key("options"),
                    Shape::Score(_) => place.key("levels"),
                    Shape::Predicate { .. } => place.key("when_true"),
                },
                _ => place.key("question"),
            }
        };
        let place = |question: usize, option: Option<usize>| {
            let place = self.places.get(question).cloned().unwrap_or_default();
            let Some(option) = option else { return place };
            let list = match self
                .decision
                .questions
                .get(question)
                .map(|question| &question.shape)
            {
                Some(Shape::Score(_)) => "levels",
                _ => "options",
            };
            place.key(list).index(option)
        };
        let state = StatePlace {
            state: Place::body().key("state"),
            media: Place::body().key("media"),
            may_truncate: true,
        };
        blame(error, &state, place, longest_part)
    }
}

impl DecideQuestion {
    /// The first field that is given, by its name on the wire.
    fn given_field(&self) -> Option<&'static str> {
        [
            ("id", self.id.is_some()),
            ("type", self.kind.is_some()),
            ("question", self.question.is_some()),
            ("instructions", self.instructions.is_some()),
            ("options", self.options.is_some()),
            ("levels", self.levels.is_some()),
            ("when_true", self.when_true.is_some()),
            ("when_false", self.when_false.is_some()),
        ]
        .into_iter()
        .find_map(|(name, given)| given.then_some(name))
    }

    fn into_question(self, place: &Place) -> Result<Question, Problem> {
        let kind = match (&self.kind, &self.options, &self.levels) {
            (Some(Name(kind)), ..) => *kind,
            (None, Some(_), Some(_)) => {
                let message = "stands beside `options`: give options for a choice or levels for a score";
                return Err(Fault::value(place.key("levels"), message).into());
            }
            (None, Some(_), None) => QuestionType::Choice,
            (None, None, Some(_)) => QuestionType::Score,
            (None, None, None) => {
                let message = "give `options` for a choice, `levels` for a score, or \"type\": \"predicate\" for yes or no";
                return Err(Fault::missing(place.key("options"), message).into());
            }
        };
        let refuse = |given: bool, field: &str| {
            if given {
                let name = match kind {
                    QuestionType::Choice => "choice",
                    QuestionType::Predicate => "predicate",
                    QuestionType::Score => "score",
                };
                return Err(Fault::value(
                    place.key(field),
                    format!("does not belong to a {name}: leave it out"),
                ));
            }
            Ok(())
        };
        refuse(kind != QuestionType::Choice && self.options.is_some(), "options")?;
        refuse(kind != QuestionType::Score && self.levels.is_some(), "levels")?;
        refuse(
            kind != QuestionType::Predicate && self.when_true.is_some(),
            "when_true",
        )?;
        refuse(
            kind != QuestionType::Predicate && self.when_false.is_some(),
            "when_false",
        )?;
        if self.question.is_some() && self.instructions.is_some() {
            let message = "is another name for `question`: give one of them";
            return Err(Fault::value(place.key("instructions"), message).into());
        }
        let shape = match kind {
            QuestionType::Choice => choice(self.options, place)?,
            QuestionType::Score => score(self.levels, place)?,
            QuestionType::Predicate
                if says_nothing([
                    &self.question,
                    &self.instructions,
                    &self.when_true,
                    &self.when_false,
                ]) =>
            {
                let message =
                    "is missing: say what is true or false, or describe it by `when_true` or `when_false`";
                return Err(Fault::missing(place.key("question"), message).into());
            }
            QuestionType::Predicate => Shape::Predicate {
                when_true: self.when_true.map(|content| content.0),
                when_false: self.when_false.map(|content| content.0),
            },
        };
        Ok(Question {
            instructions: self.question.or(self.instructions).map(|content| content.0),
            shape,
        })
    }
}

/// Whether none of these holds a text.
fn says_nothing(contents: [&Option<TextOrJson>; 4]) -> bool {
    contents
        .into_iter()
        .flatten()
        .all(|content| content.0.to_text().trim().is_empty())
}

fn check_count(count: usize, what: &str, place: &Place) -> Result<(), Problem> {
    let place = place.key(what);
    match count {
        0 => Err(Fault::value(place, format!("is empty: give 1 to {MAX_OPTIONS}")).into()),
        1..=MAX_OPTIONS => Ok(()),
        _ => Err(Problem::of_fault(
            ProblemKind::TooManyOptions,
            Fault::value(place, format!("has {count} entries: give 1 to {MAX_OPTIONS}")),
        )),
    }
}

fn choice(options: Option<Vec<DecideOption>>, place: &Place) -> Result<Shape, Problem> {
    let options = options.ok_or_else(|| {
        Fault::missing(
            place.key("options"),
            format!("is missing: give 1 to {MAX_OPTIONS} options"),
        )
    })?;
    check_count(options.len(), "options", place)?;
    let options = options.into_iter().map(|option| QuestionOption {
        name: option.name,
        description: option.description.map(|content| content.0),
    });
    Ok(Shape::Choice(options.collect()))
}

fn score(levels: Option<Vec<TextOrJson>>, place: &Place) -> Result<Shape, Problem> {
    let levels = levels.ok_or_else(|| {
        Fault::missing(
            place.key("levels"),
            format!("is missing: give 1 to {MAX_OPTIONS} levels, lowest first"),
        )
    })?;
    check_count(levels.len(), "levels", place)?;
    Ok(Shape::Score(
        levels.into_iter().map(|level| level.0).collect::<Vec<Content>>(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(body: Value) -> Result<Asked, Problem> {
        DecideRequest::read(body)?.into_asked()
    }

    #[test]
    fn short_and_long_form_ask_the_same() {
        let short = asked(
            json!({"state": "s", "question": "q", "options": ["a", {"name": "b", "description": "d"}]}),
        );
        let long = asked(json!({"state": "s", "questions": [
            {"type": "choice", "instructions": "q", "options": ["a", {"name": "b", "description": "d"}]}]}));
        assert_eq!(short.unwrap().decision, long.unwrap().decision);
        let level =
            asked(json!({"state": {"b": 1, "a": []}, "question": "q", "levels": ["low", {"x": 1}]})).unwrap();
        assert_eq!(level.decision.state.to_text(), r#"{"b":1,"a":[]}"#);
        assert!(matches!(&level.decision.questions[0].shape, Shape::Score(levels) if levels.len() == 2));
        let yes =
            asked(json!({"state": "", "type": "predicate", "question": null, "when_true": "t"})).unwrap();
        assert!(matches!(
            &yes.decision.questions[0].shape,
            Shape::Predicate {
                when_true: Some(_),
                ..
            }
        ));
    }

    #[test]
    fn every_mistake_names_its_field() {
        for (body, field, says) in [
            (json!([]), "", "JSON object"),
            (json!({}), "state", "missing field"),
            (
                json!({"state": null, "question": "q", "options": ["a"]}),
                "state",
                "null",
            ),
            (
                json!({"state": 3, "question": "q", "options": ["a"]}),
                "state",
                "a string, an object or an array",
            ),
            (json!({"state": "s", "question": "q"}), "options", "predicate"),
            (
                json!({"state": "s", "question": "q", "option": ["a"]}),
                "option",
                "unknown field",
            ),
            (
                json!({"state": "s", "question": "q", "options": []}),
                "options",
                "is empty",
            ),
            (
                json!({"state": "s", "question": "q", "options": "a"}),
                "options",
                "invalid type",
            ),
            (
                json!({"state": "s", "question": "q", "options": ["a", 3]}),
                "options[1]",
                "a string, or an object",
            ),
            (
                json!({"state": "s", "options": ["a", {"name": 3}]}),
                "options[1].name",
                "a string",
            ),
            (
                json!({"state": "s", "options": ["a", {"nam": "b"}]}),
                "options[1].nam",
                "unknown field",
            ),
            (
                json!({"state": "s", "options": ["a", {"description": "b"}]}),
                "options[1].name",
                "missing",
            ),
            (
                json!({"state": "s", "options": ["a"], "levels": ["b"]}),
                "levels",
                "beside",
            ),
            (
                json!({"state": "s", "type": "score", "options": ["a"]}),
                "options",
                "score",
            ),
            (
                json!({"state": "s", "type": "choice", "options": ["a"], "when_true": "x"}),
                "when_true",
                "choice",
            ),
            (json!({"state": "s", "type": "box"}), "type", "unknown value"),
            (
                json!({"state": "s", "type": "predicate", "question": " "}),
                "question",
                "say what is true",
            ),
            (
                json!({"state": "s", "questions": [{"type": "predicate", "when_true": ""}]}),
                "questions[0].question",
                "say what is true",
            ),
            (
                json!({"state": "s", "question": "q", "instructions": "q", "options": ["a"]}),
                "instructions",
                "another name",
            ),
            (
                json!({"state": "s", "questions": []}),
                "questions",
                "at least one",
            ),
            (
                json!({"state": "s", "questions": {}}),
                "questions",
                "invalid type: an object, expected an array",
            ),
            (
                json!({"state": "s", "questions": [3]}),
                "questions[0]",
                "expected an object",
            ),
            (
                json!({"state": "s", "questions": [["id", "predicate", "q"]]}),
                "questions[0]",
                "invalid type: an array, expected an object",
            ),
            (
                json!({"state": "s", "type": {"choice": null}, "options": ["a"]}),
                "type",
                "a string",
            ),
            (
                json!({"state": "s", "type": 3, "options": ["a"]}),
                "type",
                "a string",
            ),
            (
                json!({"state": "s", "question": "q", "questions": [{"options": ["a"]}]}),
                "question",
                "beside",
            ),
            (
                json!({"state": "s", "questions": [{"options": ["a"]}, {"opts": 1}]}),
                "questions[1].opts",
                "unknown",
            ),
            (
                json!({"state": "s", "questions": [{"type": "score", "levels": ["a", null]}]}),
                "questions[0].levels[1]",
                "null",
            ),
            (
                json!({"state": "s", "questions": [{"id": "x", "options": ["a"]}, {"id": "x", "options": ["a"]}]}),
                "questions[1].id",
                "questions[0]",
            ),
            (
                json!({"state": "s", "options": ["a"], "order_averages": 0}),
                "order_averages",
                "1 to",
            ),
            (
                json!({"state": "s", "options": ["a"], "order_averages": -1}),
                "order_averages",
                "is -1: use a whole number from 1 to 256",
            ),
            (
                json!({"state": "s", "options": ["a"], "deadline_ms": 0}),
                "deadline_ms",
                "is 0: use a whole number from 1 to 600000",
            ),
            (
                json!({"state": "s", "options": ["a"], "truncate": "left"}),
                "truncate",
                "`middle`",
            ),
        ] {
            let problem = asked(body.clone()).unwrap_err();
            assert_eq!(
                problem.faults[0].place.to_string(),
                field,
                "{body}: {}",
                problem.message()
            );
            assert!(problem.message().contains(says), "{body}: {}", problem.message());
        }
        let many: Vec<_> = (0..257).map(|option| option.to_string()).collect();
        let problem = asked(json!({"state": "s", "options": many})).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::TooManyOptions);
        assert!(asked(json!({"state": "s", "options": many[..256]})).is_ok());
    }
}
