//! Predictions of other programs: probabilities with gold answers.

use assize_calibration::{Probability, Shape, softmax};
use assize_preprocess::decision::{Content, QuestionOption, Shape as Asked};
use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::Prediction;
use super::set::fault;
use crate::evaluation::rows::{Gold, RowFault, RowShape};
use crate::evaluation::{SHOWN_QUESTION, SHOWN_STATE, beginning};
use crate::strict_json::excerpt;

const FIELDS: [&str; 13] = [
    "id",
    "group",
    "type",
    "options",
    "state",
    "question",
    "probabilities",
    "probability",
    "scores",
    "gold",
    "gold_index",
    "ratings",
    "row",
];

/// Understands one line.
pub(super) fn read(
    line: usize,
    value: Value,
    ignored: &mut IndexSet<String>,
) -> Result<Prediction, RowFault> {
    let Value::Object(mut fields) = value else {
        return Err(fault(line, None, "(row)", "is no JSON object".into()));
    };
    ignored.extend(
        fields
            .keys()
            .filter(|key| !FIELDS.contains(&key.as_str()))
            .cloned(),
    );
    let id = match fields.remove("id") {
        None | Some(Value::Null) => line.to_string(),
        Some(Value::String(id)) => id,
        Some(Value::Number(id)) => id.to_string(),
        Some(other) => return Err(fault(line, None, "id", format!("is {other}: use a text"))),
    };
    understood(line, &id, fields).map_err(|(field, message)| fault(line, Some(id), field, message))
}

fn understood(
    line: usize,
    id: &str,
    mut fields: Map<String, Value>,
) -> Result<Prediction, (&'static str, String)> {
    let mut take = |field: &str| fields.remove(field).unwrap_or_default();
    let text = |field: &'static str, value: Value| match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) if field == "group" => Ok(Some(number.to_string())),
        Value::Object(_) | Value::Array(_) if field != "group" => Ok(Some(value.to_string())),
        other => Err((field, format!("is {}: use a text", excerpt(&other.to_string())))),
    };
    let single = take("probability");
    let kind = match take("type") {
        Value::Null if single != Value::Null => RowShape::Predicate,
        Value::Null => RowShape::Choice,
        Value::String(kind) => kind.parse().map_err(|message| ("type", message))?,
        other => return Err(("type", format!("is {other}: use choice, predicate or score"))),
    };
    let given = match take("options") {
        Value::Null => None,
        options => Some(
            list(options, |item| item.as_str().map(str::to_owned), "texts")
                .map_err(|why| ("options", why))?,
        ),
    };
    let names_given = given.is_some() || kind == RowShape::Predicate;
    let probabilities = match (take("probabilities"), single) {
        (Value::Null, Value::Null) => {
            return Err((
                "probabilities",
                "is missing: give one probability per option".into(),
            ));
        }
        (Value::Null, p) if kind == RowShape::Predicate => {
            let p = p.as_f64().and_then(|p| Probability::new(p).ok());
            let p = p.ok_or(("probability", "is no number from 0 to 1".to_owned()))?;
            Listed::Bare(vec![p.complement(), p])
        }
        (Value::Null, _) => return Err(("probability", "is for predicates: give `probabilities`".into())),
        (list, Value::Null) => listed(list).map_err(|why| ("probabilities", why))?,
        _ => {
            return Err((
                "probability",
                "is given as well as `probabilities`: give one of them".into(),
            ));
        }
    };
    let (options, probabilities) =
        joined(kind, given, probabilities).map_err(|why| ("probabilities", why))?;
    let asked = match kind {
        RowShape::Choice => Asked::Choice(
            options
                .iter()
                .map(|name| QuestionOption {
                    name: name.clone(),
                    description: None,
                })
                .collect(),
        ),
        RowShape::Predicate => Asked::Predicate {
            when_true: None,
            when_false: None,
        },
        RowShape::Score => Asked::Score(options.iter().cloned().map(Content::Text).collect()),
    };
    let (mut gold, mut index) = (take("gold"), take("gold_index"));
    if !names_given && gold.is_number() && index.is_null() {
        index = std::mem::take(&mut gold);
    }
    let gold = Gold::of_values(&asked, gold, index, take("ratings"))
        .map_err(|(field, message)| (field.name(), message))?;
    let scores = match take("scores") {
        Value::Null => None,
        scores => Some(
            list(scores, |item| item.as_f64().map(|score| score as f32), "numbers")
                .map_err(|why| ("scores", why))?,
        ),
    };
    if let Some(scores) = &scores {
        check_scores(scores, &probabilities).map_err(|why| ("scores", why))?;
    }
    let state = text("state", take("state"))?.unwrap_or_default();
    let question = text("question", take("question"))?.unwrap_or_default();
    Ok(Prediction {
        row: line,
        id: id.to_owned(),
        group: text("group", take("group"))?,
        shape: match kind {
            RowShape::Choice => Shape::Choice,
            RowShape::Predicate => Shape::Predicate,
            RowShape::Score => Shape::Score,
        },
        options,
        state: beginning(&state, SHOWN_STATE),
        question: beginning(&question, SHOWN_QUESTION),
        tokens: None,
        scores,
        raw_probabilities: None,
        probabilities,
        gold: gold.named(),
        ratings: gold.weights().map(<[f64]>::to_vec),
    })
}

