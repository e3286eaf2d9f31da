//! What the pipeline needs of a request, whatever its protocol.

use std::time::Duration;

use assize_preprocess::Until;
use assize_preprocess::decision::Decision;

use super::media::Attached;
use super::problem::Problem;
use crate::service::{DecisionSettings, ServiceError};

/// A request whose fields were read and checked.
pub(super) trait Asking: Send + 'static {
    /// What the protocol needs for its response.
    type Extra: Send + 'static;

    /// What is asked.
    fn decision(&self) -> &Decision;

    /// How it is to be decided.
    fn settings(&self) -> DecisionSettings;

    /// Time after which the answer is of no use, if the request says so.
    fn deadline(&self) -> Option<Duration>;

    /// Whether media have to be fetched or decoded, which can take long.
    fn brings_media(&self) -> bool;

    /// The media; asked once. May fetch them, and wait for that, `until` when nobody waits for the answer.
    ///
    /// # Errors
    /// One is missing, not valid, cannot be fetched, or is used by nothing.
    fn attach(&mut self, until: &Until) -> Result<Attached, Problem>;

    /// The problem behind an error of the service that is not about a medium.
    fn blame(&self, error: &ServiceError) -> Problem;

    /// The decision, and what the protocol needs for its response.
    fn into_parts(self) -> (Decision, Self::Extra);
}
