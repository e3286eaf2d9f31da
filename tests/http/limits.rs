//! Full queues, deadlines, clients that leave, and an engine that fails.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use assize::http::ServerLimits;
use serde_json::{Value, json};

use crate::client::{JSON, Reply, connect, decide, send_on, system_one};
use crate::rig::{Gate, Pass, Rig};

fn question(state: &str) -> Value {
    json!({"state": state, "question": "q", "options": ["a", "b"]})
}

fn ask(address: SocketAddr, body: Value) -> JoinHandle<Reply> {
    std::thread::spawn(move || decide(address, &body))
}

/// A server whose engine is busy with one request.
fn busy(limits: ServerLimits) -> (Rig, Gate, JoinHandle<Reply>) {
    let (rig, gate) = Rig::gated(limits);
    let first = ask(rig.address, question("first"));
    assert_eq!(gate.next(), 1);
    (rig, gate, first)
}

#[test]
fn a_full_queue_is_a_429_with_retry_after() {
    let (rig, gate, first) = busy(ServerLimits {
        queue_jobs: 2,
        ..ServerLimits::default()
    });
    let waiting = [
        ask(rig.address, question("second")),
        ask(rig.address, question("third")),
    ];
    rig.wait_for("assize_queue_jobs", 2.0);
    let refused = decide(rig.address, &question("fourth"));
    assert_eq!(
        (refused.status, &refused.error()["type"]),
        (429, &json!("queue_full"))
    );
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    assert!(refused.header("retry-after-ms").unwrap().parse::<u64>().unwrap() <= seconds * 1000);
    let refused = system_one(
        rig.address,
        &json!({"state": "s", "questions": {"q": {"type": "noul", "instructions": "q"}}}),
    );
    assert_eq!(
        (refused.status, &refused.json()["detail"]["error_type"]),
        (429, &json!("rate_limit_error"))
    );
    assert!(refused.header("retry-after").is_some());
    assert_eq!(rig.metric(r#"assize_rejected_total{reason="queue_full"}"#), 2.0);
    gate.open();
    assert_eq!(first.join().unwrap().status, 200);
    for reply in waiting {
        assert_eq!(reply.join().unwrap().status, 200);
    }
    assert_eq!(decide(rig.address, &question("fifth")).status, 200);
}

#[test]
fn the_queue_is_bounded_by_tokens_too() {
    let (rig, gate, first) = busy(ServerLimits {
        queue_tokens: 1,
        ..ServerLimits::default()
    });
    let second = ask(rig.address, question("second"));
    rig.wait_for("assize_queue_jobs", 1.0);
    assert!(rig.metric("assize_queue_tokens") > 0.0);
    assert_eq!(decide(rig.address, &question("third")).status, 429);
    gate.open();
    assert_eq!(first.join().unwrap().status, 200);
    assert_eq!(second.join().unwrap().status, 200);
}

#[test]
fn a_request_larger_than_the_engine_runs_is_a_413() {
    let rig = Rig::with(ServerLimits {
        request_tokens: 30,
        ..ServerLimits::default()
    });
    let reply = decide(
        rig.address,
        &question("one two three four five six seven eight nine ten"),
    );
    assert_eq!(reply.status, 413);
    assert!(
        reply.error()["message"].as_str().unwrap().contains("at most 30"),
        "{}",
        reply.error()
    );
}

#[test]
fn deadlines_pass_in_the_queue_and_while_running() {
    let (rig, gate, first) = busy(ServerLimits::default());
    let mut late = question("late");
    late["deadline_ms"] = json!(50);
    let reply = decide(rig.address, &late);
    assert_eq!(
        (reply.status, &reply.error()["type"]),
        (504, &json!("deadline_exceeded"))
    );
    assert_eq!(reply.error()["field"], "deadline_ms");
    assert!(
        reply.error()["message"]
            .as_str()
            .unwrap()
            .contains("the 50 ms passed")
    );
    assert_eq!(rig.metric("assize_queue_jobs"), 0.0);
    assert_eq!(rig.metric("assize_expired_total"), 1.0);
    gate.let_go(Pass::Run);
    assert_eq!(first.join().unwrap().status, 200);
    // The late request never ran; this one is in the engine when its time is over.
    let running = ask(rig.address, late);
    assert_eq!(gate.next(), 1);
    assert_eq!(running.join().unwrap().status, 504);
    gate.open();
    assert_eq!(decide(rig.address, &question("after")).status, 200);
}

#[test]
fn the_servers_own_deadline_holds_without_one_in_the_request() {
    let (rig, gate) = Rig::gated(ServerLimits {
        deadline: Duration::from_millis(80),
        ..ServerLimits::default()
    });
    let reply = ask(rig.address, question("first"));
    assert_eq!(gate.next(), 1);
    let late = reply.join().unwrap();
    assert_eq!(late.status, 504);
    assert!(late.error()["message"].as_str().unwrap().contains("--deadline"));
    gate.open();
}

#[test]
fn a_request_whose_client_left_never_runs() {
    let (rig, gate, first) = busy(ServerLimits::default());
    let mut stream = connect(rig.address);
    send_on(
        &mut stream,
        "POST",
        "/decide",
        &[JSON],
        question("gone").to_string().as_bytes(),
    );
    rig.wait_for("assize_queue_jobs", 1.0);
    drop(stream);
    rig.wait_for("assize_queue_jobs", 0.0);
    assert_eq!(rig.metric("assize_withdrawn_total"), 1.0);
    gate.let_go(Pass::Run);
    assert_eq!(first.join().unwrap().status, 200);
    assert!(
        !gate.starts_within(Duration::from_millis(100)),
        "the request of the client who left ran"
    );
}

#[test]
fn an_engine_failure_is_a_500_and_the_next_request_is_served() {
    let (rig, gate) = Rig::gated(ServerLimits::default());
    for (pass, cause) in [(Pass::Fail, "error"), (Pass::Panic, "panic")] {
        let reply = ask(rig.address, question("first"));
        gate.next();
        gate.let_go(pass);
        let reply = reply.join().unwrap();
        assert_eq!(
            (reply.status, &reply.error()["type"]),
            (500, &json!("internal_error"))
        );
        // Internals stay in the log.
        assert!(
            !reply.error()["message"]
                .as_str()
                .unwrap()
                .contains("as the test wants")
        );
        assert_eq!(
            rig.metric(&format!(r#"assize_batch_failures_total{{cause="{cause}"}}"#)),
            1.0
        );
        let reply = ask(rig.address, question("second"));
        gate.next();
        gate.let_go(Pass::Run);
        assert_eq!(reply.join().unwrap().status, 200);
    }
}

#[test]
fn a_batch_that_fails_is_run_again_one_by_one() {
    let (rig, gate, first) = busy(ServerLimits::default());
    let waiting: Vec<_> = (0..3)
        .map(|n| ask(rig.address, question(&format!("state {n}"))))
        .collect();
    rig.wait_for("assize_queue_jobs", 3.0);
    gate.let_go(Pass::Run);
    assert_eq!(gate.next(), 3);
    gate.let_go(Pass::Panic);
    for pass in [Pass::Run, Pass::Fail, Pass::Run] {
        assert_eq!(gate.next(), 1);
        gate.let_go(pass);
    }
    assert_eq!(first.join().unwrap().status, 200);
    let mut statuses: Vec<_> = waiting
        .into_iter()
        .map(|reply| reply.join().unwrap().status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 500]);
}
