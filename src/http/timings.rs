//! Where the time of one request went.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

use crate::service::Prepared;

/// Time by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimings {
    /// From the bytes of media files to pixels and samples.
    pub decode: Duration,
    /// From pixels and samples to patches and frames.
    pub preprocess: Duration,
    /// Prompt writing and tokenisation.
    pub tokenise: Duration,
    /// Waiting for the engine.
    pub queue: Duration,
    /// The forward pass of the batch.
    pub forward: Duration,
    /// From hidden states to scores.
    pub readout: Duration,
    /// Everything.
    pub total: Duration,
}

impl StageTimings {
    /// The stages before the queue; the others are zero.
    pub fn of_prepared(prepared: &Prepared) -> Self {
        Self {
            decode: prepared.decode_time(),
            preprocess: prepared.preprocess_time(),
            tokenise: prepared.tokenise_time(),
            ..Self::default()
        }
    }

    /// The stages by name, in order, `total` last.
    pub fn stages(&self) -> [(&'static str, Duration); 7] {
        [
            ("decode", self.decode),
            ("preprocess", self.preprocess),
            ("tokenise", self.tokenise),
            ("queue", self.queue),
            ("forward", self.forward),
            ("readout", self.readout),
            ("total", self.total),
        ]
    }

    /// As a `Server-Timing` header (W3C Server Timing, `name;dur=milliseconds`).
    pub fn header(&self) -> [(HeaderName, HeaderValue); 1] {
        let text = self
            .stages()
            .map(|(name, took)| format!("{name};dur={:.3}", took.as_secs_f64() * 1e3))
            .join(", ");
        // Names and digits are always a valid header value.
        let value = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
        [(HeaderName::from_static("server-timing"), value)]
    }
}
