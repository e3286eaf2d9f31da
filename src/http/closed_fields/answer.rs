//! The JSON that follows from the answers.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::schema::{ClosedFields, Node};
use crate::service::{Answer, AnswerKind};

/// The answer to one field.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FieldAnswer {
    /// The field's path.
    pub(in crate::http) field: String,
    /// Its value.
    #[schema(value_type = Value)]
    pub(in crate::http) value: Value,
    /// How peaked the probabilities are.
    confidence: f64,
    /// One per value.
    pub(in crate::http) probabilities: Vec<FieldProbability>,
}

/// A value with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FieldProbability {
    /// The value.
    #[schema(value_type = Value)]
    pub(in crate::http) value: Value,
    /// Its probability.
    pub(in crate::http) probability: f64,
}

impl FieldAnswer {
    /// The answer to the question of `field`, whose options stand for `values`.
    pub(in crate::http) fn new(field: String, values: &[Value], answer: &Answer) -> Self {
        let probabilities: Vec<_> = values
            .iter()
            .zip(&answer.options)
            .map(|(value, option)| FieldProbability {
                value: value.clone(),
                probability: option.probability.get(),
            })
            .collect();
        // The first of equals; of a predicate's, true, as everywhere at one half.
        let best = match &answer.kind {
            AnswerKind::Choice { choice, .. } => *choice,
            AnswerKind::Predicate { probability } => usize::from(probability.get() >= 0.5),
            AnswerKind::Score { level, .. } => *level,
        };
        Self {
            field,
            value: values.get(best).cloned().unwrap_or_default(),
            confidence: answer.confidence,
            probabilities,
        }
    }
}

impl ClosedFields {
    /// The JSON and the fields' answers.
    pub(in crate::http) fn assemble(&self, answers: &[Answer]) -> (Value, Vec<FieldAnswer>) {
        let fields: Vec<FieldAnswer> = self
            .fields
            .iter()
            .zip(answers)
            .map(|(field, answer)| FieldAnswer::new(field.path.clone(), &field.values, answer))
            .collect();
        (value(&self.root, &fields), fields)
    }
}

fn value(node: &Node, fields: &[FieldAnswer]) -> Value {
    match node {
        Node::Fixed(value) => value.clone(),
        Node::Asked(index) => fields
            .get(*index)
            .map(|field| field.value.clone())
            .unwrap_or_default(),
        Node::Object(nodes) => Value::Object(
            nodes
                .iter()
                .map(|(name, node)| (name.clone(), value(node, fields)))
                .collect::<Map<_, _>>(),
        ),
    }
}
