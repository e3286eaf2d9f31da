//! JSON whose type decides how it is read.

use serde_json::Value;

use super::problem::{Fault, Problem};
use crate::strict_json::Place;

/// The `type` of an object, on which its other fields depend.
///
/// # Errors
/// It is no object, or its `type` is missing or no string.
pub(super) fn kind<'b>(block: &'b Value, place: &Place) -> Result<&'b str, Problem> {
    match (block.is_object(), block.get("type")) {
        (false, _) => Err(unexpected(block, place, "an object with a `type`")),
        (true, Some(Value::String(kind))) => Ok(kind),
        (true, Some(other)) => Err(unexpected(other, &place.key("type"), "a string")),
        (true, None) => Err(Fault::missing(place.key("type"), "missing field `type`").into()),
    }
}

/// The items of an array; `expected` says what could stand there.
pub(super) fn array(value: Value, place: &Place, expected: &str) -> Result<Vec<Value>, Problem> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(unexpected(&other, place, expected)),
    }
}

/// A value of another JSON type than `expected`.
pub(super) fn unexpected(found: &Value, place: &Place, expected: &str) -> Problem {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Fault::value(place.clone(), format!("is {found}, expected {expected}")).into()
}
