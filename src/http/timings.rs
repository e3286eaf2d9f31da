//! Where the time of one request went.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

/// Time by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimings {
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
    /// The stages by name, in order, `total` last.
    pub fn stages(&self) -> [(&'static str, Duration); 5] {
        [
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
