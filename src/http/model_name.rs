//! The names under which the served model is asked for.

use super::problem::{Fault, Problem, ProblemKind};
use crate::service::Service;
use crate::strict_json::Place;

/// Names that always mean the served model; the first is what the official System One client sends by default.
pub(super) const ALIASES: [&str; 2] = ["jev-latest", "assize-latest"];

/// What Ollama's clients append to the name of a model; a name without a tag means the same.
pub(super) const DEFAULT_TAG: &str = ":latest";

/// Accepts the model's own name, an alias, each also with the tag `:latest`, or none.
///
/// # Errors
/// Another name.
pub(super) fn check_model(asked: Option<&str>, service: &Service) -> Result<(), Problem> {
    let is_served = |name: &str| name == service.name() || ALIASES.contains(&name);
    match asked {
        None => Ok(()),
        Some(name) if is_served(name) || name.strip_suffix(DEFAULT_TAG).is_some_and(is_served) => Ok(()),
        Some(name) => Err(Problem::of_fault(
            ProblemKind::UnknownModel,
            Fault::value(
                Place::body().key("model"),
                format!(
                    "no model {name:?} is served here: use {:?}, or leave it out",
                    service.name()
                ),
            ),
        )),
    }
}
