//! The body of `POST /v1/systemone`.

use assize_preprocess::decision::{Content, Decision, MAX_OPTIONS, Question, QuestionOption, Shape};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::{self, ObjectBuilder, OneOfBuilder, Ref, Schema, Type};

use super::assets::{Assets, SystemOneAsset};
use crate::http::content::TextOrJson;
use crate::http::fault::{MAX_QUESTIONS, StatePlace, asks_more_than_it_offers, blame};
use crate::http::fields::{self, Object};
use crate::http::model_name::check_model;
use crate::http::problem::{Fault, Problem, ProblemKind};
use crate::service::{Service, ServiceError};
use crate::strict_json::Place;
use crate::strict_json::excerpt;

/// Most options of a choice, as System One documents it.
const MAX_CHOICE_OPTIONS: usize = 255;

/// A state and named questions about it.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "the schema of the body; it is read question by question, so that every error is found"
)]
pub struct SystemOneRequest {
    /// The model's name, `jev-latest`, or nothing.
    model: Option<String>,
    /// What is being judged.
    state: TextOrJson,
    /// Pictures by the placeholder that stands for each in the state.
    assets: Option<IndexMap<String, SystemOneAsset>>,
    /// The questions by id, 1 to 1024; ids are returned with the answers and are not read.
    questions: IndexMap<String, SystemOneQuestion>,
}

/// A question.
#[derive(Debug, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SystemOneQuestion {
    /// Yes or no.
    Noul(NoulQuestion),
    /// One of several options.
    Choice(ChoiceQuestion),
    /// A position on ordered levels.
    Score(ScoreQuestion),
}

/// Yes or no. Needs instructions or a criterion.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoulQuestion {
    /// What is asked.
    #[serde(default)]
    instructions: Option<TextOrJson>,
    /// What counts as true and as false.
    #[serde(default)]
    #[schema(value_type = Option<NoulCriteria>)]
    criteria: Option<Object<NoulCriteria>>,
}

/// What counts as true and as false.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoulCriteria {
    /// What counts as true.
    #[serde(default, rename = "true")]
    when_true: Option<TextOrJson>,
    /// What counts as false.
    #[serde(default, rename = "false")]
    when_false: Option<TextOrJson>,
}

/// One of several options.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceQuestion {
    /// What is asked.
    #[serde(default)]
    instructions: Option<TextOrJson>,
    /// 1 to 255 option names in order, each with a description or null.
    #[schema(schema_with = choice_criteria)]
    criteria: IndexMap<String, Option<TextOrJson>>,
}

/// `#[schema]` cannot say this: an object whose values are content or null.
fn choice_criteria() -> schema::Object {
    let null = ObjectBuilder::new().schema_type(Type::Null);
    let value = OneOfBuilder::new()
        .item(Ref::from_schema_name(TextOrJson::name()))
        .item(null);
    ObjectBuilder::new()
        .description(Some(
            "1 to 255 option names in order, each with a description or null.",
        ))
        .additional_properties(Some(Schema::OneOf(value.build())))
        .build()
}

/// A position on ordered levels.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreQuestion {
    /// What is asked.
    #[serde(default)]
    instructions: Option<TextOrJson>,
    /// The levels, lowest first.
    #[schema(min_items = 1, max_items = 256)]
    criteria: Vec<TextOrJson>,
}

/// A request in the terms of the service.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) decision: Decision,
    /// The pictures; their placeholders are replaced.
    pub(super) assets: Assets,
    pub(super) ids: Vec<String>,
    /// Placeholders of pictures that no text has.
    pub(super) unused_assets: Vec<String>,
    /// Where each question's fields stand.
    places: Vec<Place>,
}

impl Asked {
    /// Reads a body, finding the first error of every question.
    ///
    /// # Errors
    /// A missing or wrong field, or a model that is not served.
    pub(super) fn read(body: Value, service: &Service) -> Result<Self, Problem> {
        let (asked, model) = Self::parse(body, service.takes_media())?;
        check_model(model.as_deref(), service)?;
        Ok(asked)
    }

