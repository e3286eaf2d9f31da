//! The System One protocol and the list of models.

use serde_json::{Value, json};

use crate::client::{get, post, send, system_one};
use crate::rig::{Rig, service};

fn check_error(body: &Value) {
    assert!(
        body["error"]["message"].is_string() && body["error"]["type"].is_string(),
        "{body}"
    );
    assert!(
        body["error"].get("param").is_some() && body["error"]["code"].is_string(),
        "{body}"
    );
}

#[test]
fn all_three_types() {
    let rig = Rig::start();
    let reply = system_one(
        rig.address,
        &json!({"state": "The tea was cold.", "model": "jev-latest", "x_trace_id": 7, "seed": 1, "questions": {
            "🙂 with space": {"type": "noul", "criteria": {"true": null, "false": "it was warm"}},
            "한글": {"type": "choice", "instructions": {"ask": "what"}, "criteria": {"차": null, "e\u{301}": ["x"], "é": {}}},
            "": {"type": "score", "criteria": ["low", {"mid": [1]}, "high"], "instructions": null},
        }}),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(
        reply.header("x-typesafe-request-id"),
        reply.header("x-request-id")
    );
    let body = reply.json();
    assert_eq!(body["model"], "tiny_llama");
    assert_eq!(body["x_artifact"], service().artifact_id().as_str());
    assert!(
        body.as_object()
            .unwrap()
            .keys()
            .all(|key| { ["model", "answers", "usage"].contains(&key.as_str()) || key.starts_with("x_") })
    );
    let answers = body["answers"].as_object().unwrap();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["🙂 with space", "한글", ""]);
    let noul = answers["🙂 with space"].as_object().unwrap();
    assert_eq!(noul.keys().collect::<Vec<_>>(), ["type", "noul"]);
    let choice = &answers["한글"];
    assert_eq!(
        choice["probabilities"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["차", "e\u{301}", "é"]
    );
    assert!(
        choice["probabilities"]
            .get(choice["choice"].as_str().unwrap())
            .is_some()
    );
    let score = &answers[""];
    assert_eq!(
        score["legend"],
        json!({"0": "low", "1": {"mid": [1]}, "2": "high"})
    );
    let expected: f64 = (0..3)
        .map(|level| level as f64 * score["probabilities"][level.to_string()].as_f64().unwrap())
        .sum();
    assert!((score["score"].as_f64().unwrap() - expected).abs() < 1e-9);
    assert_eq!(body["usage"]["output_tokens"], 0);
}

#[test]
fn model_names() {
    let rig = Rig::start();
    let ask = |model: Value| {
        let mut body = json!({"state": "s", "questions": {"q": {"type": "noul", "instructions": "q"}}});
        if model != json!("missing") {
            body["model"] = model;
        }
        system_one(rig.address, &body)
    };
    for name in [
        json!("jev-latest"),
        json!("assize-latest"),
        json!("tiny_llama"),
        json!(null),
        json!("missing"),
    ] {
        assert_eq!(ask(name.clone()).status, 200, "{name}");
    }
    let unknown = ask(json!("gpt-9"));
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["detail"]["error_type"], "api_usage_error");
    assert!(
        unknown.json()["detail"]["message"]
            .as_str()
            .unwrap()
            .contains("gpt-9")
    );
    check_error(&unknown.json());
    assert_eq!(ask(json!(3)).status, 422);
}

