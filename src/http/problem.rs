//! Every error of the server, before it takes the shape of a protocol.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::protocol::Protocol;
use crate::scheduler::{JobError, SubmitError};
use crate::strict_json::JsonError;
use crate::strict_json::Place;

/// The kind of an error: its status and its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// The body is not JSON.
    InvalidJson,
    /// A field is missing or wrong.
    InvalidRequest,
    /// More options than a question may have.
    TooManyOptions,
    /// More questions than a request may have.
    TooManyQuestions,
    /// No model of that name is served.
    UnknownModel,
    /// No such route.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The body is larger than the server reads.
    BodyTooLarge,
    /// The prompt does not fit the context, or the request the engine.
    StateTooLong,
    /// The path and query are longer than the server reads.
    TargetTooLong,
    /// The header fields are more, or longer, than the server reads.
    HeadTooLarge,
    /// The body's type or encoding is not read here.
    UnsupportedMediaType,
    /// A medium of a kind that is not read, or not by this model.
    UnsupportedMedium,
    /// A medium is over a limit.
    MediumTooLarge,
    /// A medium is broken, empty or of no use otherwise.
    InvalidMedium,
    /// The request has no key, and the server wants one.
    KeyMissing,
    /// The key is none of the server's.
    KeyUnknown,
    /// The key has used up its share for now.
    RateLimited,
    /// The queue is full.
    QueueFull,
    /// The server is stopping or not ready.
    Unavailable,
    /// The deadline passed.
    DeadlineExceeded,
    /// Another fault of the request at the level of HTTP.
    BadRequest,
    /// The server's own fault.
    Internal,
}

impl ProblemKind {
    /// The name in native errors, and `error.type` elsewhere.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidRequest => "invalid_request",
            Self::TooManyOptions => "too_many_options",
            Self::TooManyQuestions => "too_many_questions",
            Self::UnknownModel => "unknown_model",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::RequestTimeout => "request_timeout",
            Self::BodyTooLarge => "body_too_large",
            Self::StateTooLong => "state_too_long",
            Self::TargetTooLong => "target_too_long",
            Self::HeadTooLarge => "head_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::UnsupportedMedium => "unsupported_medium",
            Self::MediumTooLarge => "medium_too_large",
            Self::InvalidMedium => "invalid_medium",
            Self::KeyMissing | Self::KeyUnknown => "authentication_error",
            Self::RateLimited => "rate_limited",
            Self::QueueFull => "queue_full",
            Self::Unavailable => "unavailable",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BadRequest => "bad_request",
            Self::Internal => "internal_error",
        }
    }

    /// `detail.error_type` in System One; `None` where its error is a validation list.
    pub(super) fn system_one_name(self) -> Option<&'static str> {
        match self {
            Self::InvalidJson
            | Self::InvalidRequest
            | Self::TooManyOptions
            | Self::TooManyQuestions
            | Self::InvalidMedium => None,
            Self::UnknownModel => Some("api_usage_error"),
            Self::QueueFull | Self::RateLimited => Some("rate_limit_error"),
            other => Some(other.name()),
        }
    }

    /// `error.type` for clients of OpenAI's API.
    pub(super) fn openai_name(self) -> &'static str {
        match self {
            Self::KeyMissing | Self::KeyUnknown => "authentication_error",
            Self::QueueFull | Self::RateLimited => "rate_limit_error",
            Self::Unavailable | Self::DeadlineExceeded | Self::Internal => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// `error.type` for clients of Anthropic's API.
    pub(super) fn anthropic_name(self) -> &'static str {
        match self {
            Self::KeyMissing | Self::KeyUnknown => "authentication_error",
            Self::QueueFull | Self::RateLimited => "rate_limit_error",
            Self::NotFound | Self::UnknownModel => "not_found_error",
            Self::BodyTooLarge | Self::StateTooLong | Self::MediumTooLarge => "request_too_large",
            Self::Unavailable => "overloaded_error",
            Self::DeadlineExceeded => "timeout_error",
            Self::Internal => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// The status in a protocol.
    pub(super) fn status(self, protocol: Protocol) -> StatusCode {
        match (self, protocol) {
            (Self::InvalidJson, Protocol::SystemOne) => StatusCode::UNPROCESSABLE_ENTITY,
            (Self::UnknownModel, Protocol::SystemOne) | (Self::InvalidJson | Self::BadRequest, _) => {
                StatusCode::BAD_REQUEST
            }
            (Self::NotFound | Self::UnknownModel, _) => StatusCode::NOT_FOUND,
            (
                Self::InvalidRequest | Self::TooManyOptions | Self::TooManyQuestions | Self::InvalidMedium,
                Protocol::Native | Protocol::SystemOne,
            ) => StatusCode::UNPROCESSABLE_ENTITY,
            // Their clients know 422, but their servers answer every wrong field with 400.
            (
                Self::InvalidRequest | Self::TooManyOptions | Self::TooManyQuestions | Self::InvalidMedium,
                Protocol::OpenAi | Protocol::Anthropic | Protocol::Ollama,
            ) => StatusCode::BAD_REQUEST,
            // As the service does whose protocol it is.
            (Self::KeyMissing, Protocol::SystemOne) => StatusCode::FORBIDDEN,
            (Self::KeyMissing | Self::KeyUnknown, _) => StatusCode::UNAUTHORIZED,
            (Self::MethodNotAllowed, _) => StatusCode::METHOD_NOT_ALLOWED,
            (Self::RequestTimeout, _) => StatusCode::REQUEST_TIMEOUT,
            (Self::BodyTooLarge | Self::StateTooLong | Self::MediumTooLarge, _) => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            (Self::TargetTooLong, _) => StatusCode::URI_TOO_LONG,
            (Self::HeadTooLarge, _) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            (Self::UnsupportedMediaType | Self::UnsupportedMedium, _) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            (Self::QueueFull | Self::RateLimited, _) => StatusCode::TOO_MANY_REQUESTS,
            (Self::Unavailable, _) => StatusCode::SERVICE_UNAVAILABLE,
            (Self::DeadlineExceeded, _) => StatusCode::GATEWAY_TIMEOUT,
            (Self::Internal, _) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// One wrong field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Where it stands; the body itself where no field is named.
    pub(super) place: Place,
    /// What is wrong and what would be right.
    pub(super) message: String,
    /// The kind of fault in a System One list, in the words of its reference implementation.
    pub(super) code: &'static str,
}

impl Fault {
    /// A field whose value is wrong.
    pub(super) fn value(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            code: "value_error",
        }
    }

    /// A field that is not there.
    pub(super) fn missing(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            code: "missing",
        }
    }
}

/// An error of the server. As a response it has a status and no body: the outermost layer, which knows the protocol,
/// writes that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: ProblemKind,
    /// At least one.
    pub(super) faults: Vec<Fault>,
    pub(super) retry_after: Option<Duration>,
    /// The body was not read to its end, so that nothing more can be read from the connection.
    pub(super) close: bool,
}

