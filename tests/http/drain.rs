//! Stopping: what was accepted is answered, the rest is refused, and the process ends with 0.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use assize::http::ServerLimits;
use serde_json::json;

use crate::client::{JSON, connect, decide, get, receive, send_on};
use crate::rig::{Pass, Rig, library, model_path};

#[test]
fn queued_requests_are_finished_and_new_ones_refused() {
    let (mut rig, gate) = Rig::gated(ServerLimits {
        batch_tokens: 1,
        ..ServerLimits::default()
    });
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]});
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let (address, body) = (rig.address, body.clone());
            std::thread::spawn(move || decide(address, &body))
        })
        .collect();
    gate.next();
    rig.wait_for("assize_queue_jobs", 2.0);
    // Open before the stop, and nothing asked yet: neither closed without a word nor waited for.
    let (mut fresh, _silent) = (connect(rig.address), connect(rig.address));
    assert_eq!(get(rig.address, "/ready").status, 200);
    rig.tell_to_stop();
    for _ in 0..1_000 {
        if get(rig.address, "/ready").status == 503 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let refused = decide(rig.address, &body);
    assert_eq!(
        (refused.status, &refused.error()["type"]),
        (503, &json!("unavailable"))
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    send_on(
        &mut fresh,
        "POST",
        "/decide",
        &[JSON],
        body.to_string().as_bytes(),
    );
    assert_eq!(receive(&mut fresh).status, 503);
    assert_eq!(get(rig.address, "/health").status, 200);
    gate.open();
    for client in clients {
        assert_eq!(client.join().unwrap().status, 200);
    }
    assert!(rig.wait(), "everything was answered");
}

#[test]
fn the_drain_has_a_limit() {
    let limits = ServerLimits {
        drain_time: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    let (mut rig, gate) = Rig::gated(limits);
    let (address, body) = (
        rig.address,
        json!({"state": "s", "question": "q", "options": ["a", "b"]}),
    );
    let mut stream = connect(address);
    send_on(
        &mut stream,
        "POST",
        "/decide",
        &[JSON],
        body.to_string().as_bytes(),
    );
    gate.next();
    rig.tell_to_stop();
    assert!(!rig.wait(), "a request was left");
    gate.let_go(Pass::Run);
}

#[cfg(unix)]
#[test]
fn the_process_ends_with_0_after_sigterm_and_answers_first() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let cache = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_assize"))
            .args([
                "serve",
                "--port",
                "0",
                "--log-format",
                "json",
                "--precision",
                "float32",
                "--model",
            ])
            .arg(model_path())
            .arg("--cache")
            .arg(cache.path())
            // The folder of its own has no inference library.
            .env("ORT_DYLIB_PATH", library())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(
                log.read_line(&mut line).unwrap() > 0,
                "the server ended before it was ready"
            );
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "ready" {
                for field in ["model", "artifact", "engine", "precision", "kernels"] {
                    assert!(line[field].is_string(), "{field} in {line}");
                }
                assert!(
                    line["threads"].is_u64() && line["memory_mib"].is_number(),
                    "{line}"
                );
                break line["url"]
                    .as_str()
                    .unwrap()
                    .strip_prefix("http://")
                    .unwrap()
                    .parse()
                    .unwrap();
            }
        };
        // Half a request is accepted before the signal and ends after it.
        let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
        let (begin, end) = body.as_bytes().split_at(10);
        let mut stream = connect(address);
        let head = format!(
            "POST /decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(begin).unwrap();
        // A second request on its own connection is answered after the first one's head was read.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(get(address, "/health").status, 200);
        let process = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: `kill` takes plain numbers; the process is our child and has not been waited for.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0);
        let stopping = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            get(address, "/ready").status == 503
        });
        assert!(stopping, "the server refuses new requests");
        stream.write_all(end).unwrap();
        assert_eq!(receive(&mut stream).status, 200);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
