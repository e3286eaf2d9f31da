//! Reading a typed body from JSON, with the place of what is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::place::{Place, Step};
use super::problem::Fault;

/// Reads `value`, which stands at `place`, as a `T`.
///
/// # Errors
/// The first field that is missing, unknown or of the wrong type.
pub(super) fn read<T: DeserializeOwned>(value: Value, place: &Place) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut steps: Vec<Step> = place.steps().to_vec();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => steps.push(Step::Index(*index)),
                Segment::Map { key } => steps.push(Step::Key(key.clone())),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let message = error.inner().to_string();
        let mut code = "value_error";
        if let Some(field) = quoted(&message, "missing field `") {
            steps.push(Step::Key(field.to_owned()));
            code = "missing";
        } else if let Some(field) = quoted(&message, "unknown field `") {
            // Depending on the reader the path ends at the object or already at the field.
            if steps.last() != Some(&Step::Key(field.to_owned())) {
                steps.push(Step::Key(field.to_owned()));
            }
            code = "extra_forbidden";
        } else if message.starts_with("invalid type") {
            code = "type_error";
        }
        Fault {
            place: Place::from(steps),
            message,
            code,
        }
    })
}

fn quoted<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    message.strip_prefix(before)?.split('`').next()
}
