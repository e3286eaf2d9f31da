//! Ollama's API.

use serde_json::{Value, json};

use crate::client::{Reply, decide, get, post, send, system_one};
use crate::rig::{Rig, service};

const MAIL: &str = "You won! Click here to claim your prize.";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "spam": {"type": "boolean", "description": "Is it spam?"},
            "topic": {"enum": ["prize", "meeting", "bill"], "description": "What is it about?"},
            "urgency": {"type": "integer", "minimum": 2, "maximum": 4, "description": "How urgent is it?"}
        },
        "required": ["spam", "topic", "urgency"]
    })
}

/// The probabilities that `/decide` gives to the questions of [`schema`], each after `system`.
fn decided(rig: &Rig, state: &str, system: &str) -> Vec<f64> {
    let reply = decide(
        rig.address,
        &json!({"state": state, "questions": [
            {"type": "predicate", "question": format!("{system}Is it spam?")},
            {"question": format!("{system}What is it about?"), "options": ["prize", "meeting", "bill"]},
            {"question": format!("{system}How urgent is it?"), "options": ["2", "3", "4"]}
        ]}),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    let body = reply.json();
    let mut all = Vec::new();
    for answer in body["answers"].as_array().unwrap() {
        if let Some(p) = answer["probability"].as_f64() {
            all.extend([1.0 - p, p]);
        } else {
            let entries = answer["probabilities"].as_array().unwrap();
            all.extend(entries.iter().map(|entry| entry["probability"].as_f64().unwrap()));
        }
    }
    all
}

fn given(body: &Value) -> Vec<f64> {
    let fields = body["x_assize"]["fields"].as_array().unwrap();
    fields
        .iter()
        .flat_map(|field| field["probabilities"].as_array().unwrap())
        .map(|entry| entry["probability"].as_f64().unwrap())
        .collect()
}

fn same(one: &[f64], other: &[f64]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert!((one - other).abs() < 1e-12, "{one} {other}");
    }
}

fn chat(rig: &Rig, fields: Value) -> Reply {
    with(
        rig,
        "/api/chat",
        json!({"messages": [{"role": "user", "content": MAIL}]}),
        fields,
    )
}

fn generate(rig: &Rig, fields: Value) -> Reply {
    with(rig, "/api/generate", json!({"prompt": MAIL}), fields)
}

fn with(rig: &Rig, path: &str, mut request: Value, fields: Value) -> Reply {
    request["model"] = json!("tiny_llama:latest");
    request["format"] = schema();
    request["stream"] = json!(false);
    for (key, value) in fields.as_object().unwrap() {
        match value {
            Value::Null => _ = request.as_object_mut().unwrap().remove(key),
            value => request[key] = value.clone(),
        }
    }
    post(rig.address, path, request.to_string().as_bytes())
}

fn answered(reply: Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    reply.json()
}