#[test]
fn mistakes_are_lists_of_places() {
    let rig = Rig::start();
    let ask = |question: Value| {
        system_one(
            rig.address,
            &json!({"state": "s", "questions": {"id 1": question}}),
        )
    };
    for (question, loc, says) in [
        (
            json!({"type": "choice", "criteria": {}}),
            json!(["body", "questions", "id 1", "choice", "criteria"]),
            "empty",
        ),
        (
            json!({"type": "choice"}),
            json!(["body", "questions", "id 1", "choice", "criteria"]),
            "missing",
        ),
        (
            json!({"type": "boolean"}),
            json!(["body", "questions", "id 1", "type"]),
            "noul, choice or score",
        ),
        (
            json!({"type": "box"}),
            json!(["body", "questions", "id 1", "type"]),
            "image",
        ),
        (
            json!({}),
            json!(["body", "questions", "id 1", "type"]),
            "required",
        ),
        (
            json!({"type": "score", "criteria": {"0": "x"}}),
            json!(["body", "questions", "id 1", "score", "criteria"]),
            "array",
        ),
        (
            json!({"type": "score", "criteria": ["x", null]}),
            json!(["body", "questions", "id 1", "score", "criteria", 1]),
            "null",
        ),
        (
            json!({"type": "score", "criteria": ["x", ""]}),
            json!(["body", "questions", "id 1", "score", "criteria", 1]),
            "empty",
        ),
        (
            json!({"type": "choice", "criteria": {"": null}}),
            json!(["body", "questions", "id 1", "choice", "criteria", ""]),
            "empty",
        ),
        (
            json!({"type": "noul"}),
            json!(["body", "questions", "id 1", "noul"]),
            "instructions",
        ),
        (
            json!({"type": "noul", "instructions": 3}),
            json!(["body", "questions", "id 1", "noul", "instructions"]),
            "integer",
        ),
        (
            json!({"type": "noul", "instruction": "misspelt"}),
            json!(["body", "questions", "id 1", "noul", "instruction"]),
            "expected `instructions` or `criteria`",
        ),
    ] {
        let reply = ask(question.clone());
        assert_eq!(reply.status, 422, "{question}: {}", reply.json());
        let detail = reply.json()["detail"][0].clone();
        assert_eq!(detail["loc"], loc, "{question}");
        assert!(detail["msg"].as_str().unwrap().contains(says), "{detail}");
        assert!(detail["type"].is_string());
        check_error(&reply.json());
    }
    for body in [
        r#"{"state""#,
        r#"[]"#,
        r#"{}"#,
        r#"{"state":null,"questions":{"q":{"type":"noul","instructions":"x"}}}"#,
        r#"{"state":"s","questions":{}}"#,
        r#"{"state":"s","state":"s","questions":{}}"#,
        "\u{0}",
        "",
    ] {
        let reply = post(rig.address, "/v1/systemone", body.as_bytes());
        assert_eq!(reply.status, 422, "{body}");
        assert_eq!(reply.json()["detail"][0]["loc"][0], "body");
        check_error(&reply.json());
    }
}

#[test]
fn errors_of_the_transport_have_the_combined_body() {
    let rig = Rig::start();
    for (method, path, headers, status) in [
        ("GET", "/v1/missing", vec![], 404),
        ("GET", "/v1/systemone", vec![], 405),
        (
            "POST",
            "/v1/systemone",
            vec![("content-type", "multipart/form-data; boundary=x")],
            415,
        ),
        (
            "POST",
            "/v1/systemone",
            vec![("content-type", "application/json"), ("content-encoding", "gzip")],
            415,
        ),
    ] {
        let reply = send(rig.address, method, path, &headers, b"{}");
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert!(
            reply.json()["detail"]["error_type"].is_string() && reply.json()["detail"]["message"].is_string()
        );
        check_error(&reply.json());
        assert!(reply.header("x-typesafe-request-id").is_some());
    }
}

#[test]
fn images_are_refused_and_not_ignored() {
    let rig = Rig::start();
    let reply = system_one(
        rig.address,
        &json!({"state": "pic", "questions": {"q": {"type": "noul", "instructions": "q"}},
            "assets": {"pic": {"type": "image", "format": "png", "data_base64": "AA=="}}}),
    );
    assert_eq!(reply.status, 422);
    assert_eq!(reply.json()["detail"][0]["loc"], json!(["body", "assets"]));
}

#[test]
fn one_list_of_models_for_both_clients() {
    let rig = Rig::start();
    let reply = get(rig.address, "/v1/models");
    assert_eq!(reply.status, 200);
    let body = reply.json();
    assert_eq!(body["object"], "list");
    let listed = &body["data"][0];
    assert_eq!(
        (&listed["id"], &listed["object"]),
        (&json!("tiny_llama"), &json!("model"))
    );
    assert!(listed["created"].is_i64() && listed["owned_by"].is_string());
    let model = &body["models"][0];
    assert_eq!(model["name"], "tiny_llama");
    assert!(model["description"].is_string());
    assert_eq!(model["release_date"].as_str().unwrap().len(), 10);
    assert_eq!(model["x_artifact"], service().artifact_id().as_str());
    assert_eq!(model["x_engine"]["precision"], "float32");
}
