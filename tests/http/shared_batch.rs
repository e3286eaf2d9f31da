//! An answer does not depend on what shared its batch.

use assize::http::ServerLimits;
use serde_json::{Value, json};

use crate::client::decide;
use crate::rig::Rig;

/// Requests of different lengths and shapes.
fn request(n: usize) -> Value {
    let state = format!("client {n} says: {}", "the tea was cold and late ".repeat(n % 7));
    match n % 3 {
        0 => json!({"state": state, "question": "What?", "options": ["tea", "time", format!("number {n}")]}),
        1 => json!({"state": state, "question": "Is it so?", "type": "predicate", "order_averages": 2}),
        _ => json!({"state": state, "questions": [
            {"question": "How much?", "levels": ["none", "some", "all"]},
            {"question": "Which?", "options": ["left", "right"]},
        ]}),
    }
}

/// Every number of the answers.
fn numbers(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Number(number) => into.push(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().for_each(|item| numbers(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| numbers(field, into)),
        _ => {}
    }
}

#[test]
fn sixty_four_clients_get_what_each_gets_alone() {
    const CLIENTS: usize = 64;
    let alone = Rig::start();
    let expected: Vec<Value> = (0..CLIENTS)
        .map(|n| decide(alone.address, &request(n)).json()["answers"].clone())
        .collect();

    let (rig, gate) = Rig::gated(ServerLimits {
        batch_tokens: 1_000,
        ..ServerLimits::default()
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let address = rig.address;
            std::thread::spawn(move || decide(address, &request(n)))
        })
        .collect();
    // The first pass is held until all others wait, so that they must share batches.
    let first = gate.next();
    rig.wait_for("assize_queue_jobs", (CLIENTS - first) as f64);
    gate.open();
    let mut largest: f64 = 0.0;
    for (expected, client) in expected.iter().zip(clients) {
        let reply = client.join().unwrap();
        assert_eq!(reply.status, 200);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        numbers(expected, &mut left);
        numbers(&reply.json()["answers"], &mut right);
        assert_eq!(left.len(), right.len());
        for (a, b) in left.iter().zip(&right) {
            largest = largest.max((a - b).abs());
        }
    }
    assert!(largest <= 1e-5, "{largest}");
    let batches = rig.metric("assize_batch_jobs_count");
    assert!(
        batches < CLIENTS as f64 / 2.0,
        "{batches} batches for {CLIENTS} requests: nothing was shared"
    );
    assert_eq!(rig.metric("assize_batch_jobs_sum"), CLIENTS as f64);
}

#[test]
fn questions_of_one_request_do_not_meet() {
    let rig = Rig::start();
    let questions = [
        json!({"question": "Which?", "options": ["left", "right"]}),
        json!({"question": "How much?", "levels": ["none", "some", "all"]}),
        json!({"question": "Is it so?", "type": "predicate"}),
    ];
    let together = decide(
        rig.address,
        &json!({"state": "The tea was cold.", "questions": questions}),
    )
    .json();
    for (n, question) in questions.iter().enumerate() {
        let alone = decide(
            rig.address,
            &json!({"state": "The tea was cold.", "questions": [question]}),
        )
        .json();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        numbers(&alone["answers"][0], &mut left);
        numbers(&together["answers"][n], &mut right);
        for (a, b) in left.iter().zip(&right) {
            assert!((a - b).abs() <= 1e-5, "{a} {b}");
        }
    }
}
