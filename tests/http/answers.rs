//! What `/decide` answers.

use serde_json::{Value, json};

use crate::client::{decide, get, send, system_one};
use crate::rig::{Rig, service};

fn sum(answer: &Value) -> f64 {
    let probabilities = answer["probabilities"].as_array().unwrap();
    probabilities
        .iter()
        .map(|entry| entry["probability"].as_f64().unwrap())
        .sum()
}

#[test]
fn a_choice_in_the_callers_order() {
    let rig = Rig::start();
    let names = ["zeta ", "alpha", "e\u{301}", "é", "🙂\n- forged", "\u{0}nul"];
    let reply = decide(
        rig.address,
        &json!({"state": "It rains.", "question": "What?", "options": names}),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    let body = reply.json();
    assert_eq!(body["model"], "tiny_llama");
    assert_eq!(body["artifact"], service().artifact_id().as_str());
    assert_eq!(body["engine"]["precision"], "float32");
    assert!(body["engine"]["name"].is_string() && body["engine"]["kernels"].is_string());
    assert!(body.as_object().unwrap().contains_key("calibration") && body["calibration"].is_null());
    assert_eq!(body["truncated_tokens"], 0);
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() > 10);
    assert_eq!(body["usage"]["output_tokens"], 0);
    let answer = &body["answers"][0];
    assert_eq!(answer["type"], "choice");
    assert!(answer.get("id").is_none());
    let given: Vec<_> = answer["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["option"])
        .collect();
    assert_eq!(given, names);
    assert!((sum(answer) - 1.0).abs() < 1e-9);
    let index = answer["choice_index"].as_u64().unwrap() as usize;
    assert_eq!(answer["choice"], names[index]);
    let entries = answer["probabilities"].as_array().unwrap();
    let largest = entries
        .iter()
        .map(|entry| entry["probability"].as_f64().unwrap())
        .fold(0.0, f64::max);
    assert_eq!(entries[index]["probability"].as_f64().unwrap(), largest);
    let n = names.len() as f64;
    let confidence = (largest - 1.0 / n) / (1.0 - 1.0 / n);
    assert!((answer["confidence"].as_f64().unwrap() - confidence).abs() < 1e-12);
    // softmax of the raw scores gives the probabilities.
    let scores: Vec<f64> = entries
        .iter()
        .map(|entry| entry["raw_score"].as_f64().unwrap())
        .collect();
    let total: f64 = scores.iter().map(|score| score.exp()).sum();
    for (entry, score) in entries.iter().zip(scores) {
        assert!((entry["probability"].as_f64().unwrap() - score.exp() / total).abs() < 1e-6);
    }
}

#[test]
fn many_questions_in_order_with_ids() {
    let rig = Rig::start();
    let reply = decide(
        rig.address,
        &json!({"state": {"b": [1, null], "a": "x"}, "model": "assize-latest", "order_averages": 2, "questions": [
            {"id": "p", "type": "predicate", "question": "Is it?", "when_true": "so", "when_false": {"n": 0}},
            {"type": "score", "instructions": ["how"], "levels": ["low", {"mid": 1}, "high"]},
            {"id": "", "options": [{"name": "a", "description": "first"}, "b"]},
        ]}),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    let body = reply.json();
    let [predicate, score, choice] = body["answers"].as_array().unwrap().as_slice() else {
        panic!("{body}")
    };
    assert_eq!(
        (&predicate["type"], &predicate["id"]),
        (&json!("predicate"), &json!("p"))
    );
    let p = predicate["probability"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&p));
    assert!((predicate["confidence"].as_f64().unwrap() - (2.0 * p - 1.0).abs()).abs() < 1e-9);
    assert_eq!(predicate["raw_scores"].as_array().unwrap().len(), 2);
    let levels = score["probabilities"].as_array().unwrap();
    let expected: f64 = levels
        .iter()
        .enumerate()
        .map(|(level, entry)| level as f64 * entry["probability"].as_f64().unwrap())
        .sum();
    assert!((score["score"].as_f64().unwrap() - expected).abs() < 1e-9);
    assert_eq!(
        (&levels[1]["description"], &levels[1]["level"]),
        (&json!({"mid": 1}), &json!(1))
    );
    assert!((sum(score) - 1.0).abs() < 1e-9);
    assert_eq!((&choice["type"], &choice["id"]), (&json!("choice"), &json!("")));
}

#[test]
fn descriptions_of_options_matter() {
    let rig = Rig::start();
    let ask = |first: Value, second: Value| {
        let options = [
            json!({"name": "A", "description": first}),
            json!({"name": "B", "description": second}),
        ];
        let body = json!({"state": "It is broken.", "question": "What is this?", "options": options});
        decide(rig.address, &body).json()["answers"][0]["probabilities"].clone()
    };
    let (plain, complaint) = (
        ask(Value::Null, Value::Null),
        ask(json!("a complaint"), json!("praise")),
    );
    assert_ne!(plain, complaint);
    assert_ne!(complaint, ask(json!("praise"), json!("a complaint")));

    let ask = |first: Value, second: Value| {
        let question =
            json!({"type": "choice", "instructions": "What is this?", "criteria": {"A": first, "B": second}});
        let body = json!({"state": "It is broken.", "model": "jev-latest", "questions": {"q": question}});
        let reply = system_one(rig.address, &body);
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()["answers"].clone()
    };
    assert_ne!(
        ask(json!("a complaint"), json!("praise")),
        ask(json!("praise"), json!("a complaint"))
    );
}

#[test]
fn one_option_is_certain() {
    let rig = Rig::start();
    for question in [json!({"options": ["only"]}), json!({"levels": ["only"]})] {
        let mut body = json!({"state": "s", "question": "q"});
        body.as_object_mut()
            .unwrap()
            .extend(question.as_object().unwrap().clone());
        let answer = decide(rig.address, &body).json()["answers"][0].clone();
        assert_eq!(answer["probabilities"][0]["probability"], 1.0);
        assert_eq!(answer["confidence"], 1.0);
    }
}

#[test]
fn timings_and_ids_are_in_the_headers() {
    let rig = Rig::start();
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]}).to_string();
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-request-id", "mine-1"),
    ];
    let reply = send(rig.address, "POST", "/decide", &headers, body.as_bytes());
    assert_eq!(reply.header("x-request-id"), Some("mine-1"));
    let timing = reply.header("server-timing").unwrap();
    for stage in [
        "tokenise;dur=",
        "queue;dur=",
        "forward;dur=",
        "readout;dur=",
        "total;dur=",
    ] {
        assert!(timing.contains(stage), "{timing}");
    }
    let timings = reply.json()["timings_ms"].clone();
    let ms = |stage: &str| timings[stage].as_f64().unwrap();
    assert!(ms("forward") > 0.0 && ms("tokenise") > 0.0 && ms("readout") > 0.0);
    assert!(ms("total") >= ms("tokenise") + ms("queue") + ms("forward") + ms("readout") - 0.01);
    // An id with a space or of great length is replaced.
    let headers = [("content-type", "application/json"), ("x-request-id", "a b")];
    let reply = send(rig.address, "POST", "/decide", &headers, body.as_bytes());
    assert!(reply.header("x-request-id").unwrap().starts_with("req_"));
}