    fn parse(body: Value, takes_media: bool) -> Result<(Self, Option<String>), Problem> {
        let root = Place::body();
        let Value::Object(mut body) = body else {
            let message = "the body must be a JSON object";
            return Err(Fault {
                place: root,
                message: message.into(),
                code: "dict_type",
            }
            .into());
        };
        let mut faults = Vec::new();
        // An image that nobody looks at must not be taken for one that was judged.
        let assets = body.shift_remove("assets").filter(|assets| !assets.is_null());
        let mut assets = if assets.is_some() && !takes_media {
            let message = "this model reads text only: send the request without `assets`";
            faults.push(Fault::value(root.key("assets"), message));
            Assets::default()
        } else {
            Assets::read(assets, &root.key("assets")).unwrap_or_else(|fault| {
                faults.push(fault);
                Assets::default()
            })
        };
        let model = match body.get("model") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.clone()),
            Some(_) => {
                let place = root.key("model");
                faults.push(Fault {
                    place,
                    message: "must be a string".into(),
                    code: "string_type",
                });
                None
            }
        };
        let state = match body.remove("state") {
            None => Err(Fault::missing(
                root.key("state"),
                "is required: a string, an object or an array",
            )),
            Some(state) => fields::read::<TextOrJson>(state, &root.key("state")),
        };
        let state = state.map_err(|fault| faults.push(fault)).ok();
        let questions = take_questions(&mut body).map_err(|problem| {
            let mut merged = faults.clone();
            merged.extend(problem.faults.iter().cloned());
            Problem {
                faults: merged,
                ..problem
            }
        })?;

        let state = state.map(|state| assets.replace_in_state(state.0));
        let of_state = assets.met();
        let several = questions.len() > 1;
        let mut asked = Self {
            assets: Assets::default(),
            decision: Decision {
                state: "".into(),
                questions: Vec::with_capacity(questions.len()),
            },
            ids: Vec::with_capacity(questions.len()),
            unused_assets: Vec::new(),
            places: Vec::with_capacity(questions.len()),
        };
        let mut kind = ProblemKind::InvalidRequest;
        for (id, question) in questions {
            let place = root.key("questions").key(id.clone());
            match read_question(question, &place) {
                Ok((mut question, place)) => {
                    if !assets.is_empty() {
                        replace_in_question(&mut question, &mut assets);
                    }
                    // The model reads pictures before the state, where every question sees them.
                    if several && assets.met() > of_state {
                        let message = "shows a picture that the state does not, which works for a single question only: \
                                       put the placeholder into the state";
                        faults.push(Fault::value(place.clone(), message));
                    }
                    asked.decision.questions.push(question);
                    asked.ids.push(id);
                    asked.places.push(place);
                }
                Err(problem) => {
                    if faults.is_empty() {
                        kind = problem.kind;
                    }
                    faults.extend(problem.faults);
                }
            }
        }
        match state {
            Some(state) if faults.is_empty() => {
                asked.decision.state = state;
                asked.unused_assets = assets.unused();
                asked.assets = assets;
                Ok((asked, model))
            }
            _ => Err(Problem {
                kind,
                faults,
                retry_after: None,
                close: false,
            }),
        }
    }

    /// The field that an error of the service is about.
    pub(super) fn blame(&self, error: &ServiceError) -> Problem {
        let longest_part = |question: usize| {
            let place = self.places.get(question).cloned().unwrap_or_default();
            match self.decision.questions.get(question) {
                Some(question) if !asks_more_than_it_offers(question) => place.key("criteria"),
                _ => place.key("instructions"),
            }
        };
        let place = |question: usize, option: Option<usize>| {
            let place = self.places.get(question).cloned().unwrap_or_default();
            let Some(option) = option else { return place };
            let criteria = place.key("criteria");
            match self
                .decision
                .questions
                .get(question)
                .map(|question| &question.shape)
            {
                Some(Shape::Choice(options)) => match options.get(option) {
                    Some(option) => criteria.key(option.name.clone()),
                    None => criteria,
                },
                _ => criteria.index(option),
            }
        };
        blame(error, &StatePlace::whole("state"), place, longest_part)
    }
}

/// Replaces placeholders in instructions and criteria; names of options are left alone.
fn replace_in_question(question: &mut Question, assets: &mut Assets) {
    let replace = |content: &mut Option<Content>, assets: &mut Assets| {
        *content = content.take().map(|content| assets.replace(content));
    };
    replace(&mut question.instructions, assets);
    match &mut question.shape {
        Shape::Choice(options) => {
            for option in options {
                replace(&mut option.description, assets);
            }
        }
        Shape::Predicate {
            when_true,
            when_false,
        } => {
            replace(when_true, assets);
            replace(when_false, assets);
        }
        Shape::Score(levels) => {
            for level in levels {
                let content = std::mem::replace(level, "".into());
                *level = assets.replace(content);
            }
        }
    }
}

