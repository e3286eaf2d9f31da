//! The answer of `POST /v1/decisions`.

use assize_heads::FittedHead;
use serde::Serialize;
use utoipa::ToSchema;

use super::question::{ChoiceValue, Named, NamedOptions};
use crate::http::decide::DecideEngine;
use crate::http::pipeline::Answered;
use crate::service::{Answer, AnswerKind, Mismatch, Service};

/// The answers in the order of the questions. Fields of this server's own start with `x_`.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecisionsResponse {
    /// One per question.
    answers: Vec<DecisionAnswer>,
    /// The model's name.
    model: String,
    /// What the request cost.
    usage: DecisionsUsage,
    /// Hash of everything that the probabilities depend on.
    x_artifact: String,
    /// What ran the model.
    x_engine: DecideEngine,
    /// The fitted head that gave the scores; null where the model's own readout did.
    x_head: Option<String>,
    /// The calibration that was applied; null where none is loaded.
    x_calibration: Option<String>,
    /// Heads and calibrations that were made for another artifact and are used all the same; empty where there are none.
    x_mismatch: Vec<Mismatch>,
}

/// The answer to one question. No question is ever refused.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DecisionAnswer {
    /// To a predicate.
    Predicate {
        /// The question's name; null where it has none.
        name: Option<String>,
        /// The probability that it is true.
        probability: f64,
    },
    /// To a choice.
    Choice {
        /// The question's name; null where it has none.
        name: Option<String>,
        /// The most probable value, the first of equals.
        choice: ChoiceValue,
        /// How peaked the probabilities are: 1 on one value, 0 uniform.
        confidence: f64,
        /// In the caller's order.
        probabilities: Vec<ValueProbability>,
    },
    /// To a score.
    Score {
        /// The question's name; null where it has none.
        name: Option<String>,
        /// The expected level, counted from 0.
        score: f64,
        /// How close the probabilities lie to the most probable level: 1 is all on it.
        confidence: f64,
        /// Lowest level first.
        probabilities: Vec<LabelProbability>,
    },
}

/// A value and its probability.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct ValueProbability {
    /// As it was given.
    value: ChoiceValue,
    /// From 0 to 1; all of a question's sum to 1.
    probability: f64,
}

/// A level and its probability.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct LabelProbability {
    /// As it was given.
    label: String,
    /// The level, counted from 0.
    value: usize,
    /// From 0 to 1; all of a question's sum to 1.
    probability: f64,
}

/// What a request cost.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecisionsUsage {
    /// Tokens that the forward pass computed.
    input_tokens: usize,
    /// Of those.
    input_tokens_details: InputTokensDetails,
    /// Always 0: nothing is generated.
    output_tokens: usize,
    /// Of those.
    output_tokens_details: OutputTokensDetails,
    /// The same as `input_tokens`.
    total_tokens: usize,
}

/// Of the tokens that went in.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct InputTokensDetails {
    /// Always 0: prompts are not kept.
    cached_tokens: usize,
    /// Always 0: prompts are not kept.
    cache_write_tokens: usize,
}

/// Of the tokens that came out.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct OutputTokensDetails {
    /// Always 0: nothing is generated.
    reasoning_tokens: usize,
}

impl DecisionsResponse {
    /// The response for answers with what their questions name.
    pub(super) fn new(service: &Service, answered: Answered<Vec<Named>>) -> Self {
        let named = answered.extra.into_iter();
        Self {
            answers: named
                .zip(answered.answers)
                .map(|(named, answer)| DecisionAnswer::new(named, answer))
                .collect(),
            model: service.name().to_owned(),
            usage: DecisionsUsage {
                input_tokens: answered.input_tokens,
                input_tokens_details: InputTokensDetails::default(),
                output_tokens: 0,
                output_tokens_details: OutputTokensDetails::default(),
                total_tokens: answered.input_tokens,
            },
            x_artifact: service.artifact_id().to_string(),
            x_engine: service.engine().into(),
            x_head: service.fitted_head().map(FittedHead::id),
            x_calibration: service.calibration_id().map(str::to_owned),
            x_mismatch: service.mismatches().to_vec(),
        }
    }
}

impl DecisionAnswer {
    fn new(named: Named, answer: Answer) -> Self {
        let Named { name, options } = named;
        let confidence = answer.confidence;
        let probabilities = answer.options.iter().map(|option| option.probability.get());
        match answer.kind {
            AnswerKind::Predicate { probability } => Self::Predicate {
                name,
                probability: probability.get(),
            },
            AnswerKind::Choice { choice, names } => {
                let values = match options {
                    NamedOptions::Values(values) => values,
                    // Only a choice is answered with a choice.
                    _ => names.into_iter().map(ChoiceValue::Text).collect(),
                };
                let chosen = values.get(choice).cloned();
                Self::Choice {
                    name,
                    choice: chosen.unwrap_or(ChoiceValue::Text(String::new())),
                    confidence,
                    probabilities: values
                        .into_iter()
                        .zip(probabilities)
                        .map(|(value, probability)| ValueProbability { value, probability })
                        .collect(),
                }
            }
            AnswerKind::Score { score, levels, .. } => {
                let labels = match options {
                    NamedOptions::Labels(labels) => labels,
                    // Only a score is answered with a score.
                    _ => levels.iter().map(|level| level.to_text().into_owned()).collect(),
                };
                Self::Score {
                    name,
                    score,
                    confidence,
                    probabilities: labels
                        .into_iter()
                        .zip(probabilities)
                        .enumerate()
                        .map(|(value, (label, probability))| LabelProbability {
                            label,
                            value,
                            probability,
                        })
                        .collect(),
                }
            }
        }
    }
}
