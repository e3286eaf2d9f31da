//! A closed JSON schema as questions, and their answers as JSON.

mod answer;
mod schema;

pub(super) use answer::{FieldAnswer, FieldProbability};
pub(super) use schema::{ClosedFields, Preface};
