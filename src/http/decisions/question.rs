//! The questions of a request.

use std::collections::{HashMap, HashSet};

use assize_preprocess::decision::{Content, MAX_OPTIONS, Question, QuestionOption, Shape};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::input::DecisionContent;
use super::part::{Part, PartsOf, read_parts};
use crate::http::fields::{self, Object};
use crate::http::problem::{Fault, Problem, ProblemKind};
use crate::http::transcript::PictureSource;
use crate::http::untyped::{kind, unexpected};
use crate::strict_json::{Place, excerpt};

/// Fewest and most choices of a question, as the API documents them.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=255;

/// A question.
#[derive(Debug, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DecisionQuestion {
    /// How likely a statement is true.
    Predicate(DecisionPredicate),
    /// One of several values.
    Choice(DecisionChoice),
    /// A position on ordered levels.
    Score(DecisionScore),
}

/// How likely a statement is true.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionPredicate {
    /// Returned with the answer; the model does not read it.
    #[serde(default)]
    name: Option<String>,
    /// The statement, or a question for yes or no: a string, or parts `input_text`, `input_image` and `input_json`.
    #[schema(value_type = DecisionContent)]
    instructions: Value,
}

/// One of several values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionChoice {
    /// Returned with the answer; the model does not read it.
    #[serde(default)]
    name: Option<String>,
    /// What is asked: a string, or parts `input_text`, `input_image` and `input_json`.
    #[schema(value_type = DecisionContent)]
    instructions: Value,
    /// The values, all different; the string "true" is not the boolean true.
    #[schema(value_type = Vec<DecisionOption>, min_items = 2, max_items = 255)]
    choices: Vec<Object<DecisionOption>>,
}

/// A value that may be chosen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionOption {
    /// A string that is not empty, or a boolean; returned as it is.
    #[schema(value_type = ChoiceValue)]
    value: Value,
    /// What it means.
    #[serde(default)]
    description: Option<String>,
}

/// A string or a boolean.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ChoiceValue {
    /// A string.
    Text(String),
    /// A boolean.
    Boolean(bool),
}

/// A position on ordered levels.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionScore {
    /// Returned with the answer; the model does not read it.
    #[serde(default)]
    name: Option<String>,
    /// What is asked: a string, or parts `input_text`, `input_image` and `input_json`.
    #[schema(value_type = DecisionContent)]
    instructions: Value,
    /// The levels, lowest first.
    #[schema(value_type = Vec<DecisionLevel>, min_items = 1, max_items = 256)]
    levels: Vec<Object<DecisionLevel>>,
}

/// A level.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionLevel {
    /// Its name, which is not empty; returned as it is.
    label: String,
    /// What it means.
    #[serde(default)]
    description: Option<String>,
}

/// What the answer to a question names.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    /// The question's name.
    pub(super) name: Option<String>,
    pub(super) options: NamedOptions,
}

/// The options of a question, in the caller's order and as the caller wrote them.
#[derive(Debug, PartialEq)]
pub(super) enum NamedOptions {
    Predicate,
    Values(Vec<ChoiceValue>),
    Labels(Vec<String>),
}

/// A question as it was read.
#[derive(Debug)]
pub(super) struct AskedQuestion {
    pub(super) question: Question,
    pub(super) named: Named,
    /// In its instructions, with the places of their URLs.
    pub(super) pictures: Vec<(PictureSource, Place)>,
}

