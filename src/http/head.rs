//! Bounds on a request's head that are answered like every other error.
//!
//! They lie below hyper's own in [`super::server`], which are answered before any route is known, and without a body.

use axum::extract::Request;

use super::problem::{Problem, ProblemKind};

/// Most bytes of a target: path and query.
const MAX_TARGET_BYTES: usize = 8 << 10;
/// Most bytes of all header fields together.
const MAX_FIELD_BYTES: usize = 32 << 10;
/// Most header fields.
const MAX_FIELDS: usize = 100;

/// Refuses what is too long.
///
/// # Errors
/// 414 for the target, 431 for the header fields.
pub(super) fn check(request: &Request) -> Result<(), Problem> {
    let target = request
        .uri()
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET_BYTES {
        return Err(Problem::new(
            ProblemKind::TargetTooLong,
            format!(
                "the path and query are {target} bytes and at most {MAX_TARGET_BYTES} are read: send data in the body"
            ),
        ));
    }
    let fields = request.headers();
    if fields.len() > MAX_FIELDS {
        return Err(Problem::new(
            ProblemKind::HeadTooLarge,
            format!(
                "the request has {} header fields and at most {MAX_FIELDS} are read",
                fields.len()
            ),
        ));
    }
    let bytes: usize = fields
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > MAX_FIELD_BYTES {
        return Err(Problem::new(
            ProblemKind::HeadTooLarge,
            format!(
                "the header fields are {bytes} bytes and at most {MAX_FIELD_BYTES} are read: send fewer or shorter ones"
            ),
        ));
    }
    Ok(())
}
