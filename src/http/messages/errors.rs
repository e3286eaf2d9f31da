//! The errors of these routes, as the document describes them.

use std::collections::BTreeMap;

use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use crate::http::documented;

/// An error of Anthropic's API.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is written by hand")]
#[schema(example = json!({
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "max_tokens: missing field `max_tokens`"},
    "request_id": "req_01"
}))]
pub struct MessagesErrorBody {
    /// Always `error`.
    #[serde(rename = "type")]
    kind: String,
    /// What went wrong.
    error: MessagesErrorDetail,
    /// The id in the header `request-id`.
    request_id: String,
}

/// What went wrong.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is written by hand")]
pub struct MessagesErrorDetail {
    /// The kind of error, for programs.
    #[serde(rename = "type")]
    kind: String,
    /// What is wrong, in which field, and how to mend it.
    message: String,
}

/// Every error of a route.
pub(in crate::http) struct MessagesErrors;

impl IntoResponses for MessagesErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        documented::errors(&MessagesErrorBody::name())
    }
}