fn take_questions(body: &mut Map<String, Value>) -> Result<Map<String, Value>, Problem> {
    let place = Place::body().key("questions");
    match body.remove("questions") {
        None | Some(Value::Null) => {
            Err(Fault::missing(place, "is required: an object of questions by id").into())
        }
        Some(Value::Object(questions)) if questions.is_empty() => {
            let message = "is empty: ask at least one question";
            Err(Fault {
                place,
                message: message.into(),
                code: "too_short",
            }
            .into())
        }
        Some(Value::Object(questions)) if questions.len() > MAX_QUESTIONS => {
            let message = format!("has {} questions: ask at most {MAX_QUESTIONS}", questions.len());
            Err(Problem::of_fault(
                ProblemKind::TooManyQuestions,
                Fault {
                    place,
                    message,
                    code: "too_long",
                },
            ))
        }
        Some(Value::Object(questions)) => Ok(questions),
        Some(_) => {
            let message = "must be an object of questions by id";
            Err(Fault {
                place,
                message: message.into(),
                code: "dict_type",
            }
            .into())
        }
    }
}

/// Reads one question; its fields stand at `questions.<id>.<type>`.
fn read_question(question: Value, place: &Place) -> Result<(Question, Place), Problem> {
    let Value::Object(mut fields) = question else {
        let message = "must be an object with a `type`";
        return Err(Fault {
            place: place.clone(),
            message: message.into(),
            code: "dict_type",
        }
        .into());
    };
    // What is left must all be known to the type: a misspelt field would change the question without a word.
    let kind = match fields.shift_remove("type") {
        Some(Value::String(kind)) => kind,
        Some(other) => {
            let message = format!("is {}: use noul, choice or score", excerpt(&other.to_string()));
            return Err(Fault {
                place: place.key("type"),
                message,
                code: "union_tag_invalid",
            }
            .into());
        }
        None => {
            let message = "is required: noul, choice or score";
            let code = "union_tag_not_found";
            return Err(Fault {
                place: place.key("type"),
                message: message.into(),
                code,
            }
            .into());
        }
    };
    let inside = place.key(kind.clone());
    let question = Value::Object(fields);
    let question = match kind.as_str() {
        "noul" => SystemOneQuestion::Noul(fields::read(question, &inside)?),
        "choice" => SystemOneQuestion::Choice(fields::read(question, &inside)?),
        "score" => SystemOneQuestion::Score(fields::read(question, &inside)?),
        "box" => {
            let message =
                "a box is found in an image, and this model reads text only: use noul, choice or score";
            return Err(Fault::value(place.key("type"), message).into());
        }
        other => {
            let message = format!("is {:?}: use noul, choice or score", excerpt(other));
            return Err(Fault {
                place: place.key("type"),
                message,
                code: "union_tag_invalid",
            }
            .into());
        }
    };
    Ok((question.into_question(&inside)?, inside))
}

impl SystemOneQuestion {
    fn into_question(self, place: &Place) -> Result<Question, Problem> {
        let (instructions, shape) = match self {
            Self::Noul(noul) => {
                let (when_true, when_false) = noul.criteria.map_or((None, None), |Object(criteria)| {
                    (criteria.when_true, criteria.when_false)
                });
                let shape = Shape::Predicate {
                    when_true: when_true.map(|content| content.0),
                    when_false: when_false.map(|content| content.0),
                };
                (noul.instructions, shape)
            }
            Self::Choice(choice) => {
                check_count(choice.criteria.len(), MAX_CHOICE_OPTIONS, "options", place)?;
                let options = choice
                    .criteria
                    .into_iter()
                    .map(|(name, description)| QuestionOption {
                        name,
                        description: description.map(|content| content.0),
                    });
                (choice.instructions, Shape::Choice(options.collect()))
            }
            Self::Score(score) => {
                check_count(score.criteria.len(), MAX_OPTIONS, "levels", place)?;
                let levels = score.criteria.into_iter().map(|level| level.0);
                (score.instructions, Shape::Score(levels.collect()))
            }
        };
        Ok(Question {
            instructions: instructions.map(|content| content.0),
            shape,
        })
    }
}

