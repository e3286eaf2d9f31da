//! The question of a row: its shape, its options or levels.

use std::borrow::Cow;
use std::collections::HashSet;

use assize_preprocess::decision::{Content, MAX_OPTIONS, QuestionOption, Shape};
use serde_json::Value;

use super::cell::Cell;
use super::{RowField, RowShape};
use crate::strict_json::excerpt;

/// The options' texts, in the caller's order; of a predicate false, then true.
pub(super) fn names(shape: &Shape) -> Vec<Cow<'_, str>> {
    match shape {
        Shape::Choice(options) => options.iter().map(|option| option.name.as_str().into()).collect(),
        Shape::Predicate { .. } => vec!["false".into(), "true".into()],
        Shape::Score(levels) => levels.iter().map(Content::to_text).collect(),
    }
}

/// How many options there are.
pub(super) fn count(shape: &Shape) -> usize {
    match shape {
        Shape::Choice(options) => options.len(),
        Shape::Predicate { .. } => 2,
        Shape::Score(levels) => levels.len(),
    }
}

/// Puts a question's shape together; the error names the column by its field.
pub(super) fn shape(
    kind: Option<RowShape>,
    options: Option<Vec<String>>,
    levels: Option<Vec<String>>,
) -> Result<Shape, (RowField, String)> {
    let kind = match (kind, &options, &levels) {
        (Some(kind), ..) => kind,
        (None, Some(_), Some(_)) => {
            return Err((
                RowField::Type,
                "is missing, and there are options as well as levels: say choice or score".into(),
            ));
        }
        (None, Some(_), None) => RowShape::Choice,
        (None, None, Some(_)) => RowShape::Score,
        (None, None, None) => RowShape::Predicate,
    };
    match kind {
        RowShape::Predicate => match options {
            Some(_) => Err((
                RowField::Options,
                "are given, and `type` is predicate: its answers are true and false; leave the options out"
                    .into(),
            )),
            None => Ok(Shape::Predicate {
                when_true: None,
                when_false: None,
            }),
        },
        RowShape::Choice => {
            let options = checked(options, "option").map_err(|message| (RowField::Options, message))?;
            Ok(Shape::Choice(
                options
                    .into_iter()
                    .map(|name| QuestionOption {
                        name,
                        description: None,
                    })
                    .collect(),
            ))
        }
        RowShape::Score => {
            let levels = checked(levels, "level").map_err(|message| (RowField::Levels, message))?;
            Ok(Shape::Score(levels.into_iter().map(Content::Text).collect()))
        }
    }
}

fn checked(texts: Option<Vec<String>>, what: &str) -> Result<Vec<String>, String> {
    let texts = texts.ok_or_else(|| format!("is missing: give 1 to {MAX_OPTIONS} {what}s"))?;
    if texts.is_empty() || texts.len() > MAX_OPTIONS {
        return Err(format!("has {} entries: give 1 to {MAX_OPTIONS}", texts.len()));
    }
    let mut seen = HashSet::new();
    for (index, text) in texts.iter().enumerate() {
        if text.is_empty() {
            return Err(format!("{what} {index} is empty: every {what} needs a text"));
        }
        if !seen.insert(text) {
            return Err(format!(
                "{what} {:?} is given twice: texts must differ",
                excerpt(text)
            ));
        }
    }
    Ok(texts)
}

/// A list of texts in a cell.
pub(super) fn texts(cell: Cell) -> Result<Vec<String>, String> {
    let Value::Array(items) = cell.json()? else {
        return Err("is an object: give a list".into());
    };
    let mut texts = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        match item {
            Value::String(text) => texts.push(text),
            other => {
                return Err(format!(
                    "entry {index} is {}: write it as a string, as {:?}",
                    excerpt(&other.to_string()),
                    excerpt(&other.to_string())
                ));
            }
        }
    }
    Ok(texts)
}
