//! Keys: who may ask, how often, and how much at once.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::app::App;
use super::body::discard_unless_expected;
use super::problem::{Problem, ProblemKind};
use crate::keys::{Keyring, TooMuch};

/// Anthropic's clients send the key here.
const API_KEY: &str = "x-api-key";

/// Routes that are open to all: what tells whether the server lives, what tells how to ask, and the page that asks for a
/// key itself.
const OPEN: [&str; 4] = ["/health", "/ready", "/openapi.json", "/"];
/// The files of that page.
const OPEN_BELOW: &str = "/playground/";

/// Whether a path is open to all.
pub(super) fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with(OPEN_BELOW)
}

/// Lets a request pass whose key is known and within its limits. Without a file of keys all pass.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let Some(keys) = &app.keys else {
        return next.run(request).await;
    };
    if is_open(request.uri().path()) {
        return next.run(request).await;
    }
    let admitted = admit(keys, request.headers());
    match admitted {
        Ok((name, admission)) => {
            tracing::Span::current().record("key", &name);
            app.metrics.observe_key(&name);
            let response = next.run(request).await;
            drop(admission);
            response
        }
        Err(problem) => {
            // A client reads the answer only when its body is sent.
            discard_unless_expected(request).await;
            let asks_for_key = matches!(problem.kind, ProblemKind::KeyMissing | ProblemKind::KeyUnknown);
            let mut response = problem.into_response();
            if asks_for_key {
                let challenge = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

fn admit(keys: &Keyring, headers: &HeaderMap) -> Result<(String, crate::keys::Admission), Problem> {
    let sent = sent_key(headers)?;
    let Some(key) = keys.find(sent) else {
        return Err(Problem::new(
            ProblemKind::KeyUnknown,
            "this key is none of the server's: check it, or ask whoever runs the server for one",
        ));
    };
    let admission = key.admit().map_err(|refused| match refused {
        TooMuch::Rate { per_minute, wait } => Problem {
            retry_after: Some(wait),
            ..Problem::new(
                ProblemKind::RateLimited,
                format!(
                    "the key {:?} may ask {per_minute} times a minute: try again in {:.1} s",
                    key.name(),
                    wait.as_secs_f64()
                ),
            )
        },
        TooMuch::Concurrency { most } => Problem {
            retry_after: Some(Duration::from_secs(1)),
            ..Problem::new(
                ProblemKind::RateLimited,
                format!(
                    "the key {:?} may have {most} requests at once: wait for one to be answered, or try again in 1 s",
                    key.name()
                ),
            )
        },
    })?;
    Ok((key.name().to_owned(), admission))
}

/// The key of a request: `Authorization: Bearer`, or else `x-api-key`.
fn sent_key(headers: &HeaderMap) -> Result<&[u8], Problem> {
    let missing = |what: &str| {
        Problem::new(
            ProblemKind::KeyMissing,
            format!("{what}: send the header `Authorization: Bearer <key>`"),
        )
    };
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    match (sent.next(), sent.next()) {
        (Some(_), Some(_)) => Err(missing("the header `authorization` is there twice")),
        (Some(value), None) => {
            let value = value.as_bytes();
            let scheme = b"bearer ";
            match value.split_at_checked(scheme.len()) {
                // The scheme's case is free (RFC 9110, 11.1).
                Some((found, key)) if found.eq_ignore_ascii_case(scheme) && !key.trim_ascii().is_empty() => {
                    Ok(key.trim_ascii())
                }
                _ => Err(missing("the header `authorization` is no bearer key")),
            }
        }
        (None, _) => match headers.get(API_KEY) {
            Some(key) if !key.is_empty() => Ok(key.as_bytes().trim_ascii()),
            _ => Err(missing("this server wants a key")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_key_stands_in_one_of_two_headers() {
        for (fields, key) in [
            (vec![("authorization", "Bearer k")], "k"),
            (vec![("authorization", "bEARER  k ")], "k"),
            (vec![("x-api-key", "k")], "k"),
            (vec![("authorization", "Bearer k"), ("x-api-key", "other")], "k"),
        ] {
            assert_eq!(sent_key(&headers(&fields)).unwrap(), key.as_bytes(), "{fields:?}");
        }
        for fields in [
            vec![],
            vec![("authorization", "Basic k")],
            vec![("authorization", "Bearer ")],
            vec![("authorization", "Bearer")],
            vec![("authorization", "k")],
            vec![("x-api-key", "")],
            vec![("authorization", "Bearer k"), ("authorization", "Bearer k")],
        ] {
            let problem = sent_key(&headers(&fields)).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::KeyMissing, "{fields:?}");
        }
    }
}
