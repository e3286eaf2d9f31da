//! The errors of these routes, as the document describes them.

use std::collections::BTreeMap;

use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use crate::http::documented;

/// An error of Ollama's API.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is written by hand")]
#[schema(example = json!({"error": "format: is missing: give a JSON schema"}))]
pub struct OllamaErrorBody {
    /// What is wrong, in which field, and how to mend it.
    error: String,
}

/// Every error of a route.
pub(in crate::http) struct OllamaErrors;

impl IntoResponses for OllamaErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        documented::errors(&OllamaErrorBody::name())
    }
}
