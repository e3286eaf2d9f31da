//! Reading a typed body from JSON, with the place of what is wrong.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_path_to_error::Segment;

use super::problem::Fault;
use crate::strict_json::excerpt;
use crate::strict_json::{Place, Step};

/// A `T` written as an object. Serde alone would also take an array for a struct, field by field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(entries)).map(Object)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// A `T` that is one of several names. Serde alone would also take an object with the name as its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        T::deserialize(name.into_deserializer()).map(Name)
    }
}

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
            message: in_words_of_json(&message),
            code,
        }
    })
}

fn quoted<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    message.strip_prefix(before)?.split('`').next()
}

/// Serde's message with JSON's words for Rust's, and the caller's own text cut short.
fn in_words_of_json(message: &str) -> String {
    // What is expected stands last and is never the caller's text.
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    };
    let found = match found {
        "invalid type: map" | "invalid value: map" => "invalid type: an object".into(),
        "invalid type: sequence" => "invalid type: an array".into(),
        other => match other.strip_prefix("unknown variant ") {
            Some(value) => format!("unknown value {}", excerpt(value)).into(),
            None => excerpt(other),
        },
    };
    format!("{found}, expected {expected}")
}
