//! What Ollama's clients ask before they ask anything: which models there are, and what they are.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::errors::OllamaErrors;
use crate::http::app::App;
use crate::http::body::receive;
use crate::http::fields::{self, Object};
use crate::http::model_name::{DEFAULT_TAG, check_model};
use crate::http::problem::{Fault, Problem};
use crate::service::Service;
use crate::strict_json::{self, Place};

/// The release of Ollama whose API these routes follow. Clients ask for it to know what they may send.
const API_VERSION: &str = "0.12.11";

/// When a model that is never unloaded is unloaded; a date that clients show as "forever".
const NEVER: &str = "9999-12-31T23:59:59Z";

/// The version.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaVersion {
    /// The release of Ollama whose API these routes follow.
    version: &'static str,
    /// This server's own version.
    x_assize: &'static str,
}

/// The served model, in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaModels {
    models: Vec<OllamaModel>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaModel {
    /// The name to ask for.
    name: String,
    /// The same.
    model: String,
    /// The day of its release.
    modified_at: String,
    /// Bytes of its weights in memory.
    size: u64,
    /// sha256 of its weights and configuration.
    digest: String,
    /// What it is.
    details: OllamaModelDetails,
}

/// The model in memory, in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaRunningModels {
    models: Vec<OllamaRunningModel>,
}

/// A model in memory.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaRunningModel {
    /// The name to ask for.
    name: String,
    /// The same.
    model: String,
    /// Bytes of its weights in memory.
    size: u64,
    /// sha256 of its weights and configuration.
    digest: String,
    /// What it is.
    details: OllamaModelDetails,
    /// Far away: the model stays as long as the server runs.
    expires_at: &'static str,
    /// Always 0: which memory holds the weights is the engine's affair.
    size_vram: u64,
    /// Longest prompt in tokens.
    context_length: usize,
}

/// What a model is.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaModelDetails {
    /// Always empty.
    parent_model: &'static str,
    /// Always `safetensors`.
    format: &'static str,
    /// Its architecture.
    family: String,
    /// The same, in a list.
    families: Vec<String>,
    /// Its number of parameters, in words.
    parameter_size: String,
    /// Arithmetic of the linear layers.
    quantization_level: String,
}

/// Which model is asked about.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OllamaShowRequest {
    /// Its name.
    model: Option<String>,
    /// Older clients' name of `model`.
    name: Option<String>,
}

/// What is known of a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct OllamaShown {
    /// Licence of the weights.
    license: String,
    /// Always empty: there is no such file.
    modelfile: &'static str,
    /// Always empty: nothing is sampled.
    parameters: &'static str,
    /// Always empty: the prompt form is the server's.
    template: &'static str,
    /// What it is.
    details: OllamaModelDetails,
    /// More about it, by key.
    #[schema(value_type = Object)]
    model_info: IndexMap<String, Value>,
    /// `completion`, and `vision` where it reads pictures.
    capabilities: Vec<&'static str>,
    /// The day of its release.
    modified_at: String,
}

/// The version of the API.
#[utoipa::path(get, path = "/api/version", tag = "ollama", responses((status = 200, body = OllamaVersion), OllamaErrors))]
pub(in crate::http) async fn version() -> Json<OllamaVersion> {
    Json(OllamaVersion {
        version: API_VERSION,
        x_assize: env!("CARGO_PKG_VERSION"),
    })
}

/// Lists the served model.
#[utoipa::path(get, path = "/api/tags", tag = "ollama", responses((status = 200, body = OllamaModels), OllamaErrors))]
pub(in crate::http) async fn tags(State(app): State<Arc<App>>) -> Json<OllamaModels> {
    let service = &app.service;
    Json(OllamaModels {
        models: vec![OllamaModel {
            name: tagged(service),
            model: tagged(service),
            modified_at: released(service),
            size: service.backbone().weight_bytes(),
            digest: service.artifact().weights.clone(),
            details: details(service),
        }],
    })
}

/// Lists the model in memory, which is the served one.
#[utoipa::path(get, path = "/api/ps", tag = "ollama", responses((status = 200, body = OllamaRunningModels), OllamaErrors))]
pub(in crate::http) async fn running(State(app): State<Arc<App>>) -> Json<OllamaRunningModels> {
    let service = &app.service;
    Json(OllamaRunningModels {
        models: vec![OllamaRunningModel {
            name: tagged(service),
            model: tagged(service),
            size: service.backbone().weight_bytes(),
            digest: service.artifact().weights.clone(),
            details: details(service),
            expires_at: NEVER,
            size_vram: 0,
            context_length: service.context(),
        }],
    })
}

/// What is known of the served model.
#[utoipa::path(
    post,
    path = "/api/show",
    tag = "ollama",
    request_body(content = OllamaShowRequest, example = json!({"model": "jev-latest"})),
    responses((status = 200, body = OllamaShown), OllamaErrors)
)]
pub(in crate::http) async fn show(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<OllamaShown>, Problem> {
    let body = receive(request, app.body_limits()).await?.into_plain()?;
    let Object(asked): Object<OllamaShowRequest> =
        fields::read(strict_json::parse(&body.json)?, &Place::body())?;
    let service = &app.service;
    let Some(name) = asked.model.or(asked.name) else {
        let message = format!("is missing: the name of the model, {:?}", tagged(service));
        return Err(Fault::missing(Place::body().key("model"), message).into());
    };
    check_model(Some(&name), service)?;
    let description = service.backbone().description();
    let family = family(service);
    let mut model_info = IndexMap::from([
        ("general.architecture".to_owned(), json!(family)),
        (
            "general.parameter_count".to_owned(),
            json!(description.parameters()),
        ),
    ]);
    let of_family = [
        ("context_length", service.context()),
        ("embedding_length", description.hidden),
        ("block_count", description.layers.len()),
        ("vocab_size", description.vocabulary),
    ];
    model_info.extend(of_family.map(|(key, value)| (format!("{family}.{key}"), json!(value))));
    let mut capabilities = vec!["completion"];
    if service.takes_media() {
        capabilities.push("vision");
    }
    Ok(Json(OllamaShown {
        license: service.card().license.clone(),
        modelfile: "",
        parameters: "",
        template: "",
        details: details(service),
        model_info,
        capabilities,
        modified_at: released(service),
    }))
}

fn tagged(service: &Service) -> String {
    format!("{}{DEFAULT_TAG}", service.name())
}

fn released(service: &Service) -> String {
    format!("{}T00:00:00Z", service.card().release_date)
}

fn family(service: &Service) -> String {
    // Serde's name of it, as it stands in a checkpoint's description.
    match serde_json::to_value(service.backbone().description().architecture) {
        Ok(Value::String(name)) => name,
        _ => "unknown".to_owned(),
    }
}

fn details(service: &Service) -> OllamaModelDetails {
    let family = family(service);
    OllamaModelDetails {
        parent_model: "",
        format: "safetensors",
        families: vec![family.clone()],
        family,
        parameter_size: in_words(service.backbone().description().parameters()),
        quantization_level: service.engine().precision.to_string(),
    }
}

/// A number of parameters as model names give it: `135M`, `1.2B`.
fn in_words(parameters: u64) -> String {
    match parameters {
        0..1_000_000 => format!("{}K", parameters / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", parameters / 1_000_000),
        _ => format!("{:.1}B", parameters as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn parameters_are_given_in_words() {
        assert_eq!(in_words(134_515_008), "134M");
        assert_eq!(in_words(11_907_350_576), "11.9B");
        assert_eq!(in_words(7_000), "7K");
    }
}
