//! Keys, their limits, and pages of other origins.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use assize::http::{Access, CorsOrigin, ServerLimits};
use assize::keys::{KeyEntry, KeyFile, KeyHash, Keyring};
use serde_json::{Value, json};

use crate::client::{JSON, Reply, get, send};
use crate::rig::{Pass, Rig, service};

fn keys(entries: &[(&str, &str, u32, u32)]) -> Access {
    let keys = entries.iter().map(|(name, key, rate, at_once)| KeyEntry {
        name: (*name).into(),
        sha256: KeyHash::of(key.as_bytes()),
        requests_per_minute: NonZeroU32::new(*rate),
        concurrency: NonZeroU32::new(*at_once),
    });
    Access {
        keys: Some(Keyring::new(&KeyFile { keys: keys.collect() })),
        cors: Vec::new(),
    }
}

fn body() -> Vec<u8> {
    let body = json!({"state": "s", "question": "q?", "options": ["a", "b"]});
    body.to_string().into_bytes()
}

fn ask(address: SocketAddr, headers: &[(&str, &str)]) -> Reply {
    let headers: Vec<_> = headers.iter().copied().chain([JSON]).collect();
    send(address, "POST", "/decide", &headers, &body())
}

#[test]
fn only_who_has_a_key_is_answered() {
    let rig = Rig::with_access(
        service(),
        ServerLimits::default(),
        keys(&[("one", "secret-1", 0, 0), ("two", "secret-2", 0, 0)]),
    );
    let address = rig.address;
    for headers in [
        [("authorization", "Bearer secret-1")],
        [("authorization", "bearer secret-2")],
        [("x-api-key", "secret-2")],
    ] {
        assert_eq!(ask(address, &headers).status, 200, "{headers:?}");
    }
    let refused = ask(address, &[("authorization", "Bearer secret-3")]);
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(refused.error()["type"], "authentication_error");
    let missing = ask(address, &[]);
    assert_eq!(missing.status, 401);
    assert!(missing.error()["message"].as_str().unwrap().contains("Bearer"));
    // What is refused says nothing of the server: not even which routes there are.
    assert_eq!(get(address, "/v1/models").status, 403);
    assert_eq!(get(address, "/metrics").status, 401);
    assert_eq!(get(address, "/no-such-route").status, 401);
    for open in ["/health", "/ready", "/openapi.json"] {
        assert_eq!(get(address, open).status, 200, "{open}");
    }
    let with_key = [("authorization", "Bearer secret-1")];
    assert_eq!(send(address, "GET", "/v1/models", &with_key, b"").status, 200);
    let metrics = send(address, "GET", "/metrics", &with_key, b"");
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(
        metrics.contains("assize_key_requests_total{key=\"two\"} 2"),
        "{metrics}"
    );
    assert!(!metrics.contains("secret"));
}