fn check_count(count: usize, most: usize, what: &str, place: &Place) -> Result<(), Problem> {
    let place = place.key("criteria");
    if count == 0 {
        let message = format!("is empty: give 1 to {most} {what}");
        return Err(Fault {
            place,
            message,
            code: "too_short",
        }
        .into());
    }
    if count > most {
        let message = format!("has {count} {what}: give 1 to {most}");
        return Err(Problem::of_fault(
            ProblemKind::TooManyOptions,
            Fault {
                place,
                message,
                code: "too_long",
            },
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_ids_and_option_order() {
        let body = json!({"state": {"z": 1, "a": 2}, "model": null, "x_nonce": 1, "questions": {
            "🙂 q": {"type": "choice", "criteria": {"b": null, "a": {"k": 1}, "": "nothing"}},
            "n": {"type": "noul", "instructions": null, "criteria": {"true": ["t"], "false": null}},
        }});
        let (asked, model) = Asked::parse(body, false).unwrap();
        assert_eq!(
            (asked.ids, model),
            (vec!["🙂 q".to_owned(), "n".to_owned()], None)
        );
        let Shape::Choice(options) = &asked.decision.questions[0].shape else {
            panic!()
        };
        assert_eq!(
            options
                .iter()
                .map(|option| option.name.as_str())
                .collect::<Vec<_>>(),
            ["b", "a", ""]
        );
    }

    #[test]
    fn every_question_is_checked() {
        let body = json!({"questions": {
            "a": {"type": "choice", "criteria": {}},
            "b": {"type": "boolean"},
            "c": {"instructions": "x"},
            "d": {"type": "score", "criteria": {"1": "x"}},
            "e": {"type": "score", "criteria": ["x", null]},
            "f": {"type": "choice"},
            "g": {"type": "box"},
            "h": {"type": "choice", "criteria": {"x": 3}},
            "i": [],
            "j": {"type": "noul", "instruction": "x"},
            "k": {"type": "noul", "criteria": {"true": "x", "flase": "y"}},
            "l": {"type": "choice", "criteria": {"x": null}, "options": ["x"]},
            "m": {"type": "score", "criteria": ["x"], "levels": ["x"]},
            "n": {"type": "noul", "criteria": ["x", "y"]},
        }, "assets": {"pic": {"type": "image"}}});
        let problem = Asked::parse(body, false).unwrap_err();
        let places: Vec<_> = problem
            .faults
            .iter()
            .map(|fault| fault.place.to_string())
            .collect();
        assert_eq!(
            places,
            [
                "assets",
                "state",
                "questions.a.choice.criteria",
                "questions.b.type",
                "questions.c.type",
                "questions.d.score.criteria",
                "questions.e.score.criteria[1]",
                "questions.f.choice.criteria",
                "questions.g.type",
                "questions.h.choice.criteria.x",
                "questions.i",
                "questions.j.noul.instruction",
                "questions.k.noul.criteria.flase",
                "questions.l.choice.options",
                "questions.m.score.levels",
                "questions.n.noul.criteria",
            ]
        );
        assert_eq!(problem.faults[7].code, "missing");
        let unknown = &problem.faults[11];
        assert_eq!(unknown.code, "extra_forbidden");
        assert!(
            unknown.message.contains("`instructions` or `criteria`"),
            "{}",
            unknown.message
        );
    }

    #[test]
    fn limits_are_those_of_the_protocol() {
        let choice = |count: usize| {
            let criteria: Map<_, _> = (0..count).map(|name| (name.to_string(), Value::Null)).collect();
            Asked::parse(
                json!({"state": "s", "questions": {"q": {"type": "choice", "criteria": criteria}}}),
                false,
            )
        };
        assert!(choice(1).is_ok());
        assert!(choice(255).is_ok());
        assert_eq!(choice(256).unwrap_err().kind, ProblemKind::TooManyOptions);
        let score = |count: usize| {
            let criteria: Vec<_> = (0..count).map(|level| level.to_string()).collect();
            Asked::parse(
                json!({"state": "s", "questions": {"q": {"type": "score", "criteria": criteria}}}),
                false,
            )
        };
        assert!(score(256).is_ok());
        assert_eq!(score(257).unwrap_err().kind, ProblemKind::TooManyOptions);
        for questions in [json!(null), json!({}), json!([]), json!("q")] {
            let problem = Asked::parse(json!({"state": "s", "questions": questions}), false).unwrap_err();
            assert_eq!(problem.faults[0].place.to_string(), "questions");
        }
    }
}