/// Reads one question, which stands at `place`. The first picture in its instructions has the number `next_picture`.
///
/// # Errors
/// A field is missing, unknown or wrong; there are too few or too many choices or levels, or two are the same value.
pub(super) fn read_question(
    mut question: Value,
    next_picture: usize,
    place: &Place,
) -> Result<AskedQuestion, Problem> {
    let kind = kind(&question, place)?.to_owned();
    if let Value::Object(fields) = &mut question {
        fields.shift_remove("type");
    }
    let question = match kind.as_str() {
        "predicate" => DecisionQuestion::Predicate(fields::read(question, place)?),
        "choice" => DecisionQuestion::Choice(fields::read(question, place)?),
        "score" => DecisionQuestion::Score(fields::read(question, place)?),
        other => {
            let message = format!("is {:?}: use predicate, choice or score", excerpt(other));
            return Err(Fault::value(place.key("type"), message).into());
        }
    };
    let (name, instructions, shape, options) = match question {
        DecisionQuestion::Predicate(question) => {
            let shape = Shape::Predicate {
                when_true: None,
                when_false: None,
            };
            (
                question.name,
                question.instructions,
                shape,
                NamedOptions::Predicate,
            )
        }
        DecisionQuestion::Choice(question) => {
            let (shape, values) = choices(question.choices, &place.key("choices"))?;
            (
                question.name,
                question.instructions,
                shape,
                NamedOptions::Values(values),
            )
        }
        DecisionQuestion::Score(question) => {
            let (shape, labels) = levels(question.levels, &place.key("levels"))?;
            (
                question.name,
                question.instructions,
                shape,
                NamedOptions::Labels(labels),
            )
        }
    };
    let place = place.key("instructions");
    let parts = read_parts(instructions, PartsOf::Question, &place)?;
    let (instructions, pictures) = write(parts, next_picture);
    if options == NamedOptions::Predicate && instructions.to_text().trim().is_empty() {
        return Err(Fault::value(place, "is blank: say what is true or false").into());
    }
    Ok(AskedQuestion {
        question: Question {
            instructions: Some(instructions),
            shape,
        },
        named: Named { name, options },
        pictures,
    })
}

/// Instructions as `POST /decide` gets them, each part on a line of its own, pictures as `[image 1]`.
fn write(parts: Vec<Part>, next_picture: usize) -> (Content, Vec<(PictureSource, Place)>) {
    let mut pictures = Vec::new();
    let mut lines = Vec::with_capacity(parts.len());
    for part in parts {
        lines.push(match part {
            Part::Text(text) => text,
            Part::Json(data) => data.to_string(),
            Part::Picture(source, place) => {
                let number = next_picture + pictures.len();
                pictures.push((source, place));
                format!("[image {number}]")
            }
        });
    }
    (Content::Text(lines.join("\n")), pictures)
}

fn choices(
    choices: Vec<Object<DecisionOption>>,
    place: &Place,
) -> Result<(Shape, Vec<ChoiceValue>), Problem> {
    let count = choices.len();
    if !CHOICES.contains(&count) {
        let fault = Fault::value(
            place.clone(),
            format!(
                "has {count} choices: give {} to {}",
                CHOICES.start(),
                CHOICES.end()
            ),
        );
        return Err(match count > *CHOICES.end() {
            true => Problem::of_fault(ProblemKind::TooManyOptions, fault),
            false => fault.into(),
        });
    }
    let mut seen = HashMap::with_capacity(count);
    let mut values = Vec::with_capacity(count);
    let mut descriptions = Vec::with_capacity(count);
    for (index, Object(choice)) in choices.into_iter().enumerate() {
        let place = place.index(index).key("value");
        let value = ChoiceValue::read(choice.value, &place)?;
        if let Some(first) = seen.insert(value.clone(), index) {
            let message = format!("is also the value of choice {first}: values must differ");
            return Err(Fault::value(place, message).into());
        }
        values.push(value);
        descriptions.push(choice.description);
    }
    let options = names(&values).into_iter().zip(descriptions);
    let options = options.map(|(name, description)| QuestionOption {
        name,
        description: description.map(Content::Text),
    });
    Ok((Shape::Choice(options.collect()), values))
}

/// What the model reads for each value: a boolean as `true` or `false`, and `true (boolean)` where a string says the same.
fn names(values: &[ChoiceValue]) -> Vec<String> {
    let texts: HashSet<&str> = values
        .iter()
        .filter_map(|value| match value {
            ChoiceValue::Text(text) => Some(text.as_str()),
            ChoiceValue::Boolean(_) => None,
        })
        .collect();
    let name = |value: &ChoiceValue| match value {
        ChoiceValue::Text(text) => text.clone(),
        ChoiceValue::Boolean(value) => {
            let mut name = value.to_string();
            while texts.contains(name.as_str()) {
                name.push_str(" (boolean)");
            }
            name
        }
    };
    values.iter().map(name).collect()
}

