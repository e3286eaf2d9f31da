//! Clients that stall, and bodies that are cut: the connection is freed and others are served.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use assize::http::ServerLimits;
use serde_json::json;

use crate::client::{connect, decide, get, receive, try_receive};
use crate::rig::Rig;

fn impatient() -> Rig {
    Rig::with(ServerLimits {
        body_time: Duration::from_millis(300),
        header_time: Duration::from_millis(400),
        connections: 4,
        ..ServerLimits::default()
    })
}

fn begin(stream: &mut TcpStream, length: usize, part: &[u8]) {
    let head = format!(
        "POST /decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(part).unwrap();
}

fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Ok(0))
        || stream
            .read(&mut [0])
            .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
}

#[test]
fn a_body_that_stalls_is_a_408_and_the_connection_is_closed() {
    let rig = impatient();
    let mut stream = connect(rig.address);
    begin(&mut stream, 100, b"{\"state\"");
    let reply = receive(&mut stream);
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (408, &json!("request_timeout"))
    );
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(is_closed(&mut stream));
}

#[test]
fn a_body_that_is_cut_is_a_400() {
    let rig = Rig::start();
    let mut stream = connect(rig.address);
    begin(&mut stream, 100, b"{\"state\": \"s\"");
    stream.shutdown(Shutdown::Write).unwrap();
    // The other half is still open, so a client that only ended its sending can read why.
    if let Some(reply) = try_receive(&mut stream) {
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (400, &json!("bad_request"))
        );
    }
    assert!(is_closed(&mut stream));
    assert_eq!(get(rig.address, "/health").status, 200);
}

#[test]
fn a_head_that_stalls_frees_the_connection() {
    let rig = impatient();
    for part in [&b""[..], b"POST /dec", b"POST /decide HTTP/1.1\r\nhost: t\r\n"] {
        let mut stream = connect(rig.address);
        stream.write_all(part).unwrap();
        assert!(is_closed(&mut stream), "{part:?}");
    }
}

#[test]
fn stalled_connections_do_not_lock_others_out() {
    let rig = impatient();
    // As many as the server holds.
    let stalled: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = connect(rig.address);
            begin(&mut stream, 100, b"{");
            stream
        })
        .collect();
    assert_eq!(get(rig.address, "/health").status, 200);
    drop(stalled);
}

#[test]
fn idle_connections_make_room_where_all_are_taken() {
    let limits = ServerLimits {
        connections: 4,
        crowded_idle_time: Duration::from_millis(300),
        ..ServerLimits::default()
    };
    let rig = Rig::with(limits);
    // Never asked, asked a part of a head, asked and answered.
    let mut idle: Vec<_> = (0..4).map(|_| connect(rig.address)).collect();
    idle[1].write_all(b"POST /dec").unwrap();
    for stream in &mut idle[2..] {
        crate::client::send_on(stream, "GET", "/health", &[], b"");
        assert_eq!(receive(stream).status, 200);
    }
    let started = std::time::Instant::now();
    assert_eq!(get(rig.address, "/health").status, 200);
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    for mut stream in idle {
        assert!(is_closed(&mut stream));
    }
}

#[test]
fn a_running_request_keeps_its_connection_where_all_are_taken() {
    let (rig, gate) = Rig::gated(ServerLimits {
        connections: 1,
        crowded_idle_time: Duration::from_millis(50),
        ..ServerLimits::default()
    });
    let address = rig.address;
    let asked = std::thread::spawn(move || {
        decide(
            address,
            &json!({"state": "s", "question": "q", "options": ["a", "b"]}),
        )
    });
    assert_eq!(gate.next(), 1);
    // Longer than an idle connection would be kept.
    std::thread::sleep(Duration::from_millis(400));
    gate.open();
    assert_eq!(asked.join().unwrap().status, 200);
}

#[test]
fn idle_connections_are_kept_where_there_is_room() {
    let rig = Rig::with(ServerLimits {
        connections: 4,
        crowded_idle_time: Duration::from_millis(50),
        ..ServerLimits::default()
    });
    let mut stream = connect(rig.address);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        crate::client::send_on(&mut stream, "GET", "/health", &[], b"");
        assert_eq!(receive(&mut stream).status, 200);
    }
}

#[test]
fn rubbish_instead_of_http() {
    let rig = Rig::start();
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"hello\r\n\r\n",
        &[0; 300],
    ] {
        let mut stream = connect(rig.address);
        let _ = stream.write_all(rubbish);
        let _ = stream.shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&rest)
        );
    }
    let mut stream = connect(rig.address);
    let head = format!(
        "GET /health HTTP/1.1\r\nhost: t\r\nx-long: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    let _ = stream.write_all(head.as_bytes());
    if let Some(reply) = try_receive(&mut stream) {
        assert_eq!(reply.status, 431);
    }
    assert_eq!(get(rig.address, "/health").status, 200);
}

#[test]
fn connections_are_kept_for_several_requests() {
    let rig = Rig::start();
    let mut stream = connect(rig.address);
    for _ in 0..3 {
        crate::client::send_on(&mut stream, "GET", "/health", &[], b"");
        assert_eq!(receive(&mut stream).status, 200);
        // An error that is about the content keeps the connection as well.
        crate::client::send_on(&mut stream, "POST", "/decide", &[crate::client::JSON], b"{}");
        assert_eq!(receive(&mut stream).status, 422);
    }
}
