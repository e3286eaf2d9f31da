//! Reading a schema whose every field is closed.

use std::collections::HashSet;

use assize_preprocess::decision::{Content, MAX_OPTIONS, Question, QuestionOption, Shape};
use serde_json::{Map, Value};

use crate::http::fault::MAX_QUESTIONS;
use crate::http::problem::{Fault, Problem, ProblemKind};
use crate::strict_json::{Place, excerpt};

/// Deepest nesting of objects and references, so that a schema that holds itself ends.
const MAX_DEPTH: usize = 32;

/// Most parts of a schema, each counted as often as it is referred to.
const MAX_PARTS: usize = 8192;

/// Keywords that say which values are valid and are not read here: leaving them out of account could give a value that
/// the schema forbids.
const NOT_READ: [&str; 17] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "$dynamicRef",
    "pattern",
    "format",
    "minLength",
    "maxLength",
];

/// Bounds, which are read beside the type integer alone.
const BOUNDS: [&str; 5] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// What is put before every question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::http) struct Preface(pub(in crate::http) Vec<String>);

impl Preface {
    /// The instructions of a question, with the preface before them.
    pub(in crate::http) fn before(&self, instructions: &str) -> Content {
        let parts = self.0.iter().map(String::as_str).chain([instructions]);
        Content::Text(parts.collect::<Vec<_>>().join("\n\n"))
    }
}

/// One field that is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClosedField {
    /// Its path, with dots.
    pub(super) path: String,
    pub(super) question: Question,
    /// In the order of the question's options; false, then true for a predicate.
    pub(super) values: Vec<Value>,
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Object(Vec<(String, Node)>),
    Asked(usize),
    Fixed(Value),
}

/// A schema, read.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::http) struct ClosedFields {
    pub(super) fields: Vec<ClosedField>,
    pub(super) root: Node,
}

impl ClosedFields {
    /// Reads the schema at `place`.
    ///
    /// # Errors
    /// A field is open, or written in a way that is not read.
    pub(in crate::http) fn read(schema: &Value, place: &Place, preface: &Preface) -> Result<Self, Problem> {
        let mut reader = Reader {
            root: schema,
            root_place: place,
            parts: 0,
            fields: Vec::new(),
            preface,
        };
        let root = reader.node(schema, None, place, "", 0)?;
        Ok(Self {
            fields: reader.fields,
            root,
        })
    }

    /// The questions, in order.
    pub(in crate::http) fn questions(&self) -> impl Iterator<Item = Question> {
        self.fields.iter().map(|field| field.question.clone())
    }

    /// Where each question stands.
    pub(in crate::http) fn places(&self) -> impl Iterator<Item = Place> {
        self.fields.iter().map(|field| field.place.clone())
    }

    /// How many fields are asked.
    pub(in crate::http) fn count(&self) -> usize {
        self.fields.len()
    }
}

struct Reader<'s> {
    root: &'s Value,
    root_place: &'s Place,
    parts: usize,
    fields: Vec<ClosedField>,
    preface: &'s Preface,
}

