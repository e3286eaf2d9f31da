//! Bad requests to the native routes: each a status, a type, a field and a message that helps.

use std::io::Write as _;

use serde_json::json;

use crate::client::{JSON, connect, decide, get, post, receive, send};
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
        (
            b"\xef\xbb\xbf{}",
            "the body starts with a byte order mark; send UTF-8 without it",
        ),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"{\"state\": [1e400]}", "is 1e400"),
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
            Some("question"),
        ),
        (
            r#"{"state":{"a":[1,18446744073709551616]},"question":"q","options":["a"]}"#,
            422,
            "invalid_request",
            Some("state.a[1]"),
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
fn a_number_out_of_range_is_shown_with_its_range() {
    let rig = Rig::start();
    for (field, most) in [("order_averages", 256), ("deadline_ms", 600_000)] {
        for value in [
            "-1",
            "0",
            "1.5",
            "1e+300",
            "1e400",
            "-1e400",
            "99999999999",
            "\"1\"",
            "true",
            "[1]",
        ] {
            let body = format!(r#"{{"state":"s","question":"q","options":["a","b"],"{field}":{value}}}"#);
            let reply = post(rig.address, "/decide", body.as_bytes());
            let error = reply.error();
            assert_eq!(
                (reply.status, &error["field"]),
                (422, &json!(field)),
                "{body}: {error}"
            );
            let message = error["message"].as_str().unwrap();
            let shown = if value == "[1]" { "an array" } else { value };
            assert_eq!(
                message,
                format!("is {shown}: use a whole number from 1 to {most}"),
                "{body}"
            );
        }
    }
}

#[test]
fn no_message_speaks_of_rust_or_repeats_a_whole_body() {
    let rig = Rig::start();
    let long = "x".repeat(100_000);
    for (path, body) in [
        ("/decide", json!({"state": "s", "questions": 3})),
        ("/decide", json!({"state": "s", "questions": [3]})),
        ("/decide", json!({"state": "s", "options": {"a": 1}})),
        ("/decide", json!({"state": "s", "options": long})),
        ("/decide", json!({"state": "s", "type": long})),
        ("/decide", json!({"state": "s", "type": [1]})),
        ("/decide", json!({"state": "s", "truncate": 3})),
        ("/decide", json!({"state": "s", "truncate": long})),
        ("/decide", json!({"state": "s", "model": 3, "options": ["a"]})),
        ("/decide", json!({"state": "s", "id": 3, "options": ["a"]})),
        ("/decide", json!({"state": 3})),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": "noul", "criteria": 3}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": "noul", "criteria": [1]}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": "choice", "criteria": 3}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": "score", "criteria": long}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": long}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": "s", "questions": {"q": {"type": {"a": long}}}}),
        ),
        (
            "/v1/systemone",
            json!({"state": 3, "questions": {"q": {"type": "noul", "instructions": "q"}}}),
        ),
    ] {
        let reply = post(rig.address, path, body.to_string().as_bytes());
        let text = String::from_utf8(reply.body).unwrap();
        assert_eq!(reply.status, 422, "{text}");
        assert!(text.len() < 2_000, "{} bytes", text.len());
        for word in [
            "struct ", "u64", "usize", "sequence", " map", "enum", "unit", "variant",
        ] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn routes_methods_and_types() {
    let rig = Rig::start();
    assert_eq!(get(rig.address, "/nothing").error()["type"], "not_found");
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
fn heads_that_are_too_long() {
    let rig = Rig::start();
    let path = |length: usize| format!("/health?{}", "q".repeat(length - "/health?".len()));
    assert_eq!(get(rig.address, &path(8 << 10)).status, 200);
    for length in [(8 << 10) + 1, 60_000] {
        let reply = get(rig.address, &path(length));
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (414, &json!("target_too_long"))
        );
        assert!(
            reply.error()["message"]
                .as_str()
                .unwrap()
                .contains(&length.to_string())
        );
    }
    let names: Vec<_> = (0..400).map(|index| format!("x-{index}")).collect();
    let many = |count: usize| {
        let fields: Vec<_> = names
            .iter()
            .take(count)
            .map(|name| (name.as_str(), "1"))
            .collect();
        send(rig.address, "GET", "/health", &fields, b"")
    };
    // Two more are the client's own.
    assert_eq!(many(98).status, 200);
    for count in [99, 400] {
        let reply = many(count);
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (431, &json!("head_too_large"))
        );
    }
    let cookie = |length: usize| {
        send(
            rig.address,
            "GET",
            "/health",
            &[("cookie", &"c".repeat(length))],
            b"",
        )
    };
    assert_eq!(cookie(30 << 10).status, 200);
    for length in [33 << 10, 60_000] {
        let reply = cookie(length);
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (431, &json!("head_too_large"))
        );
    }
    // In the shape of the protocol that was spoken.
    let reply = get(rig.address, &path(9_000).replacen("/health", "/v1/models", 1));
    assert_eq!(reply.json()["detail"]["error_type"], "target_too_long");
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
fn what_is_too_long_is_named_in_the_words_of_the_protocol() {
    let rig = Rig::start();
    let long = "long ".repeat(5_000);
    for (body, field) in [
        (
            json!({"state": long, "question": "q", "options": ["a", "b"]}),
            "state",
        ),
        (
            json!({"state": "s", "question": long, "options": ["a", "b"]}),
            "question",
        ),
        (
            json!({"state": "s", "question": "q", "options": ["a", long]}),
            "options",
        ),
        (
            json!({"state": "s", "questions": [{"options": ["a"]}, {"question": "q", "levels": ["a", long]}]}),
            "questions[1].levels",
        ),
        (
            json!({"state": "s", "type": "predicate", "question": "q", "when_true": long}),
            "when_true",
        ),
    ] {
        let reply = decide(rig.address, &body);
        assert_eq!((reply.status, &reply.error()["field"]), (413, &json!(field)));
        let message = reply.error()["message"].as_str().unwrap().to_owned();
        assert_eq!(message.contains("`truncate`"), field == "state", "{message}");
    }
    for (state, instructions, criteria, param) in [
        (&*long, "q", "a", "state"),
        ("s", &long, "a", "questions.x.choice.instructions"),
        ("s", "q", &long, "questions.x.choice.criteria"),
    ] {
        let body = json!({"model": "jev-latest", "state": state, "questions": {
            "x": {"type": "choice", "instructions": instructions, "criteria": {"a": criteria, "b": null}}
        }});
        let reply = post(rig.address, "/v1/systemone", body.to_string().as_bytes());
        assert_eq!((reply.status, &reply.error()["param"]), (413, &json!(param)));
        assert!(
            !reply.error()["message"].as_str().unwrap().contains("truncate"),
            "no such field here"
        );
    }
}

#[test]
fn a_transfer_coding_that_is_not_undone_is_refused() {
    let rig = Rig::start();
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
    let with = |coding: &str| {
        let mut stream = connect(rig.address);
        let head = format!(
            "POST /decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ntransfer-encoding: {coding}\r\n\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        // It may refuse before it has read everything.
        let _ = stream.write_all(head.as_bytes());
        receive(&mut stream)
    };
    assert_eq!(with("chunked").status, 200);
    for coding in ["gzip, chunked", "deflate,chunked", "chunked, chunked"] {
        let reply = with(coding);
        assert!((400..500).contains(&reply.status), "{coding}: {}", reply.status);
    }
    let reply = with("gzip, chunked");
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (415, &json!("unsupported_media_type"))
    );
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
