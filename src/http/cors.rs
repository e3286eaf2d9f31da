//! Which pages of other origins may ask. None, unless the server was told so.

use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use url::Url;

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
pub enum NoOrigin {
    /// It names no scheme and host, or more than them.
    #[error(
        "{0:?} is no origin: write the scheme and host (and port) alone, such as https://app.example.org, or *"
    )]
    Wrong(String),
    /// Origins are compared letter by letter, and browsers write this one otherwise.
    #[error("browsers write the origin {written:?} as {browsers:?}: write it so")]
    Spelling {
        /// What was written.
        written: String,
        /// How browsers write it: lower case, without the scheme's own port.
        browsers: String,
    },
}

impl FromStr for CorsOrigin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let wrong = || NoOrigin::Wrong(text.to_owned());
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_bare = matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none();
        // A pattern would be compared letter by letter, and no page ever match it.
        if !is_bare || text.contains('*') {
            return Err(wrong());
        }
        let browsers = url.origin().ascii_serialization();
        if browsers != text {
            return Err(NoOrigin::Spelling {
                written: text.to_owned(),
                browsers,
            });
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
            "http://[::1]:8080",
        ] {
            assert!(text.parse::<CorsOrigin>().is_ok(), "{text}");
        }
        for text in [
            "",
            "app.example.org",
            "https://app.example.org/",
            "https://app.example.org/path",
            "https://App.example.org",
            "http://[::1]:80",
            "https://*.example.org",
            "https://*",
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