fn lines(reply: Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    let text = String::from_utf8(reply.body).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn check_end(body: &Value) {
    assert_eq!(
        (&body["done"], &body["done_reason"]),
        (&json!(true), &json!("stop"))
    );
    assert!(body["prompt_eval_count"].as_u64().unwrap() > 10);
    assert_eq!(
        (
            &body["eval_count"],
            &body["eval_duration"],
            &body["load_duration"]
        ),
        (&json!(0), &json!(0), &json!(0))
    );
    let duration = |name: &str| body[name].as_u64().unwrap();
    assert!(duration("total_duration") > duration("prompt_eval_duration"));
    assert!(duration("prompt_eval_duration") > 1_000);
}

#[test]
fn a_schema_has_the_probabilities_of_decide() {
    let rig = Rig::start();
    for (body, text) in [
        (answered(chat(&rig, json!({}))), "/message/content"),
        (answered(generate(&rig, json!({}))), "/response"),
    ] {
        assert_eq!(body["model"], "tiny_llama");
        check_end(&body);
        let created = body["created_at"].as_str().unwrap();
        assert!(
            created.starts_with("20") && created.ends_with('Z') && created.contains('T'),
            "{created}"
        );
        let value: Value = serde_json::from_str(body.pointer(text).unwrap().as_str().unwrap()).unwrap();
        let value = value.as_object().unwrap();
        assert_eq!(value.keys().collect::<Vec<_>>(), ["spam", "topic", "urgency"]);
        assert!(value["spam"].is_boolean() && value["topic"].is_string() && value["urgency"].is_i64());
        same(&given(&body), &decided(&rig, MAIL, ""));
    }
    assert_eq!(answered(chat(&rig, json!({})))["message"]["role"], "assistant");
}

#[test]
fn system_text_stands_before_each_question() {
    let rig = Rig::start();
    let expected = decided(&rig, MAIL, "Be strict.\n\n");
    let body = answered(generate(&rig, json!({"system": "Be strict."})));
    same(&given(&body), &expected);
    let messages = json!([{"role": "system", "content": "Be strict."}, {"role": "user", "content": MAIL}]);
    let body = answered(chat(&rig, json!({"messages": messages})));
    same(&given(&body), &expected);
}

#[test]
fn a_conversation_is_the_state() {
    let rig = Rig::start();
    let messages = json!([
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}]},
        {"role": "tool", "tool_name": "look", "content": "red"}
    ]);
    let body = answered(chat(&rig, json!({"messages": messages})));
    let state = "User: one\n\nUser: two\n\nAssistant: calls look({\"at\":1})\n\nTool: red";
    same(&given(&body), &decided(&rig, state, ""));
}

#[test]
fn unless_told_otherwise_an_answer_comes_in_lines() {
    let rig = Rig::start();
    let whole = answered(chat(&rig, json!({})));
    for stream in [json!(null), json!(true)] {
        let lines = lines(chat(&rig, json!({"stream": stream, "logprobs": true})));
        let [first, last] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert_eq!(
            (&first["done"], &first["message"]),
            (&json!(false), &whole["message"])
        );
        assert!(first.get("done_reason").is_none() && first["logprobs"].is_array());
        assert_eq!(last["message"], json!({"role": "assistant", "content": ""}));
        assert!(last.get("logprobs").is_none());
        check_end(last);
        assert_eq!(last["x_assize"], whole["x_assize"]);
    }
    let lines = lines(generate(&rig, json!({"stream": null})));
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["response"], whole["message"]["content"]);
    assert_eq!(lines[1]["response"], "");
}

