//! What the engine thread runs.

use std::time::Duration;

use assize_models::Interrupt;

/// Runs several jobs as one batch. Called from the engine thread only.
pub trait BatchRunner: Send + Sync + 'static {
    /// A prepared job.
    type Job: Send + 'static;
    /// What one job gives.
    type Output: Send + 'static;

    /// Runs the batch and returns one output per job, in order. `interrupt` is asked once no caller of the batch waits
    /// any more; a runner that can stop halfway then fails.
    ///
    /// # Errors
    /// Anything that kept the batch from being answered; every job of a failed batch of several is run again alone.
    fn run(&self, jobs: &[&Self::Job], interrupt: &Interrupt) -> Result<Vec<Self::Output>, String>;
}

/// What happened in one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchReport {
    /// Jobs in the batch.
    pub jobs: usize,
    /// Packed rows of the batch.
    pub tokens: usize,
    /// Time on the engine thread.
    pub took: Duration,
    /// Why the batch failed, if it did.
    pub failure: Option<String>,
    /// Whether the failure was a panic.
    pub panicked: bool,
    /// Whether it was ended halfway because nobody waited for it any more, which is no failure.
    pub interrupted: bool,
}