impl<'s> Reader<'s> {
    /// `description` is what stood beside a reference to `schema`, and goes before its own.
    fn node(
        &mut self,
        schema: &'s Value,
        description: Option<&'s str>,
        place: &Place,
        path: &str,
        depth: usize,
    ) -> Result<Node, Problem> {
        let refuse = |message: String| Err(Problem::from(Fault::value(place.clone(), message)));
        let Value::Object(fields) = schema else {
            return refuse("is no JSON schema of a closed field: give an object".to_owned());
        };
        if depth > MAX_DEPTH {
            return refuse(format!(
                "nests deeper than {MAX_DEPTH}, or holds itself: give a flat schema"
            ));
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return refuse(format!(
                "makes the schema larger than {MAX_PARTS} parts: give a smaller one"
            ));
        }
        let description = description.or_else(|| fields.get("description").and_then(Value::as_str));
        if let Some(Value::String(reference)) = fields.get("$ref") {
            stands_alone(fields, "$ref", place)?;
            let (schema, place) = self.resolve(reference, place)?;
            return self.node(schema, description, &place, path, depth + 1);
        }
        // How pydantic wraps a reference that has a description of its own.
        if let Some(Value::Array(only)) = fields.get("allOf")
            && let [only] = only.as_slice()
        {
            stands_alone(fields, "allOf", place)?;
            let place = place.key("allOf").index(0);
            return self.node(only, description, &place, path, depth + 1);
        }
        if let Some(keyword) = NOT_READ.iter().find(|keyword| fields.contains_key(**keyword)) {
            return Err(Fault::value(
                place.key(*keyword),
                "is not read here: leave it out, and write the values as an enum",
            )
            .into());
        }
        let kind = fields.get("type").and_then(Value::as_str);
        let words = description.unwrap_or(path);
        if let Some(value) = fields.get("const") {
            no_beside(fields, "const", &BOUNDS, place)?;
            no_beside(fields, "const", &["enum"], place)?;
            is_of_type(fields, value, &place.key("const"))?;
            return Ok(Node::Fixed(value.clone()));
        }
        if let Some(values) = fields.get("enum") {
            no_beside(fields, "enum", &BOUNDS, place)?;
            let Value::Array(values) = values else {
                return Err(Fault::value(place.key("enum"), "is no array: list the values").into());
            };
            for (index, value) in values.iter().enumerate() {
                is_of_type(fields, value, &place.key("enum").index(index))?;
            }
            return self.leaf(words, values.clone(), &place.key("enum"), path);
        }
        match kind {
            Some("object") => self.object(fields, place, path, depth),
            Some("null") => Ok(Node::Fixed(Value::Null)),
            Some("boolean") if words.trim().is_empty() => {
                let message = "says nothing that could be true or false";
                Err(Fault::missing(place.key("description"), message).into())
            }
            Some("boolean") => {
                let shape = Shape::Predicate {
                    when_true: None,
                    when_false: None,
                };
                let values = vec![Value::Bool(false), Value::Bool(true)];
                self.ask(words, shape, values, place, path)
            }
            Some("integer") => {
                let values = integers(fields, place, path)?;
                self.leaf(words, values, place, path)
            }
            _ => Err(open(path, place)),
        }
    }

    fn object(
        &mut self,
        fields: &'s Map<String, Value>,
        place: &Place,
        path: &str,
        depth: usize,
    ) -> Result<Node, Problem> {
        let Some(Value::Object(properties)) = fields.get("properties") else {
            return Err(open(path, place));
        };
        let mut nodes = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let inner = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let place = place.key("properties").key(name.clone());
            nodes.push((name.clone(), self.node(schema, None, &place, &inner, depth + 1)?));
        }
        for name in fields
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if name.as_str().is_none_or(|name| !properties.contains_key(name)) {
                let message = format!("names {name}, which is none of the properties: give it a schema");
                return Err(Fault::value(place.key("required"), message).into());
            }
        }
        Ok(Node::Object(nodes))
    }

    fn resolve(&self, reference: &str, place: &Place) -> Result<(&'s Value, Place), Problem> {
        let found = reference
            .strip_prefix('#')
            .and_then(|pointer| Some((pointer, self.root.pointer(pointer)?)));
        let Some((pointer, schema)) = found else {
            let message = format!(
                "is {:?}, which is nowhere in this schema: refer to a part of it, as \"#/$defs/Name\"",
                excerpt(reference)
            );
            return Err(Fault::value(place.key("$ref"), message).into());
        };
        let place = pointer
            .split('/')
            .skip(1)
            .fold(self.root_place.clone(), |place, step| {
                place.key(step.replace("~1", "/").replace("~0", "~"))
            });
        Ok((schema, place))
    }

    fn leaf(&mut self, words: &str, values: Vec<Value>, place: &Place, path: &str) -> Result<Node, Problem> {
        if values.len() > MAX_OPTIONS {
            let message = format!("has {} values: give 1 to {MAX_OPTIONS}", values.len());
            return Err(Problem::of_fault(
                ProblemKind::TooManyOptions,
                Fault::value(place.clone(), message),
            ));
        }
        let mut seen = HashSet::new();
        let mut options = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let name = match value {
                Value::String(text) => text.clone(),
                Value::Array(_) | Value::Object(_) => {
                    let message = "is no single value: give strings, numbers, booleans or null";
                    return Err(Fault::value(place.index(index), message).into());
                }
                other => other.to_string(),
            };
            if !seen.insert(name.clone()) {
                let message = format!(
                    "{:?} is there twice for the model: values must differ",
                    excerpt(&name)
                );
                return Err(Fault::value(place.index(index), message).into());
            }
            options.push(QuestionOption {
                name,
                description: None,
            });
        }
        match values.as_slice() {
            [] => {
                Err(Fault::value(place.clone(), format!("is empty: give 1 to {MAX_OPTIONS} values")).into())
            }
            [only] => Ok(Node::Fixed(only.clone())),
            _ => self.ask(words, Shape::Choice(options), values, place, path),
        }
    }

    fn ask(
        &mut self,
        words: &str,
        shape: Shape,
        values: Vec<Value>,
        place: &Place,
        path: &str,
    ) -> Result<Node, Problem> {
        if self.fields.len() >= MAX_QUESTIONS {
            let message = format!("is one field too many: ask at most {MAX_QUESTIONS}");
            let fault = Fault::value(place.clone(), message);
            return Err(Problem::of_fault(ProblemKind::TooManyQuestions, fault));
        }
        self.fields.push(ClosedField {
            path: path.to_owned(),
            question: Question {
                instructions: Some(self.preface.before(words)),
                shape,
            },
            values,
            place: place.clone(),
        });
        Ok(Node::Asked(self.fields.len() - 1))
    }
}

