//! One row as a file holds it, before it is understood.

use std::sync::Arc;

use serde_json::{Number, Value};

use crate::strict_json::{self, excerpt};

/// What stands in one column of one row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// Nothing: null, or no such key.
    Missing,
    /// Text, exactly as written.
    Text(String),
    /// A number.
    Number(Number),
    /// true or false.
    Bool(bool),
    /// A list or an object.
    Json(Value),
    /// Something that is no text, and why.
    Unreadable(String),
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Cell::Missing,
            Value::String(text) => Cell::Text(text),
            Value::Number(number) => Cell::Number(number),
            Value::Bool(value) => Cell::Bool(value),
            other => Cell::Json(other),
        }
    }
}

impl Cell {
    /// The cell in words, for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Cell::Missing => "missing".into(),
            Cell::Text(text) => format!("{:?}", excerpt(text)),
            Cell::Number(number) => format!("the number {}", excerpt(&number.to_string())),
            Cell::Bool(value) => format!("the value {value}"),
            Cell::Json(Value::Array(_)) => "a list".into(),
            Cell::Json(_) => "an object".into(),
            Cell::Unreadable(why) => why.clone(),
        }
    }

    /// The list or object in the cell, which may be written as JSON text.
    pub(super) fn json(self) -> Result<Value, String> {
        match self {
            Cell::Json(value) => Ok(value),
            Cell::Text(text) => match strict_json::parse(text.as_bytes()) {
                Ok(value @ (Value::Array(_) | Value::Object(_))) => Ok(value),
                Ok(_) => Err(format!(
                    "is {:?}: write a JSON list, as [\"one\", \"other\"]",
                    excerpt(&text)
                )),
                Err(error) => Err(format!(
                    "{}: write a JSON list, as [\"one\", \"other\"]",
                    error.about("the text")
                )),
            },
            other => Err(format!("is {}: give a list", other.shown())),
        }
    }
}

/// One row of a file: its number, and its columns in the file's order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    /// Line or number, from 1.
    pub row: usize,
    /// Columns with what stands in them.
    pub cells: Vec<(Arc<str>, Cell)>,
    /// Whether an empty text may mean that nothing was given, as in CSV, which has no other way to say so.
    pub empty_may_be_missing: bool,
}