#[test]
fn truncation_is_chosen_and_counted() {
    let rig = Rig::start();
    let state = "word ".repeat(3 * service().context());
    let ask = |truncate: Value| {
        decide(
            rig.address,
            &json!({"state": state, "question": "q", "options": ["a", "b"], "truncate": truncate}),
        )
    };
    let refused = ask(json!("error"));
    assert_eq!(refused.status, 413);
    assert_eq!(refused.error()["type"], "state_too_long");
    assert_eq!(refused.error()["field"], "state");
    let context = service().context().to_string();
    assert!(
        refused.error()["message"].as_str().unwrap().contains(&context),
        "{}",
        refused.error()
    );
    for policy in ["start", "end", "middle"] {
        let reply = ask(json!(policy));
        assert_eq!(reply.status, 200, "{}", reply.json());
        assert!(reply.json()["truncated_tokens"].as_u64().unwrap() > 0);
    }
}

#[test]
fn another_question_does_not_change_what_a_cut_state_says() {
    let rig = Rig::start();
    let state: Vec<String> = (0..2 * service().context())
        .map(|word| format!("w{word}"))
        .collect();
    let short = json!({"question": "q", "options": ["a", "b"]});
    let other = json!({"question": "another one of about the same length", "options": ["c", "d"]});
    let long = json!({"question": "long ".repeat(service().context() / 4), "options": ["a", "b"]});
    let ask = |questions: &[&Value], policy: &str| {
        let reply = decide(
            rig.address,
            &json!({"state": state.join(" "), "questions": questions, "truncate": policy}),
        );
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()
    };
    let scores = |answer: &Value| -> Vec<f64> {
        let options = answer["probabilities"].as_array().unwrap();
        options
            .iter()
            .map(|option| option["raw_score"].as_f64().unwrap())
            .collect()
    };
    for policy in ["start", "end", "middle"] {
        let alone = [&short, &other, &long].map(|question| ask(&[question], policy));
        let together = ask(&[&short, &long, &other], policy);
        for (place, own) in [(0, 0), (1, 2), (2, 1)] {
            let (found, expected) = (
                scores(&together["answers"][place]),
                scores(&alone[own]["answers"][0]),
            );
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= 1e-5,
                    "{policy} {place}: {found} {expected}"
                );
            }
        }
        // The two short ones share their state.
        let tokens = |body: &Value| body["usage"]["input_tokens"].as_u64().unwrap();
        assert!(tokens(&together) < tokens(&alone[0]) + tokens(&alone[2]) + 200);
    }
}

#[test]
fn health_ready_and_metrics() {
    let rig = Rig::start();
    assert_eq!(get(rig.address, "/health").json(), json!({"status": "ok"}));
    assert_eq!(get(rig.address, "/ready").json(), json!({"status": "ready"}));
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]});
    let tokens = decide(rig.address, &body).json()["usage"]["input_tokens"]
        .as_f64()
        .unwrap();
    decide(rig.address, &json!({"state": "s"}));
    get(rig.address, "/missing");
    for (name, value) in [
        ("assize_tokens_total", tokens),
        ("assize_questions_total", 1.0),
        ("assize_batch_jobs_count", 1.0),
        ("assize_batch_rows_sum", tokens),
        ("assize_queue_jobs", 0.0),
        (r#"assize_stage_seconds_count{stage="forward"}"#, 1.0),
        (r#"assize_requests_total{route="/decide",status="200"}"#, 1.0),
        (r#"assize_requests_total{route="/decide",status="422"}"#, 1.0),
        (r#"assize_requests_total{route="other",status="404"}"#, 1.0),
        (r#"assize_rejected_total{reason="invalid_request"}"#, 1.0),
    ] {
        assert_eq!(rig.metric(name), value, "{name}");
    }
    let reply = get(rig.address, "/metrics");
    assert!(
        reply
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
}

#[test]
fn equal_requests_are_computed_again() {
    let rig = Rig::start();
    let body = json!({"state": "s", "question": "q", "options": ["a", "b"]});
    let first = decide(rig.address, &body).json();
    let second = decide(rig.address, &body).json();
    assert_eq!(first["answers"], second["answers"]);
    assert_eq!(rig.metric("assize_batch_jobs_count"), 2.0);
}
