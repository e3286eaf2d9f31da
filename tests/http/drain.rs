//! Stopping: what was accepted is answered, the rest is refused, and the process ends with 0; or with 1 where something
//! had to be given up.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use assize::http::{Drained, ServerLimits};
use serde_json::json;

use crate::client::{JSON, connect, decide, get, receive, send_on};
use crate::rig::{Gate, Pass, Rig, library, model_path};

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
    assert_eq!(rig.wait(), Drained::All);
}

/// A request in the engine, one in the queue, and one whose body has not arrived.
fn unanswered(address: SocketAddr, gate: &Gate, rig: &Rig) -> Vec<TcpStream> {
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
    let mut streams = Vec::new();
    let mut send = |bytes: &[u8]| {
        let mut stream = connect(address);
        stream.write_all(&head(body.len())).unwrap();
        stream.write_all(bytes).unwrap();
        streams.push(stream);
    };
    send(body.as_bytes());
    gate.next();
    send(body.as_bytes());
    rig.wait_for("assize_queue_jobs", 1.0);
    send(&body.as_bytes()[..10]);
    // Its head is read before that of a later request on a connection of its own is answered.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(get(address, "/health").status, 200);
    streams
}

fn head(length: usize) -> Vec<u8> {
    format!(
        "POST /decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
    .into_bytes()
}

fn all_get_503(streams: Vec<TcpStream>) {
    for mut stream in streams {
        let reply = receive(&mut stream);
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (503, &json!("unavailable"))
        );
        assert!(reply.header("retry-after").is_some());
    }
}

#[test]
fn what_is_left_when_the_drain_time_is_over_gets_a_503() {
    let limits = ServerLimits {
        drain_time: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    let (mut rig, gate) = Rig::gated(limits);
    let streams = unanswered(rig.address, &gate, &rig);
    rig.tell_to_stop();
    all_get_503(streams);
    assert_eq!(rig.wait(), Drained::OutOfTime);
    gate.let_go(Pass::Run);
}

#[test]
fn what_is_left_when_the_server_is_told_to_give_up_gets_a_503() {
    let (mut rig, gate) = Rig::gated(ServerLimits::default());
    let streams = unanswered(rig.address, &gate, &rig);
    rig.tell_to_stop();
    rig.tell_to_abort();
    all_get_503(streams);
    assert_eq!(rig.wait(), Drained::Aborted);
    gate.let_go(Pass::Run);
}

/// `assize serve` as a process of its own.
#[cfg(unix)]
struct Served {
    child: Child,
    address: SocketAddr,
    _cache: tempfile::TempDir,
    _log: BufReader<ChildStderr>,
}

#[cfg(unix)]
impl Served {
    fn start() -> Self {
        let cache = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_assize"))
            .args(["serve", "--port", "0", "--log-format", "json"])
            .args(["--precision", "float32", "--model"])
            .arg(model_path())
            .arg("--cache")
            .arg(cache.path())
            // The folder of its own has no inference library.
            .env("ORT_DYLIB_PATH", library())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let ready = loop {
            let mut line = String::new();
            assert!(
                log.read_line(&mut line).unwrap() > 0,
                "the server ended before it was ready"
            );
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "ready" {
                break line;
            }
        };
        for field in ["model", "artifact", "engine", "precision", "kernels"] {
            assert!(ready[field].is_string(), "{field} in {ready}");
        }
        assert!(
            ready["threads"].is_u64() && ready["memory_mib"].is_number(),
            "{ready}"
        );
        let url = ready["url"].as_str().unwrap();
        Self {
            address: url.strip_prefix("http://").unwrap().parse().unwrap(),
            child,
            _cache: cache,
            _log: log,
        }
    }

    fn signal(&self, signal: libc::c_int) {
        let process = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: `kill` takes plain numbers; the process is our child and has not been waited for.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0);
    }

    fn wait_until_stopping(&self) {
        let stopping = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            get(self.address, "/ready").status == 503
        });
        assert!(stopping, "the server refuses new requests");
    }

    /// Half a request, which is accepted before any signal that follows.
    fn half_a_request(&self) -> (TcpStream, Vec<u8>) {
        let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
        let (begin, end) = body.as_bytes().split_at(10);
        let mut stream = connect(self.address);
        stream.write_all(&head(body.len())).unwrap();
        stream.write_all(begin).unwrap();
        // A second request on its own connection is answered after the first one's head was read.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(get(self.address, "/health").status, 200);
        (stream, end.to_vec())
    }
}

#[cfg(unix)]
#[test]
fn the_process_ends_with_0_after_sigterm_and_answers_first() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut served = Served::start();
        let (mut stream, end) = served.half_a_request();
        served.signal(signal);
        served.wait_until_stopping();
        stream.write_all(&end).unwrap();
        assert_eq!(receive(&mut stream).status, 200);
        assert_eq!(served.child.wait().unwrap().code(), Some(0));
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_process_with_1_and_503_for_the_rest() {
    let mut served = Served::start();
    let (stream, _) = served.half_a_request();
    served.signal(libc::SIGTERM);
    served.wait_until_stopping();
    served.signal(libc::SIGTERM);
    all_get_503(vec![stream]);
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}
