//! Reading a schema whose every field is closed.

use assize_preprocess::decision::{Content, MAX_OPTIONS, Question, QuestionOption, Shape};
use serde_json::{Map, Value};

use crate::http::problem::{Fault, Problem};
use crate::strict_json::Place;

/// What is put before every question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::http) struct Preface(pub(in crate::http) Vec<String>);

impl Preface {
    fn before(&self, instructions: &str) -> Content {
        let parts = self.0.iter().map(String::as_str).chain([instructions]);
        Content::Text(parts.collect::<Vec<_>>().join("\n\n"))
    }
}

/// One field that is asked.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::http) struct ClosedField {
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
            fields: Vec::new(),
            preface,
        };
        let root = reader.node(schema, place, "")?;
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
}

struct Reader<'p> {
    fields: Vec<ClosedField>,
    preface: &'p Preface,
}

impl Reader<'_> {
    fn node(&mut self, schema: &Value, place: &Place, path: &str) -> Result<Node, Problem> {
        let Value::Object(fields) = schema else {
            return Err(Fault::value(place.clone(), "is no JSON schema: give an object").into());
        };
        if let Some(value) = fields.get("const") {
            return Ok(Node::Fixed(value.clone()));
        }
        if let Some(Value::Array(values)) = fields.get("enum") {
            return Ok(self.leaf(fields, values.clone(), place, path));
        }
        match fields.get("type").and_then(Value::as_str) {
            Some("object") => {
                let Some(Value::Object(properties)) = fields.get("properties") else {
                    return Err(open(path, &place.key("properties")));
                };
                let mut nodes = Vec::with_capacity(properties.len());
                for (name, schema) in properties {
                    let inner = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    let place = place.key("properties").key(name.clone());
                    nodes.push((name.clone(), self.node(schema, &place, &inner)?));
                }
                Ok(Node::Object(nodes))
            }
            Some("boolean") => {
                let instructions = self.preface.before(words(fields, path));
                let shape = Shape::Predicate {
                    when_true: None,
                    when_false: None,
                };
                let values = vec![Value::Bool(false), Value::Bool(true)];
                Ok(self.ask(instructions, shape, values, place, path))
            }
            Some("integer") => {
                let bound = |key: &str| fields.get(key).and_then(Value::as_i64);
                let (Some(least), Some(most)) = (bound("minimum"), bound("maximum")) else {
                    return Err(open(path, place));
                };
                if most < least || most.saturating_sub(least) >= MAX_OPTIONS as i64 {
                    return Err(open(path, place));
                }
                let values = (least..=most).map(Value::from).collect();
                Ok(self.leaf(fields, values, place, path))
            }
            _ => Err(open(path, place)),
        }
    }

    fn leaf(&mut self, schema: &Map<String, Value>, values: Vec<Value>, place: &Place, path: &str) -> Node {
        let options = values.iter().map(|value| QuestionOption {
            name: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            description: None,
        });
        let shape = Shape::Choice(options.collect());
        let instructions = self.preface.before(words(schema, path));
        self.ask(instructions, shape, values, place, path)
    }

    fn ask(
        &mut self,
        instructions: Content,
        shape: Shape,
        values: Vec<Value>,
        place: &Place,
        path: &str,
    ) -> Node {
        self.fields.push(ClosedField {
            path: path.to_owned(),
            question: Question {
                instructions: Some(instructions),
                shape,
            },
            values,
            place: place.clone(),
        });
        Node::Asked(self.fields.len() - 1)
    }
}

fn words<'s>(schema: &'s Map<String, Value>, path: &'s str) -> &'s str {
    schema.get("description").and_then(Value::as_str).unwrap_or(path)
}

fn open(path: &str, place: &Place) -> Problem {
    let message = format!(
        "leaves {path:?} open: give every field an enum, a const, the type boolean, or the type integer with minimum and \
         maximum"
    );
    Fault::value(place.clone(), message).into()
}
