//! Compressed and large bodies.

use assize::http::ServerLimits;
use serde_json::json;

use crate::client::{JSON, Reply, post, send};
use crate::rig::Rig;

fn zstd(rig: &Rig, path: &str, plain: &[u8]) -> Reply {
    let frame = zstd::bulk::compress(plain, 3).unwrap();
    send(
        rig.address,
        "POST",
        path,
        &[JSON, ("content-encoding", "zstd")],
        &frame,
    )
}

fn small() -> Rig {
    Rig::with(ServerLimits {
        body_bytes: 10_000,
        ..ServerLimits::default()
    })
}

#[test]
fn zstd_bodies_on_every_route() {
    let rig = Rig::start();
    let decide = json!({"state": "tea ".repeat(20), "question": "q", "options": ["a", "b"]}).to_string();
    let plain = post(rig.address, "/decide", decide.as_bytes()).json();
    assert_eq!(
        zstd(&rig, "/decide", decide.as_bytes()).json()["answers"],
        plain["answers"]
    );
    let body = json!({"state": "tea ".repeat(20), "questions": {"q": {"type": "noul", "instructions": "x".repeat(60)}}});
    assert_eq!(
        zstd(&rig, "/v1/systemone", body.to_string().as_bytes()).status,
        200
    );
}

#[test]
fn limits_hold_before_and_after_decompression() {
    let rig = small();
    let padded = |bytes: usize| {
        let mut body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        body
    };
    assert_eq!(
        post(rig.address, "/decide", padded(10_000).as_bytes()).status,
        200
    );
    let reply = post(rig.address, "/decide", padded(10_001).as_bytes());
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (413, &json!("body_too_large"))
    );
    assert!(
        reply.error()["message"].as_str().unwrap().contains("10000"),
        "{}",
        reply.error()
    );
    // Much larger than what a socket buffers: the answer is still readable.
    assert_eq!(
        post(rig.address, "/decide", padded(30_000_000).as_bytes()).status,
        413
    );
    assert_eq!(zstd(&rig, "/decide", padded(10_000).as_bytes()).status, 200);
    // A bomb: a few kilobytes that become 200 MB.
    let reply = zstd(&rig, "/decide", padded(200_000_000).as_bytes());
    assert_eq!(reply.status, 413);
    assert!(
        reply.error()["message"]
            .as_str()
            .unwrap()
            .contains("after decompression")
    );
    let reply = zstd(&rig, "/v1/systemone", padded(20_000).as_bytes());
    assert_eq!(
        (reply.status, &reply.json()["detail"]["error_type"]),
        (413, &json!("body_too_large"))
    );
}

#[test]
fn broken_frames() {
    let rig = Rig::start();
    let frame = zstd::bulk::compress(&b" ".repeat(2_000), 3).unwrap();
    for bytes in [&frame[..frame.len() - 2], b"{\"state\": 1}", &frame[1..]] {
        let reply = send(
            rig.address,
            "POST",
            "/decide",
            &[JSON, ("content-encoding", "zstd")],
            bytes,
        );
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (400, &json!("bad_request"))
        );
        let message = reply.error()["message"].clone();
        assert!(
            message
                .as_str()
                .unwrap()
                .contains("plain without content-encoding"),
            "{message}"
        );
    }
    let reply = send(
        rig.address,
        "POST",
        "/decide",
        &[JSON, ("content-encoding", "zstd")],
        b"",
    );
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (400, &json!("invalid_json"))
    );
}

#[test]
fn chunked_bodies_are_bounded_too() {
    use std::io::Write as _;
    let rig = small();
    let mut stream = crate::client::connect(rig.address);
    stream
        .write_all(b"POST /decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    for _ in 0..20 {
        let _ = stream.write_all(format!("400\r\n{}\r\n", " ".repeat(0x400)).as_bytes());
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    let reply = crate::client::receive(&mut stream);
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (413, &json!("body_too_large"))
    );
}
