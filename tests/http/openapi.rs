//! The OpenAPI document: its examples are real requests, and real answers have its fields.

use serde_json::{Value, json};

use crate::client::{decide, get, post, system_one};
use crate::rig::Rig;

fn document(rig: &Rig) -> Value {
    let reply = get(rig.address, "/openapi.json");
    assert_eq!(reply.status, 200);
    reply.json()
}

/// Follows a reference into the document.
fn resolve<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolve(
            document,
            document
                .pointer(&reference[1..])
                .expect("a reference that exists"),
        ),
        None => schema,
    }
}

fn check_references(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("$ref") {
                resolve(document, value);
            }
            fields
                .values()
                .for_each(|field| check_references(document, field));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
        _ => {}
    }
}

#[test]
fn every_route_is_described() {
    let rig = Rig::start();
    let document = document(&rig);
    let mut routes: Vec<_> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    routes.sort_unstable();
    assert_eq!(
        routes,
        [
            "/",
            "/api/chat",
            "/api/generate",
            "/api/ps",
            "/api/show",
            "/api/tags",
            "/api/version",
            "/decide",
            "/health",
            "/metrics",
            "/openapi.json",
            "/playground/{file}",
            "/ready",
            "/v1/decisions",
            "/v1/messages",
            "/v1/messages/count_tokens",
            "/v1/models",
            "/v1/systemone"
        ]
    );
    check_references(&document, &document);
}

#[test]
fn its_examples_are_answered() {
    let rig = Rig::start();
    let document = document(&rig);
    let content = &document["paths"]["/decide"]["post"]["requestBody"]["content"]["application/json"];
    let examples = content["examples"].as_object().unwrap();
    assert_eq!(examples.len(), 3);
    for (name, example) in examples {
        let reply = decide(rig.address, &example["value"]);
        assert_eq!(reply.status, 200, "{name}: {}", reply.json());
    }
    let content = &document["paths"]["/v1/systemone"]["post"]["requestBody"]["content"]["application/json"];
    let reply = system_one(rig.address, &content["example"]);
    assert_eq!(reply.status, 200, "{}", reply.json());
    for path in [
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/api/chat",
        "/api/generate",
        "/api/show",
    ] {
        let content = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        let several = content["examples"].as_object().into_iter().flatten();
        let examples: Vec<_> = several
            .map(|(_, example)| &example["value"])
            .chain(content.get("example"))
            .collect();
        assert!(!examples.is_empty(), "{path}");
        for example in examples {
            let reply = post(rig.address, path, example.to_string().as_bytes());
            assert_eq!(reply.status, 200, "{path}: {}", reply.json());
        }
    }
}

#[test]
fn answers_have_exactly_the_described_fields() {
    let rig = Rig::start();
    let document = document(&rig);
    let described = |path: &str, method: &str| -> Vec<String> {
        let content =
            &document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"];
        resolve(&document, content)["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let reply = decide(
        rig.address,
        &json!({"state": "s", "question": "q", "options": ["a", "b"]}),
    );
    assert_eq!(fields(&reply.json()), described("/decide", "post"));
    let reply = system_one(
        rig.address,
        &json!({"state": "s", "questions": {"q": {"type": "noul", "instructions": "q"}}}),
    );
    assert_eq!(fields(&reply.json()), described("/v1/systemone", "post"));
    let request = json!({"model": "jev-latest", "max_tokens": 1, "messages": [{"role": "user", "content": "s"}],
        "output_format": {"type": "json_schema", "schema": {"type": "boolean", "description": "q"}}});
    let reply = post(rig.address, "/v1/messages", request.to_string().as_bytes());
    assert_eq!(fields(&reply.json()), described("/v1/messages", "post"));
    assert_eq!(
        fields(&get(rig.address, "/v1/models").json()),
        described("/v1/models", "get")
    );
}