/// Refuses what narrows the values of a schema that `keyword` gives.
fn stands_alone(fields: &Map<String, Value>, keyword: &str, place: &Place) -> Result<(), Problem> {
    let others: Vec<_> = ["type", "enum", "const", "properties", "$ref"]
        .into_iter()
        .chain(BOUNDS)
        .chain(NOT_READ)
        .filter(|other| *other != keyword)
        .collect();
    no_beside(fields, keyword, &others, place)
}

fn no_beside(
    fields: &Map<String, Value>,
    keyword: &str,
    others: &[&str],
    place: &Place,
) -> Result<(), Problem> {
    match others.iter().find(|other| fields.contains_key(**other)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("stands beside `{keyword}`, which is not read here: leave one of them out");
            Err(Fault::value(place.key(*other), message).into())
        }
    }
}

/// Refuses a value that `type` forbids.
fn is_of_type(fields: &Map<String, Value>, value: &Value, place: &Place) -> Result<(), Problem> {
    let is = |kind: &Value| match kind.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|v| v.fract() == 0.0)
        }
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    let fits = match fields.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(is),
        Some(kind) => is(kind),
    };
    if fits {
        return Ok(());
    }
    let message = "is not of the `type` that stands beside it: change the value or the type";
    Err(Fault::value(place.clone(), message).into())
}

/// The integers from a schema's least to its most.
fn integers(fields: &Map<String, Value>, place: &Place, path: &str) -> Result<Vec<Value>, Problem> {
    let bound = |key: &str| fields.get(key).and_then(Value::as_i64);
    let least = [
        bound("minimum"),
        bound("exclusiveMinimum").map(|bound| bound.saturating_add(1)),
    ];
    let most = [
        bound("maximum"),
        bound("exclusiveMaximum").map(|bound| bound.saturating_sub(1)),
    ];
    let (Some(least), Some(most)) = (
        least.into_iter().flatten().max(),
        most.into_iter().flatten().min(),
    ) else {
        return Err(open(path, place));
    };
    if most < least {
        let message = format!("has no value from {least} to {most}");
        return Err(Fault::value(place.clone(), message).into());
    }
    let step = match fields.get("multipleOf") {
        None => 1,
        Some(step) => match step.as_i64().filter(|step| *step > 0) {
            Some(step) => step,
            None => {
                let message = "is no whole number above 0";
                return Err(Fault::value(place.key("multipleOf"), message).into());
            }
        },
    };
    let first = least.saturating_add((step - least.rem_euclid(step)) % step);
    // One above the limit is enough to be refused.
    let values = std::iter::successors(Some(first), |value| value.checked_add(step))
        .take_while(|value| *value <= most)
        .take(MAX_OPTIONS + 1);
    Ok(values.map(Value::from).collect())
}

