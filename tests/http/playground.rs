//! The page at `/` and its files, as a browser asks for them.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::client::{Reply, connect, get, send, send_on};
use crate::rig::Rig;

/// The files that a text names, such as `playground/style.css`.
fn named_files(text: &str) -> Vec<String> {
    text.split('"')
        .filter_map(|quoted| {
            quoted
                .strip_prefix("./")
                .or_else(|| quoted.strip_prefix("playground/"))
        })
        .map(|file| format!("/playground/{file}"))
        .collect()
}

/// The whole response to `HEAD`, which has the length of a body but none.
fn head(rig: &Rig, path: &str) -> String {
    let mut stream = connect(rig.address);
    send_on(&mut stream, "HEAD", path, &[("connection", "close")], b"");
    let mut whole = String::new();
    stream.read_to_string(&mut whole).unwrap();
    whole
}

fn check_headers(path: &str, reply: &Reply) {
    assert_eq!(reply.status, 200, "{path}");
    let expected = match path.rsplit_once('.').map(|(_, ending)| ending) {
        None => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(other) => panic!("{path}: {other}"),
    };
    assert_eq!(reply.header("content-type"), Some(expected), "{path}");
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"));
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
}

#[test]
fn the_page_and_everything_it_names_are_served() {
    let rig = Rig::start();
    let mut left = vec!["/".to_owned()];
    let mut seen = Vec::new();
    while let Some(path) = left.pop() {
        let reply = get(rig.address, &path);
        check_headers(&path, &reply);
        left.extend(named_files(&String::from_utf8(reply.body).unwrap()));
        seen.push(path);
        left.retain(|path| !seen.contains(path));
    }
    assert!(seen.len() > 10, "{seen:?}");
}

#[test]
fn any_client_gets_the_page() {
    let rig = Rig::start();
    let accepts_all = send(rig.address, "GET", "/", &[("accept", "*/*")], b"");
    check_headers("/", &accepts_all);
    let head = head(&rig, "/");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    let length = format!("content-length: {}\r\n", accepts_all.body.len());
    assert!(
        head.contains(&length) && head.contains("content-type: text/html"),
        "{head}"
    );
    let tag = accepts_all.header("etag").unwrap();
    let again = send(rig.address, "GET", "/", &[("if-none-match", tag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(tag));
    assert_eq!(send(rig.address, "POST", "/", &[], b"").status, 405);
}

#[test]
fn other_files_are_not_there() {
    let rig = Rig::start();
    for path in [
        "/playground/mod.rs",
        "/playground/..%2Fmod.rs",
        "/playground/none.js",
        "/playground/",
    ] {
        let reply = get(rig.address, path);
        assert_eq!(reply.status, 404, "{path}");
        reply.error();
    }
    assert_eq!(get(rig.address, "/playground/%ff").status, 400);
}

#[test]
fn a_model_of_text_is_listed_without_media() {
    let rig = Rig::start();
    let listed: Value = get(rig.address, "/v1/models").json();
    assert_eq!(listed["models"][0]["x_takes_media"], json!([]));
    assert_eq!(listed["models"][0]["x_max_body_bytes"], json!(4 << 20));
}