impl ChoiceValue {
    fn read(value: Value, place: &Place) -> Result<Self, Problem> {
        match value {
            Value::String(text) if text.is_empty() => {
                Err(Fault::value(place.clone(), "is empty: every choice needs a value").into())
            }
            Value::String(text) => Ok(Self::Text(text)),
            Value::Bool(value) => Ok(Self::Boolean(value)),
            other => Err(unexpected(&other, place, "a string or a boolean")),
        }
    }
}

fn levels(levels: Vec<Object<DecisionLevel>>, place: &Place) -> Result<(Shape, Vec<String>), Problem> {
    let count = levels.len();
    if count == 0 {
        let message = format!("is empty: give 1 to {MAX_OPTIONS} levels, lowest first");
        return Err(Fault::value(place.clone(), message).into());
    }
    if count > MAX_OPTIONS {
        let message = format!("has {count} levels: give 1 to {MAX_OPTIONS}");
        let fault = Fault::value(place.clone(), message);
        return Err(Problem::of_fault(ProblemKind::TooManyOptions, fault));
    }
    let mut contents = Vec::with_capacity(count);
    let mut labels = Vec::with_capacity(count);
    for (index, Object(level)) in levels.into_iter().enumerate() {
        if level.label.is_empty() {
            let place = place.index(index).key("label");
            return Err(Fault::value(place, "is empty: every level needs a label").into());
        }
        let said = level.description.filter(|text| !text.trim().is_empty());
        // As prompts show an option with its description.
        contents.push(Content::Text(match said {
            Some(description) => format!("{}: {description}", level.label),
            None => level.label.clone(),
        }));
        labels.push(level.label);
    }
    Ok((Shape::Score(contents), labels))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(question: Value) -> AskedQuestion {
        read_question(question, 2, &Place::body().key("questions").index(0)).unwrap()
    }

    #[test]
    fn a_string_and_a_boolean_of_the_same_text_are_two_values() {
        let values = [json!("true"), json!(true), json!("true (boolean)"), json!(false)];
        let choices: Vec<_> = values.iter().map(|value| json!({"value": value})).collect();
        let asked = read(json!({"type": "choice", "instructions": "q", "choices": choices}));
        let Shape::Choice(options) = &asked.question.shape else {
            panic!("{asked:?}")
        };
        let names: Vec<_> = options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(
            names,
            ["true", "true (boolean) (boolean)", "true (boolean)", "false"]
        );
        let NamedOptions::Values(kept) = &asked.named.options else {
            panic!("{asked:?}")
        };
        assert_eq!(json!(kept), json!(values));
    }

    #[test]
    fn levels_are_written_with_their_descriptions() {
        let asked = read(
            json!({"type": "score", "instructions": "q", "name": "n", "levels": [
            {"label": "low"}, {"label": "mid", "description": "a day"}, {"label": "high", "description": " "}]}),
        );
        let Shape::Score(levels) = &asked.question.shape else {
            panic!("{asked:?}")
        };
        assert_eq!(levels, &["low".into(), "mid: a day".into(), "high".into()]);
        let labels = ["low", "mid", "high"].map(str::to_owned).to_vec();
        assert_eq!(asked.named.options, NamedOptions::Labels(labels));
        assert_eq!(asked.named.name.as_deref(), Some("n"));
    }

    #[test]
    fn instructions_are_lines_and_pictures_are_numbered() {
        let asked = read(json!({"type": "predicate", "instructions": [
            {"type": "input_text", "text": "Is it"}, {"type": "input_image", "image_url": "data:,"},
            {"type": "input_json", "data": {"b": 1, "a": 2}}, {"type": "input_image", "image_url": "u", "detail": "low"}]}));
        assert_eq!(
            asked.question.instructions,
            Some("Is it\n[image 2]\n{\"b\":1,\"a\":2}\n[image 3]".into())
        );
        let places: Vec<_> = asked
            .pictures
            .iter()
            .map(|(_, place)| place.to_string())
            .collect();
        assert_eq!(
            places,
            [
                "questions[0].instructions[1].image_url",
                "questions[0].instructions[3].image_url"
            ]
        );
    }
}
