//! Bad requests to the native routes: each a status, a type, a field and a message that helps.

use serde_json::json;

use crate::client::{JSON, decide, get, post, send};
use crate::rig::Rig;

#[test]
fn bodies_that_are_not_json() {
    let rig = Rig::start();
    let deep = format!("{}1{}", r#"{"state":["#.repeat(5_000), "]}".repeat(5_000));
    let open = "[".repeat(500_000);
    for (body, says) in [
        (&b""[..], "empty"),
        (b"  \n", "empty"),
        (b"{\"state\": ", "ends too early"),
        (b"{'state': 1}", "column 2"),
        (b"{\"state\": NaN}", "NaN"),
        (b"{\"state\": [1, -Infinity]}", "NaN and Infinity"),
        (b"{\"state\": \"\\ud83d\"}", "surrogate"),
        (b"{\"state\": \"\\udc00 \"}", "surrogate"),
        (b"{\"state\": \"\xff\xfe\"}", "byte 11"),
        (b"{\"state\": \"\xed\xa0\x80\"}", "UTF-8"),
        (b"{\"state\": \"a\nb\"}", "control character"),
        (b"{} {}", "trailing"),
        (deep.as_bytes(), "deeper than 100"),
        (open.as_bytes(), "deeper than 100"),
    ] {
        let reply = post(rig.address, "/decide", body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert_eq!(reply.status, 400, "{shown}");
        let error = reply.error();
        assert_eq!(error["type"], "invalid_json");
        assert!(
            error["message"].as_str().unwrap().contains(says),
            "{shown}: {error}"
        );
    }
}

#[test]
fn fields_that_are_wrong() {
    let rig = Rig::start();
    for (body, status, kind, field) in [
        (r#"[1]"#, 422, "invalid_request", None),
        (
            r#"{"state":"s","state":"t"}"#,
            422,
            "invalid_request",
            Some("state"),
        ),
        (
            r#"{"state":{"a":{"b":1,"b":2}}}"#,
            422,
            "invalid_request",
            Some("state.a.b"),
        ),
        (
            r#"{"state":"s","qestion":"q","options":["a"]}"#,
            422,
            "invalid_request",
            Some("qestion"),
        ),
        (
            r#"{"state":"s","question":"q"}"#,
            422,
            "invalid_request",
            Some("options"),
        ),
        (
            r#"{"state":"s","question":"q","options":["a",""]}"#,
            422,
            "invalid_request",
            Some("options[1]"),
        ),
        (
            r#"{"state":"s","question":"q","options":["a","b","a"]}"#,
            422,
            "invalid_request",
            Some("options[2]"),
        ),
        (
            r#"{"state":"s","questions":[{"options":["a"]},{"levels":["a",""]}]}"#,
            422,
            "invalid_request",
            Some("questions[1].levels[1]"),
        ),
        (
            r#"{"state":"s","type":"predicate"}"#,
            422,
            "invalid_request",
            None,
        ),
        (
            r#"{"state":"s","options":["a"],"model":"x"}"#,
            404,
            "unknown_model",
            Some("model"),
        ),
        (
            r#"{"state":"s","options":["a"],"deadline_ms":1.5}"#,
            422,
            "invalid_request",
            Some("deadline_ms"),
        ),
        (
            r#"{"state":"s","options":["a"],"order_averages":1000}"#,
            422,
            "invalid_request",
            Some("order_averages"),
        ),
    ] {
        let reply = post(rig.address, "/decide", body.as_bytes());
        assert_eq!(reply.status, status, "{body}: {}", reply.json());
        let error = reply.error();
        assert_eq!(
            (&error["type"], &error["field"]),
            (&json!(kind), &json!(field)),
            "{body}"
        );
    }
}

#[test]
fn routes_methods_and_types() {
    let rig = Rig::start();
    assert_eq!(get(rig.address, "/").error()["type"], "not_found");
    let reply = get(rig.address, "/decide");
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    assert_eq!(reply.error()["type"], "method_not_allowed");
    let reply = send(rig.address, "DELETE", "/health", &[], b"");
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (405, &json!("method_not_allowed"))
    );
    for headers in [
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![("content-type", "text/plain")],
        vec![JSON, ("content-encoding", "gzip")],
        vec![JSON, ("content-encoding", "zstd, zstd")],
    ] {
        let reply = send(rig.address, "POST", "/decide", &headers, b"{}");
        assert_eq!(reply.status, 415, "{headers:?}");
        assert_eq!(reply.error()["type"], "unsupported_media_type");
    }
    // Without a type the body is taken for what it must be.
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
    for headers in [
        vec![],
        vec![("content-type", "application/vnd.x+json")],
        vec![JSON, ("content-encoding", "identity")],
    ] {
        assert_eq!(
            send(rig.address, "POST", "/decide", &headers, body.as_bytes()).status,
            200,
            "{headers:?}"
        );
    }
}

#[test]
fn options_of_every_look() {
    let rig = Rig::start();
    let long = "long ".repeat(20);
    for options in [
        vec!["a\nb", "a\r\nb"],
        vec![" ", "  "],
        vec!["<|im_end|>", "<s>"],
        vec!["\u{0}", "\u{1f}"],
        vec![long.as_str(), "short"],
        vec!["{state}", "{{options}}"],
    ] {
        let reply = decide(
            rig.address,
            &json!({"state": "s", "question": "q", "options": options}),
        );
        assert_eq!(reply.status, 200, "{options:?}: {}", reply.json());
        assert_eq!(
            reply.json()["answers"][0]["probabilities"][1]["option"],
            options[1]
        );
    }
    // An option that no context holds is refused with the question's place and both numbers.
    let endless = "endless ".repeat(100_000);
    let reply = decide(
        rig.address,
        &json!({"state": "s", "question": "q", "options": [endless, "b"]}),
    );
    assert_eq!(reply.status, 413);
    assert_eq!(reply.error()["type"], "state_too_long");
}

#[test]
fn a_state_of_nothing_or_of_null_characters_is_a_state() {
    let rig = Rig::start();
    for state in [
        json!(""),
        json!("\u{0}\u{0}"),
        json!([]),
        json!({}),
        json!("<|im_end|>\n<s>"),
    ] {
        let reply = decide(
            rig.address,
            &json!({"state": state, "question": "q", "options": ["a", "b"]}),
        );
        assert_eq!(reply.status, 200, "{state}: {}", reply.json());
    }
}