#[test]
fn logprobs_hold_the_probabilities() {
    let rig = Rig::start();
    let body = answered(chat(&rig, json!({"logprobs": true, "top_logprobs": 2})));
    let value: Value = serde_json::from_str(body["message"]["content"].as_str().unwrap()).unwrap();
    let fields = body["x_assize"]["fields"].as_array().unwrap();
    let entries = body["logprobs"].as_array().unwrap();
    assert_eq!(entries.len(), 3);
    for ((entry, field), value) in entries
        .iter()
        .zip(fields)
        .zip(value.as_object().unwrap().values())
    {
        assert_eq!(entry["token"], value.to_string());
        assert_eq!(entry["bytes"], json!(value.to_string().into_bytes()));
        let best = field["probabilities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["probability"].as_f64().unwrap())
            .fold(0.0, f64::max);
        assert!((entry["logprob"].as_f64().unwrap().exp() - best).abs() < 1e-9);
        let top = entry["top_logprobs"].as_array().unwrap();
        assert_eq!(top.len(), 2);
        assert_eq!(top[0]["token"], entry["token"]);
        assert!(top[0]["logprob"].as_f64() >= top[1]["logprob"].as_f64());
    }
    let body = answered(chat(&rig, json!({"logprobs": true})));
    assert!(body["logprobs"][0].get("top_logprobs").is_none());
    assert!(answered(chat(&rig, json!({}))).get("logprobs").is_none());
}

#[test]
fn what_is_not_answered_is_refused_with_its_field() {
    let rig = Rig::start();
    let picture = |data: &str| json!([{"role": "user", "content": "?", "images": [data]}]);
    for (fields, status, says) in [
        (json!({"format": null}), 400, vec!["format", "missing", "schema"]),
        (json!({"format": ""}), 400, vec!["format", "empty", "schema"]),
        (json!({"format": "json"}), 400, vec!["format", "json", "closed"]),
        (json!({"format": 3}), 400, vec!["format", "schema"]),
        (
            json!({"format": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}),
            400,
            vec!["format", "text", "enum"],
        ),
        (json!({"tools": [{}]}), 400, vec!["tools", "tool_choice"]),
        (
            json!({"format": null, "tools": [{}]}),
            400,
            vec!["tools", "tool_choice"],
        ),
        (json!({"top_logprobs": 257}), 400, vec!["top_logprobs", "256"]),
        (json!({"options": 3}), 400, vec!["options"]),
        (json!({"keep_alive": [5]}), 400, vec!["keep_alive", "seconds"]),
        (json!({"think": {}}), 400, vec!["think", "boolean"]),
        (json!({"model": null}), 400, vec!["model", "missing"]),
        (json!({"model": "absent"}), 404, vec!["model", "absent"]),
        (
            json!({"model": "tiny_llama:7b"}),
            404,
            vec!["model", "tiny_llama:7b"],
        ),
        (
            json!({"messages": [{"role": "robot", "content": ""}]}),
            400,
            vec!["messages[0].role", "robot"],
        ),
        (
            json!({"messages": picture("*")}),
            400,
            vec!["messages[0].images[0]", "base64"],
        ),
        // The model reads text only.
        (
            json!({"messages": picture("AAAA")}),
            415,
            vec!["messages[0].images[0]"],
        ),
        (
            json!({"messages": [{"role": "system", "content": "", "images": ["AAAA"]}]}),
            400,
            vec!["messages[0].images", "user"],
        ),
        (
            json!({"messages": [{"role": "user", "content": "word ".repeat(20_000)}]}),
            413,
            vec!["messages"],
        ),
    ] {
        for stream in [false, true] {
            let mut fields = fields.clone();
            fields["stream"] = json!(stream);
            refused(chat(&rig, fields.clone()), status, &says, &fields);
        }
    }
    for (fields, status, says) in [
        (json!({"suffix": "x"}), 400, vec!["suffix", "leave it out"]),
        (json!({"template": "x"}), 400, vec!["template", "leave it out"]),
        (json!({"context": [1]}), 400, vec!["context", "/api/chat"]),
        (json!({"raw": true}), 400, vec!["raw", "leave it out"]),
        (json!({"format": null}), 400, vec!["format", "schema"]),
        (json!({"images": ["AAAA"]}), 415, vec!["images[0]"]),
        (json!({"prompt": "word ".repeat(20_000)}), 413, vec!["prompt"]),
    ] {
        refused(generate(&rig, fields.clone()), status, &says, &fields);
    }
}

fn refused(reply: Reply, status: u16, says: &[&str], fields: &Value) {
    let body = reply.json();
    assert_eq!(reply.status, status, "{fields}: {body}");
    assert_eq!(body.as_object().unwrap().len(), 1);
    let message = body["error"].as_str().unwrap();
    for text in says {
        assert!(message.contains(text), "{fields}: {message}");
    }
}

#[test]
fn what_changes_nothing_is_accepted() {
    let rig = Rig::start();
    let dressed = json!({
        "options": {"temperature": 0.7, "seed": 1, "num_ctx": 4096, "stop": ["x"]}, "keep_alive": "5m", "think": false,
        "tools": [], "some_future_field": 1
    });
    let plain = answered(chat(&rig, json!({})));
    same(&given(&answered(chat(&rig, dressed.clone()))), &given(&plain));
    let mut dressed = dressed;
    for (field, value) in [
        ("suffix", json!("")),
        ("template", json!("")),
        ("context", json!([])),
        ("raw", json!(false)),
    ] {
        dressed[field] = value;
    }
    same(&given(&answered(generate(&rig, dressed))), &given(&plain));
}

#[test]
fn nothing_to_judge_asks_whether_the_model_is_loaded() {
    let rig = Rig::start();
    for fields in [json!({"messages": []}), json!({"messages": null, "format": null})] {
        let body = answered(chat(&rig, fields));
        assert_eq!(
            (&body["done"], &body["done_reason"]),
            (&json!(true), &json!("load"))
        );
        assert_eq!(body["message"], json!({"role": "assistant", "content": ""}));
    }
    let body = answered(generate(&rig, json!({"prompt": "", "keep_alive": 0})));
    assert_eq!(
        (&body["done_reason"], &body["response"]),
        (&json!("load"), &json!(""))
    );
    let lines = lines(generate(
        &rig,
        json!({"prompt": null, "format": null, "stream": null}),
    ));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["done"], true);
    refused(
        generate(&rig, json!({"prompt": "", "model": "absent"})),
        404,
        &["absent"],
        &json!({}),
    );
}

