//! Errors of the routes of OpenAI's API, as the document describes them.

use std::collections::BTreeMap;

use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use super::documented;

/// An error of OpenAI's API.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is written by hand")]
#[schema(example = json!({
    "detail": [{"loc": ["body", "questions", 0, "choices"], "msg": "has 1 choices: give 2 to 255", "type": "value_error"}],
    "error": {
        "type": "invalid_request_error",
        "message": "questions[0].choices: has 1 choices: give 2 to 255",
        "param": "questions[0].choices",
        "code": "invalid_request"
    }
}))]
pub struct OpenAiErrorBody {
    /// The same for clients of System One: an object, or an array of faults.
    detail: serde_json::Value,
    /// What went wrong.
    error: OpenAiErrorDetail,
}

/// What went wrong.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is written by hand")]
pub struct OpenAiErrorDetail {
    /// The kind of error in OpenAI's API.
    #[serde(rename = "type")]
    kind: String,
    /// What is wrong, in which field, and how to mend it.
    message: String,
    /// The field.
    param: Option<String>,
    /// The kind of error as `POST /decide` names it.
    code: String,
}

/// Every error of a route.
pub(super) struct OpenAiErrors;

impl IntoResponses for OpenAiErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        documented::errors(&OpenAiErrorBody::name())
    }
}
