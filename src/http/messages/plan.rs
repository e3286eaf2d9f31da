//! What is asked for a message, and the message that follows from the answers.

use assize_preprocess::decision::{Content, Question, QuestionOption, Shape};

use serde_json::Value;

use super::request::Wanted;
use super::response::ContentBlock;
use crate::http::closed_fields::{ClosedFields, FieldAnswer, Preface};
use crate::http::problem::Problem;
use crate::service::Answer;
use crate::strict_json::Place;

/// How the answers become a message.
#[derive(Debug)]
pub(super) struct Plan {
    wanted: Planned,
    /// Whether the message comes as events.
    pub(super) stream: bool,
}

#[derive(Debug)]
enum Planned {
    Text(ClosedFields),
    Call {
        tools: Vec<(String, ClosedFields)>,
        /// Whether the first answer says which.
        asked: bool,
    },
}

/// What is said and shown of the answers.
pub(super) struct Outcome {
    pub(super) block: ContentBlock,
    /// Which tool, where that was asked.
    pub(super) tool: Option<FieldAnswer>,
    /// Of the tool that is called, or of the schema.
    pub(super) fields: Vec<FieldAnswer>,
}

/// The name of the question which tool is called.
const TOOL: &str = "tool";

/// Questions with their places.
type Placed = (Vec<Question>, Vec<Place>);

impl Plan {
    /// The plan, its questions, and the field that they come from.
    ///
    /// # Errors
    /// A schema is not closed.
    pub(super) fn new(
        wanted: Wanted,
        system: Vec<String>,
        stream: bool,
    ) -> Result<(Self, Placed, Place), Problem> {
        let mut placed: Placed = (Vec::new(), Vec::new());
        let (wanted, place) = match wanted {
            Wanted::Text { schema, place } => {
                let fields = ClosedFields::read(&schema, &place, &Preface(system))?;
                placed.0.extend(fields.questions());
                placed.1.extend(fields.places());
                (Planned::Text(fields), place)
            }
            Wanted::Call { mut tools, named } => {
                if let Some(index) = named {
                    tools = vec![tools.swap_remove(index)];
                }
                let place = Place::body().key("tools");
                let asked = named.is_none() && tools.len() > 1;
                if asked {
                    placed.0.push(Question {
                        instructions: Some(Preface(system.clone()).before("Which tool should be called?")),
                        shape: Shape::Choice(
                            tools
                                .iter()
                                .map(|tool| QuestionOption {
                                    name: tool.name.clone(),
                                    description: tool.description.clone().map(Content::Text),
                                })
                                .collect(),
                        ),
                    });
                    placed.1.push(place.clone());
                }
                let mut read = Vec::with_capacity(tools.len());
                for tool in tools {
                    let fields = ClosedFields::read(
                        &tool.schema,
                        &tool.place.key("input_schema"),
                        &Preface(system.clone()),
                    )?;
                    placed.0.extend(fields.questions());
                    placed.1.extend(fields.places());
                    read.push((tool.name, fields));
                }
                (Planned::Call { tools: read, asked }, place)
            }
        };
        Ok((Self { wanted, stream }, placed, place))
    }

    /// What the answers make.
    pub(super) fn outcome(self, answers: &[Answer]) -> Outcome {
        match self.wanted {
            Planned::Text(fields) => {
                let (value, fields) = fields.assemble(answers);
                let text = value.to_string();
                Outcome {
                    block: ContentBlock::Text { text },
                    tool: None,
                    fields,
                }
            }
            Planned::Call { tools, asked } => {
                let mut answers = answers;
                let mut tool = None;
                if asked && let Some((first, rest)) = answers.split_first() {
                    answers = rest;
                    let names: Vec<_> = tools.iter().map(|(name, _)| Value::from(name.as_str())).collect();
                    tool = Some(FieldAnswer::new(TOOL.to_owned(), &names, first));
                }
                let called = tool
                    .as_ref()
                    .and_then(|tool| tool.value.as_str().map(str::to_owned));
                let mut outcome = Outcome {
                    block: ContentBlock::Text { text: String::new() },
                    tool,
                    fields: Vec::new(),
                };
                for (name, fields) in tools {
                    let (of_tool, rest) = answers.split_at(fields.count().min(answers.len()));
                    answers = rest;
                    // A named or only tool is the one of the list.
                    if called.as_ref().is_none_or(|called| *called == name) {
                        let (input, fields) = fields.assemble(of_tool);
                        outcome.block = ContentBlock::call(name, input);
                        outcome.fields = fields;
                    }
                }
                outcome
            }
        }
    }
}
