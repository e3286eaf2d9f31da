//! `multipart/form-data` bodies: one part with the JSON, and parts with media beside it.

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use futures_util::{FutureExt as _, stream};

use super::problem::{Fault, Problem, ProblemKind};
use crate::strict_json::Place;

/// Name of the part with the JSON.
pub(super) const REQUEST_PART: &str = "request";
/// Most parts of one body.
const MAX_PARTS: usize = 256;

/// What parts a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boundary(String);

/// A part of a body beside the JSON.
#[derive(Debug, Clone)]
pub(super) struct BodyPart {
    /// Its name in the form.
    pub(super) name: String,
    /// Its content.
    pub(super) bytes: Bytes,
}

/// The boundary that the content type names.
///
/// # Errors
/// It names none.
pub(super) fn boundary(headers: &HeaderMap) -> Result<Boundary, Problem> {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    multer::parse_boundary(text.unwrap_or_default())
        .map(Boundary)
        .map_err(|error| {
            bad(format!(
                "content-type multipart/form-data: {error}; name a boundary"
            ))
        })
}

/// Cuts a body into its JSON and the other parts, in order.
///
/// # Errors
/// A part is cut off, encoded or has no name, there are too many, or none is named `request`, or several.
pub(super) fn split(body: Vec<u8>, boundary: &Boundary) -> Result<(Vec<u8>, Vec<BodyPart>), Problem> {
    let whole = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(body))]);
    let mut parts = multer::Multipart::new(whole, boundary.0.clone());
    let reading = async {
        let mut request = None;
        let mut others = Vec::new();
        while let Some(field) = parts.next_field().await.map_err(broken)? {
            let Some(name) = field.name().map(str::to_owned) else {
                return Err(bad(
                    "a part has no name: give each `Content-Disposition: form-data; name=...`",
                ));
            };
            if others.len() >= MAX_PARTS {
                return Err(bad(format!("the body has more than {MAX_PARTS} parts")));
            }
            check_encoding(&name, field.headers())?;
            let bytes = field.bytes().await.map_err(broken)?;
            if name != REQUEST_PART {
                others.push(BodyPart { name, bytes });
            } else if request.replace(bytes).is_some() {
                return Err(bad("two parts are named `request`: send the JSON once"));
            }
        }
        let request = request.ok_or_else(|| bad("no part is named `request`: send the JSON in it"))?;
        Ok((request.into(), others))
    };
    // The whole body is there, so that nothing is waited for.
    reading
        .now_or_never()
        .unwrap_or_else(|| Err(bad("the parts of the body end before its last boundary")))
}

/// Parts are read as they are (RFC 7578, section 4.7).
fn check_encoding(name: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let encoding = headers
        .get("content-transfer-encoding")
        .map(|value| value.as_bytes());
    let plain = |encoding: &[u8]| {
        let plain = [&b""[..], b"binary", b"8bit", b"7bit"];
        plain
            .iter()
            .any(|plain| encoding.trim_ascii().eq_ignore_ascii_case(plain))
    };
    match encoding {
        Some(encoding) if !plain(encoding) => {
            let message = format!(
                "its part has the content-transfer-encoding {:?}, which is not undone here: send its bytes as they are, or \
                 in base64 in the JSON as `data_base64`",
                String::from_utf8_lossy(encoding)
            );
            let fault = Fault::value(Place::body().key(name), message);
            Err(Problem::of_fault(ProblemKind::InvalidRequest, fault))
        }
        _ => Ok(()),
    }
}

fn broken(error: multer::Error) -> Problem {
    bad(format!("the parts of the body cannot be read: {error}"))
}

fn bad(message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::BadRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(body: &str) -> Result<(Vec<u8>, Vec<BodyPart>), String> {
        split(body.replace('\n', "\r\n").into_bytes(), &Boundary("x".into()))
            .map_err(|problem| problem.message().to_string())
    }

    #[test]
    fn parts_keep_their_order_and_bytes() {
        let body = "--x\nContent-Disposition: form-data; name=\"b\"; filename=\"b.png\"\n\n\u{1}\n--x\n\
                    Content-Disposition: form-data; name=\"request\"\nContent-Type: application/json\n\n{}\n--x\n\
                    Content-Disposition: form-data; name=\"a\"\n\n\n--x--\n";
        let (json, parts) = cut(body).unwrap();
        assert_eq!(json, b"{}");
        let found: Vec<_> = parts
            .iter()
            .map(|part| (part.name.as_str(), &part.bytes[..]))
            .collect();
        assert_eq!(found, [("b", &b"\x01"[..]), ("a", b"")]);
    }

    #[test]
    fn an_encoded_part_is_named_with_the_remedy() {
        let part = |encoding: &str| {
            format!(
                "--x\nContent-Disposition: form-data; name=\"request\"\n\n{{}}\n--x\n\
                 Content-Disposition: form-data; name=\"image\"\nContent-Transfer-Encoding: {encoding}\n\nAAAA\n--x--\n"
            )
        };
        for encoding in ["base64", "BASE64", "quoted-printable"] {
            let message = cut(&part(encoding)).unwrap_err();
            assert!(message.starts_with("image: "), "{message}");
            assert!(
                message.contains(encoding) && message.contains("`data_base64`"),
                "{message}"
            );
        }
        for encoding in ["binary", "8bit", "7BIT"] {
            assert_eq!(cut(&part(encoding)).unwrap().1[0].bytes, &b"AAAA"[..]);
        }
    }

    #[test]
    fn broken_bodies_are_refused() {
        let part = "--x\nContent-Disposition: form-data; name=\"request\"\n\n{}\n";
        for (body, says) in [
            (String::new(), ""),
            ("--x--\n".into(), "no part is named `request`"),
            (format!("{part}{part}--x--\n"), "two parts"),
            (part.to_owned(), ""),
            ("--x\nContent-Type: a/b\n\n1\n--x--\n".into(), "no name"),
        ] {
            let message = cut(&body).unwrap_err();
            assert!(message.contains(says), "{body:?}: {message}");
        }
        let many = "--x\nContent-Disposition: form-data; name=\"a\"\n\n\n".repeat(300);
        assert!(cut(&format!("{many}--x--\n")).unwrap_err().contains("256 parts"));
    }

    #[test]
    fn a_boundary_is_needed() {
        let mut headers = HeaderMap::new();
        assert!(boundary(&headers).is_err());
        headers.insert(
            header::CONTENT_TYPE,
            "multipart/form-data; boundary=ab".parse().unwrap(),
        );
        assert_eq!(boundary(&headers).unwrap(), Boundary("ab".into()));
    }
}
