//! The answer of `POST /v1/systemone`.

use assize_heads::FittedHead;
use assize_preprocess::decision::Content;
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::Named;
use crate::http::content::TextOrJson;
use crate::http::decide::DecideEngine;
use crate::http::pipeline::Answered;
use crate::service::{Answer, AnswerKind, Mismatch, Service};

/// The answers by question id. Fields of this server's own start with `x_`.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemOneResponse {
    /// The model's name.
    model: String,
    /// One per question, under its id.
    answers: IndexMap<String, SystemOneAnswer>,
    /// What the request cost.
    usage: SystemOneUsage,
    /// Hash of everything that the probabilities depend on.
    x_artifact: String,
    /// What ran the model.
    x_engine: DecideEngine,
    /// The fitted head that gave the scores; null where the model's own readout did.
    x_head: Option<String>,
    /// The calibration that was applied; null where none is loaded.
    x_calibration: Option<String>,
    /// Placeholders in `assets` that stand in no text of the request: the model did not see their pictures.
    x_unused_assets: Vec<String>,
    /// Heads and calibrations that were made for another artifact and are used all the same; empty where there are none.
    x_mismatch: Vec<Mismatch>,
}

/// An answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SystemOneAnswer {
    /// Yes or no.
    Noul {
        /// P(true).
        noul: f64,
    },
    /// One of several options.
    Choice {
        /// The most probable option.
        choice: String,
        /// How peaked the probabilities are: 1 on one option, 0 uniform.
        confidence: f64,
        /// By option name, in the caller's order.
        probabilities: IndexMap<String, f64>,
    },
    /// A position on ordered levels.
    Score {
        /// The expected level, counted from 0.
        score: f64,
        /// How close the probabilities lie to the most probable level.
        confidence: f64,
        /// The levels as described, by index.
        legend: IndexMap<String, TextOrJson>,
        /// By level index.
        probabilities: IndexMap<String, f64>,
    },
}

/// What a request cost.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemOneUsage {
    /// Tokens that the forward pass computed.
    input_tokens: usize,
    /// Always 0: nothing is generated.
    output_tokens: usize,
}

impl SystemOneResponse {
    /// The response for answers with the names of their questions.
    pub(super) fn new(service: &Service, answered: Answered<Named>) -> Self {
        Self {
            model: service.name().to_owned(),
            answers: answered
                .extra
                .ids
                .into_iter()
                .zip(answered.answers)
                .map(|(id, answer)| (id, SystemOneAnswer::from(answer)))
                .collect(),
            usage: SystemOneUsage {
                input_tokens: answered.input_tokens,
                output_tokens: 0,
            },
            x_artifact: service.artifact_id().to_string(),
            x_engine: service.engine().into(),
            x_unused_assets: answered.extra.unused_assets,
            x_head: service.fitted_head().map(FittedHead::id),
            x_calibration: service.calibration_id().map(str::to_owned),
            x_mismatch: service.mismatches().to_vec(),
        }
    }
}

impl From<Answer> for SystemOneAnswer {
    fn from(answer: Answer) -> Self {
        let Answer {
            kind,
            confidence,
            options,
            ..
        } = answer;
        let probabilities = options.iter().map(|option| option.probability.get());
        match kind {
            AnswerKind::Predicate { probability } => Self::Noul {
                noul: probability.get(),
            },
            AnswerKind::Choice { choice, names } => Self::Choice {
                choice: names.get(choice).cloned().unwrap_or_default(),
                confidence,
                probabilities: names.into_iter().zip(probabilities).collect(),
            },
            AnswerKind::Score { score, levels, .. } => Self::Score {
                score,
                confidence,
                probabilities: probabilities
                    .enumerate()
                    .map(|(level, p)| (level.to_string(), p))
                    .collect(),
                legend: levels
                    .into_iter()
                    .enumerate()
                    .map(|(level, description): (usize, Content)| {
                        (level.to_string(), TextOrJson(description))
                    })
                    .collect(),
            },
        }
    }
}
