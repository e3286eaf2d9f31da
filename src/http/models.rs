//! `GET /v1/models`: one body for clients of System One (`models`) and of OpenAI's API (`data`).

use std::sync::Arc;

use assize_heads::FittedHead;
use assize_heads::fitted_head::HeadQuestion;
use assize_preprocess::prompt::Truncate;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use super::decide::DecideEngine;
use super::model_name::ALIASES;
use crate::service::{MediumKind, Mismatch};

/// The served model, twice: as System One and as OpenAI's clients read it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelList {
    /// Always `list`.
    object: &'static str,
    /// For OpenAI's clients.
    data: Vec<ListedModel>,
    /// For System One's clients.
    models: Vec<DescribedModel>,
}

/// A model as OpenAI's clients read it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedModel {
    /// The name to ask for.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Release date in seconds since 1970.
    created: i64,
    /// Who serves it.
    owned_by: &'static str,
}

/// A model as System One's clients read it, and what it is made of.
#[derive(Debug, Serialize, ToSchema)]
pub struct DescribedModel {
    /// The name to ask for.
    name: String,
    /// One line for people.
    description: String,
    /// `YYYY-MM-DD`.
    release_date: String,
    /// Other names for it.
    x_aliases: Vec<&'static str>,
    /// Licence of the weights.
    x_license: String,
    /// Hash of everything that the probabilities depend on.
    x_artifact: String,
    /// What the hash is over.
    #[schema(value_type = Object)]
    x_artifact_parts: assize_models::ArtifactDescription,
    /// The fitted head that answers in place of the model's own readout; null where there is none.
    x_head: Option<ListedHead>,
    /// The calibration that is applied to every answer; null where there is none.
    x_calibration: Option<String>,
    /// Heads and calibrations that were made for another artifact and are used all the same.
    x_mismatch: Vec<Mismatch>,
    /// What runs it.
    x_engine: DecideEngine,
    /// Longest prompt in tokens.
    x_context: usize,
    /// Parameters, embedding included.
    x_parameters: u64,
    /// Media that it takes beside text: `image`, `audio`, `video`; empty for a model of text.
    x_takes_media: Vec<&'static str>,
    /// Most bytes of a request's body.
    x_max_body_bytes: usize,
}

/// A fitted head, and the one question that it answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedHead {
    /// Its id.
    id: String,
    /// The question with its options.
    #[schema(value_type = Object)]
    question: HeadQuestion,
    /// Most tokens of a prompt; longer texts are cut.
    max_tokens: usize,
    /// What is dropped of them.
    #[schema(value_type = String)]
    truncate: Truncate,
}

impl From<&FittedHead> for ListedHead {
    fn from(head: &FittedHead) -> Self {
        let card = head.card();
        Self {
            id: head.id(),
            question: card.question.clone(),
            max_tokens: card.prompt.max_tokens,
            truncate: card.prompt.truncate,
        }
    }
}

/// Lists the served model.
#[utoipa::path(get, path = "/v1/models", tag = "models", responses((status = 200, body = ModelList)))]
pub(super) async fn models(State(app): State<Arc<App>>) -> Json<ModelList> {
    let service = &app.service;
    let card = service.card();
    Json(ModelList {
        object: "list",
        data: vec![ListedModel {
            id: card.name.clone(),
            object: "model",
            created: unix_seconds(&card.release_date),
            owned_by: "assize",
        }],
        models: vec![DescribedModel {
            name: card.name.clone(),
            description: card.description.clone(),
            release_date: card.release_date.clone(),
            x_aliases: ALIASES.to_vec(),
            x_license: card.license.clone(),
            x_artifact: service.artifact_id().to_string(),
            x_artifact_parts: service.artifact().clone(),
            x_head: service.fitted_head().map(ListedHead::from),
            x_calibration: service.calibration_id().map(str::to_owned),
            x_mismatch: service.mismatches().to_vec(),
            x_engine: service.engine().into(),
            x_context: service.context(),
            x_parameters: service.backbone().description().parameters(),
            x_takes_media: service.media_kinds().into_iter().map(MediumKind::name).collect(),
            x_max_body_bytes: app.body_limits().bytes,
        }],
    })
}

/// Midnight UTC of a `YYYY-MM-DD`, 0 for anything else: days from the civil calendar (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", days_from_civil).
fn unix_seconds(date: &str) -> i64 {
    let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
    let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day))) = (parts.next(), parts.next(), parts.next()) else {
        return 0;
    };
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return 0;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) * 86_400
}

#[cfg(test)]
mod tests {
    use super::unix_seconds;

    #[test]
    fn dates() {
        assert_eq!(unix_seconds("1970-01-01"), 0);
        assert_eq!(unix_seconds("2024-10-31"), 1_730_332_800);
        assert_eq!(unix_seconds("2000-02-29"), 951_782_400);
        assert_eq!(unix_seconds("soon"), 0);
    }
}
