//! The JSON that follows from the answers.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::schema::{ClosedFields, Node};
use crate::service::Answer;

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

impl ClosedFields {
    /// The JSON and the fields' answers.
    pub(in crate::http) fn assemble(&self, answers: &[Answer]) -> (Value, Vec<FieldAnswer>) {
        let fields: Vec<FieldAnswer> = self
            .fields
            .iter()
            .zip(answers)
            .map(|(field, answer)| {
                let probabilities: Vec<_> = field
                    .values
                    .iter()
                    .zip(&answer.options)
                    .map(|(value, option)| FieldProbability {
                        value: value.clone(),
                        probability: option.probability.get(),
                    })
                    .collect();
                let mut best = 0;
                for (index, entry) in probabilities.iter().enumerate() {
                    if probabilities
                        .get(best)
                        .is_none_or(|best| entry.probability > best.probability)
                    {
                        best = index;
                    }
                }
                FieldAnswer {
                    field: field.path.clone(),
                    value: field.values.get(best).cloned().unwrap_or_default(),
                    confidence: answer.confidence,
                    probabilities,
                }
            })
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
