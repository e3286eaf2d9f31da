//! Bounds of whole numbers that the official client has written into descriptions.
//!
//! From a type's schema it drops `minimum`, `maximum` and whatever else the service's grammar does not know, and appends
//! them to the description as `{minimum: 1, maximum: 5}`. Here they are what makes a whole number closed, so they are put
//! back.

use serde_json::{Map, Number, Value};

/// Keywords whose value is a number, which are put back.
const BOUNDS: [&str; 6] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "default",
];

/// Puts bounds back, in `schema` and everything in it.
pub(super) fn restore(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").and_then(Value::as_str) == Some("integer") {
                restore_in(fields);
            }
            fields.values_mut().for_each(restore);
        }
        Value::Array(items) => items.iter_mut().for_each(restore),
        _ => {}
    }
}

fn restore_in(schema: &mut Map<String, Value>) {
    let Some(Value::String(description)) = schema.get("description") else {
        return;
    };
    let Some((text, bounds)) = split(description) else {
        return;
    };
    // What the schema says itself goes before what its description says.
    if bounds.iter().any(|(key, _)| schema.contains_key(*key)) {
        return;
    }
    let text = text.to_owned();
    let bounds: Vec<_> = bounds
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::Number(value)))
        .collect();
    if text.is_empty() {
        schema.shift_remove("description");
    } else {
        schema.insert("description".to_owned(), Value::String(text));
    }
    schema.extend(bounds);
}

/// The caller's own text and the bounds after it, if nothing else stands in the braces.
fn split(description: &str) -> Option<(&str, Vec<(&str, Number)>)> {
    let open = description.rfind('{')?;
    let text = match description.get(..open)? {
        "" => "",
        before => before.strip_suffix("\n\n")?,
    };
    let inside = description.get(open + 1..)?.strip_suffix('}')?;
    let bounds: Option<Vec<_>> = inside
        .split(", ")
        .map(|entry| {
            let (key, value) = entry.split_once(": ")?;
            let number = serde_json::from_str(value).ok()?;
            BOUNDS.contains(&key).then_some((key, number))
        })
        .collect();
    Some((text, bounds?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn restored(mut schema: Value) -> Value {
        restore(&mut schema);
        schema
    }

    #[test]
    fn bounds_are_put_back() {
        assert_eq!(
            restored(json!({"type": "object", "properties": {
                "stars": {"type": "integer", "description": "How many?\n\n{maximum: 5, minimum: 1}", "title": "Stars"},
                "level": {"type": "integer", "description": "{exclusiveMinimum: 0, maximum: 3}"},
            }})),
            json!({"type": "object", "properties": {
                "stars": {"type": "integer", "description": "How many?", "title": "Stars", "maximum": 5, "minimum": 1},
                "level": {"type": "integer", "exclusiveMinimum": 0, "maximum": 3},
            }})
        );
    }

    #[test]
    fn a_persons_own_words_stay() {
        for schema in [
            json!({"type": "integer", "description": "{minimum: few}"}),
            json!({"type": "integer", "description": "as {minimum: 1, maximum: 2}"}),
            json!({"type": "integer", "description": "{minimum: 1, maximum: 2} or so"}),
            json!({"type": "integer", "description": "x\n\n{pattern: 1}"}),
            json!({"type": "integer", "minimum": 0, "description": "x\n\n{minimum: 1}"}),
            json!({"type": "string", "description": "x\n\n{minimum: 1}"}),
            json!({"type": "integer", "description": 3}),
        ] {
            assert_eq!(restored(schema.clone()), schema);
        }
    }
}