#[test]
fn each_protocol_hears_of_its_key_in_its_own_shape() {
    let rig = Rig::with_access(
        service(),
        ServerLimits::default(),
        keys(&[("one", "secret", 0, 0)]),
    );
    let wrong = [("authorization", "Bearer wrong"), JSON];
    let of = |path: &str, headers: &[(&str, &str)]| {
        let reply = send(rig.address, "POST", path, headers, b"{}");
        (reply.status, reply.json())
    };
    let (status, body) = of("/v1/systemone", &wrong);
    assert_eq!(
        (status, &body["detail"]["error_type"]),
        (401, &json!("authentication_error"))
    );
    let (status, body) = of("/v1/systemone", &[JSON]);
    assert_eq!(
        (status, &body["detail"]["error_type"]),
        (403, &json!("authentication_error"))
    );
    let (status, body) = of("/v1/decisions", &wrong);
    assert_eq!(
        (status, &body["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    let (status, body) = of("/v1/messages", &wrong);
    assert_eq!(
        (status, &body["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    assert_eq!(body["type"], "error");
    assert!(body["request_id"].is_string());
    let (status, body) = of("/api/chat", &wrong);
    assert_eq!(status, 401);
    assert!(body["error"].is_string());
}

#[test]
fn a_large_body_without_a_key_hears_why() {
    let rig = Rig::with_access(
        service(),
        ServerLimits::default(),
        keys(&[("one", "secret", 0, 0)]),
    );
    let reply = send(rig.address, "POST", "/decide", &[JSON], &vec![b' '; 3 << 20]);
    assert_eq!(reply.status, 401);
}

#[test]
fn a_key_is_held_to_its_rate_and_to_its_requests_at_once() {
    let (rig, gate) = Rig::gated_with(
        ServerLimits::default(),
        keys(&[("narrow", "n", 0, 1), ("slow", "s", 1, 0)]),
    );
    let address = rig.address;
    let narrow = [("authorization", "Bearer n")];
    let first = std::thread::spawn(move || ask(address, &[("authorization", "Bearer n")]));
    assert!(gate.starts_within(Duration::from_secs(60)));
    let refused = ask(address, &narrow);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.error()["type"], "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    gate.let_go(Pass::Run);
    assert_eq!(first.join().unwrap().status, 200);
    gate.open();
    assert_eq!(ask(address, &narrow).status, 200);

    let slow = [("authorization", "Bearer s")];
    assert_eq!(ask(address, &slow).status, 200);
    let refused = ask(address, &slow);
    assert_eq!(refused.status, 429);
    let wait: f64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((50.0..=60.0).contains(&wait), "{wait}");
    assert!(refused.header("retry-after-ms").is_some());
    // The other key is not held to it.
    assert_eq!(ask(address, &narrow).status, 200);
}

#[test]
fn pages_of_other_origins_may_ask_only_where_they_are_named() {
    let origin = "https://app.example.org";
    let preflight = |address| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        send(address, "OPTIONS", "/decide", &headers, b"")
    };
    let closed = Rig::start();
    assert_eq!(preflight(closed.address).status, 405);
    let reply = ask(closed.address, &[("origin", origin)]);
    assert_eq!(reply.header("access-control-allow-origin"), None);

    let mut access = keys(&[("one", "secret", 0, 0)]);
    access.cors = vec![origin.parse::<CorsOrigin>().unwrap()];
    let open = Rig::with_access(service(), ServerLimits::default(), access);
    let reply = preflight(open.address);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    assert_eq!(
        reply.header("access-control-allow-headers"),
        Some("authorization,content-type")
    );
    // Errors too can be read by the page.
    let refused = ask(open.address, &[("origin", origin)]);
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    let other = ask(
        open.address,
        &[
            ("origin", "https://evil.example.org"),
            ("authorization", "Bearer secret"),
        ],
    );
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[test]
fn the_document_has_the_limits_and_the_keys() {
    let document = |rig: &Rig| -> Value { get(rig.address, "/openapi.json").json() };
    let limits = ServerLimits {
        body_bytes: 123_456,
        queue_jobs: 7,
        ..ServerLimits::default()
    };
    let open = document(&Rig::with(limits));
    let told = &open["x-assize-limits"];
    assert_eq!(told["body_bytes"], 123_456);
    assert_eq!(told["queue_requests"], 7);
    assert_eq!(told["options"], 256);
    assert_eq!(told["questions"], 1024);
    assert_eq!(told["media"], 0);
    assert_eq!(told["header_fields"], 100);
    assert_eq!(open["security"], Value::Null);

    let keyed = Rig::with_access(
        service(),
        ServerLimits::default(),
        keys(&[("one", "secret", 0, 0)]),
    );
    let keyed = document(&keyed);
    assert_eq!(keyed["components"]["securitySchemes"]["key"]["scheme"], "bearer");
    assert_eq!(keyed["security"], json!([{"key": []}]));
    assert_eq!(keyed["paths"]["/health"]["get"]["security"], json!([]));
    assert_eq!(keyed["paths"]["/decide"]["post"]["security"], Value::Null);
}
