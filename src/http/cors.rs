//! Which pages of other origins may ask. None, unless the server was told so.

use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, Uri};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// How long a browser may remember what it was told.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// An origin whose pages may ask, such as `https://app.example.org`, or `*` for every one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorsOrigin {
    /// Every origin.
    Any,
    /// This one, as browsers write it.
    One(HeaderValue),
}

/// A text that is no origin.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is no origin: write the scheme and host (and port) alone, such as https://app.example.org, or *"
)]
pub struct NoOrigin(String);

impl FromStr for CorsOrigin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let wrong = || NoOrigin(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        // Browsers write origins in lower case and without a slash, and they are compared letter by letter.
        let is_plain = matches!(uri.scheme_str(), Some("http" | "https"))
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@'))
            && !text.ends_with('/')
            && uri.path() == "/"
            && uri.query().is_none()
            && !text.contains('#')
            && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if !is_plain {
            return Err(wrong());
        }
        HeaderValue::from_str(text).map(Self::One).map_err(|_| wrong())
    }
}

/// The layer that answers preflight requests and marks responses; `None` where no origin is allowed.
pub(super) fn layer(origins: &[CorsOrigin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let allowed = if origins.contains(&CorsOrigin::Any) {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| match origin {
            CorsOrigin::One(origin) => Some(origin.clone()),
            CorsOrigin::Any => None,
        }))
    };
    let exposed = ["x-request-id", "server-timing", "retry-after", "retry-after-ms"];
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
            // A `*` would not stand for `authorization`.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(exposed.map(HeaderName::from_static))
            .max_age(REMEMBERED),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for text in [
            "*",
            "https://app.example.org",
            "http://localhost:3000",
            "http://[::1]:80",
        ] {
            assert!(text.parse::<CorsOrigin>().is_ok(), "{text}");
        }
        for text in [
            "",
            "app.example.org",
            "https://app.example.org/",
            "https://app.example.org/path",
            "https://App.example.org",
            "https://me@app.example.org",
            "https://app.example.org?x",
            "ftp://app.example.org",
            "null",
            "https://*.example.org:x",
            "https://a b",
        ] {
            assert!(text.parse::<CorsOrigin>().is_err(), "{text}");
        }
    }
}
