//! Why a job was not queued, or not answered.

use std::time::Duration;

/// A wait as it is told to callers: whole seconds, rounded up and at least 1, since an earlier retry would be refused
/// again.
pub fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000).max(1)).unwrap_or(u64::MAX)
}

/// Why a job was not queued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The queue holds as many jobs or tokens as it may.
    #[error(
        "the queue is full: {jobs} requests with {tokens} tokens wait; try again in {} s",
        whole_seconds(*retry_after)
    )]
    Full {
        /// Jobs waiting.
        jobs: usize,
        /// Tokens waiting.
        tokens: usize,
        /// When room is expected, from the recent rate of the engine.
        retry_after: Duration,
    },
    /// The scheduler takes no more jobs because the server is stopping.
    #[error("the server is stopping; try again in {} s", whole_seconds(*retry_after))]
    Draining {
        /// When to try again, elsewhere or after a restart.
        retry_after: Duration,
    },
}

/// Why a queued job has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The deadline passed, in the queue or during the forward pass.
    #[error("the deadline passed before the answer was ready")]
    DeadlineExceeded,
    /// The engine failed on this job alone.
    #[error("{0}")]
    Failed(String),
    /// The server stopped before the job could run.
    #[error("the server stopped before the answer was ready")]
    Stopped,
}