impl Problem {
    /// An error that no field is to blame for.
    pub(super) fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self::of_fault(kind, Fault::value(Place::body(), message))
    }

    /// An error of one field.
    pub(super) fn of_fault(kind: ProblemKind, fault: Fault) -> Self {
        Self {
            kind,
            faults: vec![fault],
            retry_after: None,
            close: false,
        }
    }

    /// The status of a response that some layer made without a body.
    pub(super) fn from_status(status: StatusCode) -> Self {
        let (kind, message) = match status {
            StatusCode::NOT_FOUND => (ProblemKind::NotFound, "no such route; /openapi.json lists them"),
            StatusCode::METHOD_NOT_ALLOWED => (
                ProblemKind::MethodNotAllowed,
                "this route has other methods, listed in the `allow` header",
            ),
            StatusCode::REQUEST_TIMEOUT => {
                (ProblemKind::RequestTimeout, "the request did not arrive in time")
            }
            StatusCode::PAYLOAD_TOO_LARGE => (ProblemKind::BodyTooLarge, "the body is too large"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => (
                ProblemKind::UnsupportedMediaType,
                "send content-type: application/json",
            ),
            status if status.is_client_error() => (ProblemKind::BadRequest, "the request is not valid"),
            _ => (ProblemKind::Internal, "the server failed; its log says why"),
        };
        Self::new(kind, message)
    }

    /// What a person reads, all faults in one line, each with its field.
    pub(super) fn message(&self) -> String {
        self.faults
            .iter()
            .map(|fault| {
                if fault.place.is_body() {
                    fault.message.clone()
                } else {
                    format!("{}: {}", fault.place, fault.message)
                }
            })
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status(Protocol::Native).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::of_fault(ProblemKind::InvalidRequest, fault)
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        let message = error.to_string();
        match error {
            JsonError::DuplicateKey { place, .. } | JsonError::BigInteger { place, .. } => {
                Self::of_fault(ProblemKind::InvalidRequest, Fault::value(place, message))
            }
            other => Self::of_fault(
                ProblemKind::InvalidJson,
                Fault {
                    place: match other {
                        JsonError::HugeNumber { place, .. } => place,
                        _ => Place::body(),
                    },
                    message,
                    code: "json_invalid",
                },
            ),
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        let (kind, wait) = match &error {
            SubmitError::Full { retry_after, .. } => (ProblemKind::QueueFull, *retry_after),
            SubmitError::Draining { retry_after } => (ProblemKind::Unavailable, *retry_after),
        };
        Self {
            retry_after: Some(wait),
            ..Self::new(kind, error.to_string())
        }
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        match error {
            JobError::DeadlineExceeded => Self::new(ProblemKind::DeadlineExceeded, error.to_string()),
            JobError::Stopped => Self {
                retry_after: Some(Duration::from_secs(1)),
                ..Self::new(ProblemKind::Unavailable, error.to_string())
            },
            JobError::Failed(reason) => {
                // The reason names internals: it goes to the log, and the caller gets the request id to ask with.
                tracing::error!(reason, "a decision failed in the engine");
                Self::new(
                    ProblemKind::Internal,
                    "the engine failed on this request; the server's log says why",
                )
            }
        }
    }
}