/// How far the softmax of scores may be from the probabilities: files round them.
const SCORES_TOLERANCE: f64 = 0.005;

/// Refuses scores whose softmax is not the probabilities: a calibration would be fitted to other answers than are judged.
fn check_scores(scores: &[f32], probabilities: &[Probability]) -> Result<(), String> {
    let of_scores = softmax(scores).map_err(|error| error.to_string())?;
    let far = of_scores
        .iter()
        .zip(probabilities)
        .find(|(one, other)| (one.get() - other.get()).abs() > SCORES_TOLERANCE);
    match far {
        Some((of_scores, given)) => Err(format!(
            "are not what the probabilities are the softmax of: it gives {:.4} where {:.4} is given; leave them out",
            of_scores.get(),
            given.get()
        )),
        None => Ok(()),
    }
}

/// Probabilities with or without the options' names.
enum Listed {
    Bare(Vec<Probability>),
    Named(Vec<(String, Probability)>),
}

fn listed(value: Value) -> Result<Listed, String> {
    let one = |value: &Value| {
        let number = value
            .as_f64()
            .ok_or_else(|| format!("holds {value}, which is no number"))?;
        Probability::new(number).map_err(|error| error.to_string())
    };
    match value {
        Value::Array(items) => Ok(Listed::Bare(items.iter().map(one).collect::<Result<_, _>>()?)),
        Value::Object(by_name) => {
            let named = by_name.iter().map(|(name, p)| Ok((name.clone(), one(p)?)));
            Ok(Listed::Named(named.collect::<Result<_, String>>()?))
        }
        other => Err(format!("is {other}: give a list, or an object by option")),
    }
}

/// Names and probabilities in one order.
fn joined(
    kind: RowShape,
    given: Option<Vec<String>>,
    listed: Listed,
) -> Result<(Vec<String>, Vec<Probability>), String> {
    let names = match kind {
        RowShape::Predicate => Some(vec!["false".to_owned(), "true".to_owned()]),
        _ => given,
    };
    match (names, listed) {
        (Some(names), Listed::Bare(p)) if names.len() == p.len() => Ok((names, p)),
        (Some(names), Listed::Bare(p)) => Err(format!("has {} numbers for {} options", p.len(), names.len())),
        (None, Listed::Bare(p)) => Ok(((0..p.len()).map(|index| index.to_string()).collect(), p)),
        (None, Listed::Named(named)) => Ok(named.into_iter().unzip()),
        (Some(names), Listed::Named(named)) => {
            if names.len() != named.len() {
                return Err(format!(
                    "has {} options and `options` {}",
                    named.len(),
                    names.len()
                ));
            }
            let find = |name: &String| {
                let found = named.iter().find(|(other, _)| other == name);
                found
                    .map(|(_, p)| *p)
                    .ok_or_else(|| format!("lacks the option {:?}", excerpt(name)))
            };
            let p = names.iter().map(find).collect::<Result<_, _>>()?;
            Ok((names, p))
        }
    }
}

fn list<T>(value: Value, one: impl Fn(&Value) -> Option<T>, what: &str) -> Result<Vec<T>, String> {
    let Value::Array(items) = value else {
        return Err(format!("is no list of {what}"));
    };
    items
        .iter()
        .map(|item| {
            one(item).ok_or_else(|| format!("holds {}: give {what} only", excerpt(&item.to_string())))
        })
        .collect()
}