#[test]
fn the_model_is_listed_and_shown() {
    let rig = Rig::start();
    let tags = get(rig.address, "/api/tags").json();
    let [listed] = tags["models"].as_array().unwrap().as_slice() else {
        panic!("{tags}")
    };
    assert_eq!(
        (&listed["name"], &listed["model"]),
        (&json!("tiny_llama:latest"), &json!("tiny_llama:latest"))
    );
    assert_eq!(listed["digest"], json!(service().artifact().weights));
    assert!(listed["size"].as_u64().unwrap() > 1_000);
    assert_eq!(listed["details"]["family"], "llama");
    assert!(listed["modified_at"].as_str().unwrap().ends_with("T00:00:00Z"));
    for named in ["model", "name"] {
        let reply = post(
            rig.address,
            "/api/show",
            json!({named: listed["name"]}).to_string().as_bytes(),
        );
        assert_eq!(reply.status, 200, "{}", reply.json());
        let shown = reply.json();
        assert_eq!(shown["details"], listed["details"]);
        assert_eq!(shown["capabilities"], json!(["completion"]));
        assert_eq!(shown["model_info"]["general.architecture"], "llama");
        assert_eq!(
            shown["model_info"]["llama.context_length"],
            json!(service().context())
        );
    }
    let running = get(rig.address, "/api/ps").json();
    assert_eq!(running["models"][0]["digest"], listed["digest"]);
    assert_eq!(running["models"][0]["context_length"], json!(service().context()));
    assert!(
        get(rig.address, "/api/version").json()["version"]
            .as_str()
            .unwrap()
            .split('.')
            .count()
            == 3
    );
    refused(
        post(rig.address, "/api/show", b"{\"model\":\"absent\"}"),
        404,
        &["absent"],
        &json!({}),
    );
    refused(
        post(rig.address, "/api/show", b"{}"),
        400,
        &["model", "missing"],
        &json!({}),
    );
}

#[test]
fn names_with_a_tag_are_served_everywhere() {
    let rig = Rig::start();
    for name in [
        "tiny_llama",
        "tiny_llama:latest",
        "jev-latest",
        "jev-latest:latest",
    ] {
        assert_eq!(chat(&rig, json!({"model": name})).status, 200, "{name}");
        let questions = json!({"q": {"type": "noul", "instructions": "q"}});
        let reply = system_one(
            rig.address,
            &json!({"model": name, "state": "s", "questions": questions, "keep_alive": "5m"}),
        );
        assert_eq!(reply.status, 200, "{name}");
    }
}

#[test]
fn other_routes_say_what_is_not_done() {
    let rig = Rig::start();
    for (method, path) in [
        ("POST", "/api/pull"),
        ("POST", "/api/create"),
        ("POST", "/api/embed"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/blobs/sha256:0"),
    ] {
        let reply = send(rig.address, method, path, &[], b"");
        assert_eq!(reply.status, 404, "{path}");
        let message = reply.json()["error"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with(path) && message.contains("not done here"),
            "{message}"
        );
    }
    assert_eq!(send(rig.address, "GET", "/api/chat", &[], b"").status, 405);
}
