//! `GET /`: a page to try decisions in a browser. Its files are part of the binary and ask nothing of another host.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use super::problem::{Problem, ProblemKind};
use crate::strict_json::excerpt;

/// Only the page's own files run, and only this server is asked; previews of media are `blob:` URLs.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page.
struct PageFile {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

/// The files in this folder, by their names.
macro_rules! page_files {
    ($($name:literal: $content_type:expr),+ $(,)?) => {
        [$(PageFile { name: $name, content_type: $content_type, bytes: include_bytes!($name) }),+]
    };
}

static PAGE: PageFile = PageFile {
    name: "index.html",
    content_type: HTML,
    bytes: include_bytes!("index.html"),
};

static FILES: [PageFile; 18] = page_files![
    "style.css": CSS,
    "icon.svg": SVG,
    "theme.js": SCRIPT,
    "main.js": SCRIPT,
    "dom.js": SCRIPT,
    "icons.js": SCRIPT,
    "server.js": SCRIPT,
    "key.js": SCRIPT,
    "state.js": SCRIPT,
    "media.js": SCRIPT,
    "samples.js": SCRIPT,
    "questions.js": SCRIPT,
    "request.js": SCRIPT,
    "snippets.js": SCRIPT,
    "code.js": SCRIPT,
    "faults.js": SCRIPT,
    "results.js": SCRIPT,
    "gallery.js": SCRIPT,
];

impl PageFile {
    /// The file, or 304 where the browser has it already.
    fn respond(&self, asked: &HeaderMap) -> Response {
        let tag = self.tag();
        let has_it = asked
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .filter_map(|tags| tags.to_str().ok())
            .flat_map(|tags| tags.split(','))
            .any(|has| matches!(has.trim(), "*") || has.trim().trim_start_matches("W/") == tag);
        // Hexadecimal digits in quotes are always a valid header value.
        let tag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""));
        let headers = [
            (header::ETAG, tag),
            // Asked for again each time, so that a page never runs with the scripts of an older server.
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (
                header::CONTENT_SECURITY_POLICY,
                HeaderValue::from_static(CONTENT_SECURITY_POLICY),
            ),
            (
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            ),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (
                HeaderName::from_static("cross-origin-opener-policy"),
                HeaderValue::from_static("same-origin"),
            ),
        ];
        if has_it {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type))];
        (content_type, headers, self.bytes).into_response()
    }

    /// The entity tag: of the content, so that it changes with it alone.
    fn tag(&self) -> String {
        let digest = hex::encode(Sha256::digest(self.bytes));
        format!("\"{}\"", &digest[..32])
    }
}

/// A page to try decisions in a browser.
#[utoipa::path(
    get,
    path = "/",
    tag = "playground",
    params(("If-None-Match" = Option<String>, Header, description = "Entity tags that the caller has")),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 304, description = "The caller has this page already"),
    )
)]
pub(super) async fn page(headers: HeaderMap) -> Response {
    PAGE.respond(&headers)
}

/// A script, style sheet or picture of the page.
#[utoipa::path(
    get,
    path = "/playground/{file}",
    tag = "playground",
    params(
        ("file" = String, Path, description = "The file's name"),
        ("If-None-Match" = Option<String>, Header, description = "Entity tags that the caller has"),
    ),
    responses(
        (status = 200, description = "The file", content(
            (String = "text/javascript"),
            (String = "text/css"),
            (String = "image/svg+xml"),
        )),
        (status = 304, description = "The caller has this file already"),
        (status = 400, description = "The name is not valid UTF-8", body = super::problem_body::ErrorBody),
        (status = 404, description = "The page has no such file", body = super::problem_body::ErrorBody),
    )
)]
pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let file = FILES.iter().find(|file| file.name == name).ok_or_else(|| {
        let message = format!("the page has no file {:?}: open / for the page", excerpt(&name));
        Problem::new(ProblemKind::NotFound, message)
    })?;
    Ok(file.respond(&headers))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn text(file: &PageFile) -> &'static str {
        std::str::from_utf8(file.bytes).unwrap()
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/playground");
        let found: HashSet<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".rs"))
            .collect();
        let served: HashSet<_> = FILES
            .iter()
            .chain([&PAGE])
            .map(|file| file.name.to_owned())
            .collect();
        assert_eq!(found, served);
    }

    #[test]
    fn the_page_names_no_other_host_and_sets_no_html() {
        for file in FILES.iter().chain([&PAGE]) {
            // The name space of SVG is a name, not an address that is asked.
            let text = text(file).replace("http://www.w3.org/2000/svg", "");
            for word in [
                "http://",
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
            ] {
                assert!(!text.contains(word), "{}: {word}", file.name);
            }
        }
        for word in [" style=", " onclick", "<script>"] {
            assert!(!text(&PAGE).contains(word), "{word}");
        }
    }

    #[test]
    fn what_the_browser_has_is_not_sent_again() {
        let asked = |tag: &str| HeaderMap::from_iter([(header::IF_NONE_MATCH, tag.parse().unwrap())]);
        let tag = PAGE.tag();
        for has in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"x\", {tag}"),
            "*".into(),
        ] {
            assert_eq!(
                PAGE.respond(&asked(&has)).status(),
                StatusCode::NOT_MODIFIED,
                "{has}"
            );
        }
        assert_eq!(PAGE.respond(&asked("\"x\"")).status(), StatusCode::OK);
        let tags: HashSet<_> = FILES.iter().map(PageFile::tag).collect();
        assert_eq!(tags.len(), FILES.len());
    }
}