fn open(path: &str, place: &Place) -> Problem {
    let what = if path.is_empty() {
        "the answer".to_owned()
    } else {
        format!("the field {:?}", excerpt(path))
    };
    let message = format!(
        "leaves {what} open, and this server answers closed questions: give an enum, a const, the type boolean, the type \
         integer with minimum and maximum, or an object whose properties are such"
    );
    Fault::value(place.clone(), message).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value) -> Result<ClosedFields, String> {
        ClosedFields::read(&schema, &Place::body().key("s"), &Preface::default())
            .map_err(|problem| problem.message())
    }

    #[test]
    fn references_and_bounds_are_followed() {
        let fields = read(json!({
            "$defs": {"Topic": {"enum": ["a", "b"], "title": "Topic", "type": "string"}},
            "type": "object",
            "properties": {
                "topic": {"$ref": "#/$defs/Topic", "description": "Which?"},
                "again": {"allOf": [{"$ref": "#/$defs/Topic"}]},
                "even": {"type": "integer", "exclusiveMinimum": 0, "maximum": 7, "multipleOf": 2},
                "inner": {"type": "object", "properties": {"sure": {"type": "boolean"}, "kind": {"const": 1}}},
                "only": {"enum": ["x"]}
            },
            "required": ["topic"]
        }))
        .unwrap();
        let paths: Vec<_> = fields.fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["topic", "again", "even", "inner.sure"]);
        assert_eq!(fields.fields[0].question.instructions, Some("Which?".into()));
        assert_eq!(fields.fields[0].place.to_string(), "s.$defs.Topic.enum");
        assert_eq!(fields.fields[2].values, [2, 4, 6].map(Value::from));
    }

    #[test]
    fn what_is_open_or_not_read_is_refused() {
        let field = |schema: Value| json!({"type": "object", "properties": {"f": schema}});
        for (schema, says) in [
            (json!(true), "object"),
            (json!({}), "open"),
            (json!({"type": "object"}), "open"),
            (json!({"type": "boolean"}), "s.description"),
            (field(json!({"type": "string"})), "s.properties.f: leaves"),
            (field(json!({"type": "integer", "minimum": 1})), "\"f\" open"),
            (
                field(json!({"type": "integer", "minimum": 0, "maximum": 256})),
                "257 values",
            ),
            (
                field(json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX})),
                "257 values",
            ),
            (
                field(json!({"type": "integer", "minimum": 2, "maximum": 1})),
                "no value",
            ),
            (
                field(json!({"type": "number", "minimum": 0, "maximum": 1})),
                "open",
            ),
            (
                field(json!({"type": "array", "items": {"type": "boolean"}})),
                "open",
            ),
            (field(json!({"enum": []})), "empty"),
            (field(json!({"enum": 3})), "array"),
            (field(json!({"enum": ["4", 4]})), "s.properties.f.enum[1]"),
            (field(json!({"enum": [["a"]]})), "single value"),
            (field(json!({"type": "boolean", "not": {"const": true}})), "f.not"),
            (field(json!({"enum": [1, "a"], "type": "integer"})), "f.enum[1]"),
            (field(json!({"enum": [1, 2], "minimum": 2})), "f.minimum"),
            (field(json!({"const": "a", "type": "boolean"})), "f.const"),
            (
                field(json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]})),
                "f.anyOf",
            ),
            (field(json!({"$ref": "#/x", "enum": ["a"]})), "f.enum"),
            (field(json!({"$ref": "#/$defs/Absent"})), "nowhere"),
            (field(json!({"$ref": "#"})), "holds itself"),
            (
                // Each doubles the next: many parts in a few bytes.
                json!({"$defs": (0..14).map(|n| (n.to_string(), json!({"type": "object", "properties": {
                    "a": {"$ref": format!("#/$defs/{}", n + 1)}, "b": {"$ref": format!("#/$defs/{}", n + 1)}}})))
                    .chain([("14".to_owned(), json!({"const": 1}))]).collect::<Map<_, _>>(), "$ref": "#/$defs/0"}),
                "smaller",
            ),
            (
                json!({"type": "object", "properties": {}, "required": ["x"]}),
                "required",
            ),
        ] {
            let message = read(schema.clone()).unwrap_err();
            assert!(message.contains(says), "{schema}: {message}");
        }
    }
}
