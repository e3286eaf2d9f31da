//! Bounds on a request's head that are answered like every other error.
//!
//! They lie below hyper's own in [`super::server`], which are answered before any route is known, and without a body.

use axum::extract::Request;
use axum::http::header;

use super::problem::{Problem, ProblemKind};
use crate::strict_json::excerpt;

/// Most bytes of a target: path and query.
pub(super) const MAX_TARGET_BYTES: usize = 8 << 10;
/// Most bytes of all header fields together.
pub(super) const MAX_FIELD_BYTES: usize = 32 << 10;
/// Most header fields.
pub(super) const MAX_FIELDS: usize = 100;

/// Refuses what is too long, or encoded in a way that is not undone.
///
/// # Errors
/// 414 for the target, 431 for the header fields, 415 for a transfer coding other than chunked.
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
                "the request has {} header fields and at most {MAX_FIELDS} are read: send fewer",
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
    // The only coding that is undone here; the bytes under another one would be taken for the body itself.
    let codings: Vec<_> = fields
        .get_all(header::TRANSFER_ENCODING)
        .iter()
        .map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .trim()
                .to_ascii_lowercase()
        })
        .collect();
    let codings = codings.join(", ");
    if !codings.is_empty() && codings != "chunked" {
        return Err(Problem {
            close: true,
            ..Problem::new(
                ProblemKind::UnsupportedMediaType,
                format!(
                    "transfer-encoding {:?} is not read here: send the body plain or chunked, compressed only with \
                     content-encoding: zstd",
                    excerpt(&codings)
                ),
            )
        });
    }
    Ok(())
}
