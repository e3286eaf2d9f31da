//! Anthropic's Messages API.

use serde_json::{Value, json};

use crate::client::{Reply, decide, post, send};
use crate::rig::Rig;

const MAIL: &str = "You won! Click here to claim your prize.";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "spam": {"type": "boolean", "description": "Is it spam?"},
            "topic": {"enum": ["prize", "meeting", "bill"], "description": "What is it about?"},
            "urgency": {"type": "integer", "minimum": 2, "maximum": 4, "description": "How urgent is it?"}
        },
        "required": ["spam", "topic", "urgency"],
        "additionalProperties": false
    })
}

/// The questions of [`schema`], as `/decide` asks them, each after `system`.
fn questions(system: &str) -> Value {
    json!([
        {"type": "predicate", "question": format!("{system}Is it spam?")},
        {"question": format!("{system}What is it about?"), "options": ["prize", "meeting", "bill"]},
        {"question": format!("{system}How urgent is it?"), "options": ["2", "3", "4"]}
    ])
}

fn triage() -> Value {
    json!({"name": "triage", "description": "Sorts a mail", "input_schema": schema()})
}

fn reply() -> Value {
    json!({"name": "reply", "input_schema": {
        "type": "object", "properties": {"tone": {"enum": ["warm", "cold"]}}, "required": ["tone"]
    }})
}

/// A request for a call of `triage`, with `fields` in place of its own.
fn asking(fields: Value) -> Value {
    let mut request = json!({
        "model": "jev-latest",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": MAIL}],
        "tools": [triage()],
        "tool_choice": {"type": "tool", "name": "triage"}
    });
    for (key, value) in fields.as_object().unwrap() {
        match value {
            Value::Null => _ = request.as_object_mut().unwrap().remove(key),
            value => request[key] = value.clone(),
        }
    }
    request
}

fn ask(rig: &Rig, fields: Value) -> Reply {
    post(rig.address, "/v1/messages", asking(fields).to_string().as_bytes())
}

fn answered(rig: &Rig, fields: Value) -> Value {
    let reply = ask(rig, fields);
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(reply.header("request-id"), reply.header("x-request-id"));
    assert!(reply.header("server-timing").is_some());
    reply.json()
}

/// The probabilities of every question, false before true.
fn decided(rig: &Rig, state: Value, questions: Value) -> Vec<Vec<f64>> {
    let reply = decide(rig.address, &json!({"state": state, "questions": questions}));
    assert_eq!(reply.status, 200, "{}", reply.json());
    let body = reply.json();
    let answers = body["answers"].as_array().unwrap();
    answers
        .iter()
        .map(|answer| match answer["probability"].as_f64() {
            Some(p) => vec![1.0 - p, p],
            None => answer["probabilities"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["probability"].as_f64().unwrap())
                .collect(),
        })
        .collect()
}

/// The probabilities of a field.
fn listed(field: &Value) -> Vec<f64> {
    let entries = field["probabilities"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry["probability"].as_f64().unwrap())
        .collect()
}

/// The probabilities of every field.
fn given(body: &Value) -> Vec<Vec<f64>> {
    let fields = body["x_assize"]["fields"].as_array().unwrap();
    fields.iter().map(listed).collect()
}

fn same(one: &[Vec<f64>], other: &[Vec<f64>]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        assert!((one - other).abs() < 1e-12, "{one} {other}");
    }
}

#[test]
fn a_named_tool_has_the_probabilities_of_decide() {
    let rig = Rig::start();
    let body = answered(&rig, json!({}));
    assert_eq!(body["type"], "message");
    assert_eq!(body["role"], "assistant");
    assert_eq!(body["model"], "tiny_llama");
    assert_eq!(body["stop_reason"], "tool_use");
    assert!(body.as_object().unwrap().contains_key("stop_sequence") && body["stop_sequence"].is_null());
    assert!(body["id"].as_str().unwrap().starts_with("msg_"));
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() > 10);
    assert_eq!(body["usage"]["output_tokens"], 0);
    assert_eq!(body["content"].as_array().unwrap().len(), 1);
    let call = &body["content"][0];
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("tool_use"), &json!("triage"))
    );
    assert!(call["id"].as_str().unwrap().starts_with("toolu_"));
    let input = call["input"].as_object().unwrap();
    assert_eq!(input.keys().collect::<Vec<_>>(), ["spam", "topic", "urgency"]);
    assert!(input["spam"].is_boolean() && input["topic"].is_string() && input["urgency"].is_i64());
    let decided = decided(&rig, json!(MAIL), questions(""));
    same(&given(&body), &decided);
    assert_eq!(input["spam"], json!(decided[0][1] > 0.5));
}

#[test]
fn system_text_stands_before_each_question() {
    let rig = Rig::start();
    for system in [
        json!("Be strict."),
        json!([{"type": "text", "text": "Be strict.", "cache_control": {"type": "ephemeral"}}]),
    ] {
        let body = answered(&rig, json!({"system": system}));
        same(
            &given(&body),
            &decided(&rig, json!(MAIL), questions("Be strict.\n\n")),
        );
    }
    // A message of the application is no part of the state either.
    let messages = json!([{"role": "user", "content": MAIL}, {"role": "system", "content": "Be strict."}]);
    let body = answered(&rig, json!({"messages": messages}));
    same(
        &given(&body),
        &decided(&rig, json!(MAIL), questions("Be strict.\n\n")),
    );
}

#[test]
fn a_schema_is_answered_in_text() {
    let rig = Rig::start();
    let call = answered(&rig, json!({}));
    let format = json!({"type": "json_schema", "schema": schema()});
    for fields in [
        json!({"tools": null, "tool_choice": null, "output_config": {"format": format, "effort": "low"}}),
        json!({"tools": null, "tool_choice": null, "output_format": format}),
        json!({"tool_choice": {"type": "none"}, "output_config": {"format": format}}),
    ] {
        let body = answered(&rig, fields);
        assert_eq!(body["stop_reason"], "end_turn");
        let block = &body["content"][0];
        assert_eq!(block["type"], "text");
        let value: Value = serde_json::from_str(block["text"].as_str().unwrap()).unwrap();
        assert_eq!(value, call["content"][0]["input"]);
        same(&given(&body), &given(&call));
    }
}

#[test]
fn bounds_that_the_client_wrote_into_a_description_are_bounds() {
    let rig = Rig::start();
    let with = |urgency: Value| {
        let mut schema = schema();
        schema["properties"]["urgency"] = urgency;
        let format = json!({"type": "json_schema", "schema": schema});
        answered(
            &rig,
            json!({"tools": null, "tool_choice": null, "output_config": {"format": format}}),
        )
    };
    let written =
        with(json!({"type": "integer", "description": "How urgent is it?\n\n{maximum: 4, minimum: 2}"}));
    same(&given(&written), &decided(&rig, json!(MAIL), questions("")));
}

#[test]
fn a_conversation_is_the_state() {
    let rig = Rig::start();
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}}
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "red"}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "none", "is_error": true},
            {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "D"}},
            {"type": "search_result", "title": "S", "source": "here", "content": [{"type": "text", "text": "found"}]}
        ]}
    ]);
    let body = answered(&rig, json!({"messages": messages}));
    let state = "User: one\ntwo\n\nAssistant: I look.\ncalls look({\"at\":1})\n\nTool: red\n\nTool: Error:\nnone\n\n\
                 User: T\nD\nS\nhere\nfound";
    same(&given(&body), &decided(&rig, json!(state), questions("")));
}

#[test]
fn which_tool_is_called_is_asked_in_the_same_pass() {
    let rig = Rig::start();
    let questions_of = |tool: &str| match tool {
        "triage" => questions("").as_array().unwrap().clone(),
        _ => vec![json!({"question": "tone", "options": ["warm", "cold"]})],
    };
    let mut places = Vec::new();
    for mail in [MAIL, "Yes.", "The meeting is at noon.", "0"] {
        for names in [["triage", "reply"], ["reply", "triage"]] {
            let of = |name: &str| if name == "triage" { triage() } else { reply() };
            let body = answered(
                &rig,
                json!({
                    "messages": [{"role": "user", "content": mail}],
                    "tools": names.map(of),
                    "tool_choice": {"type": "any", "disable_parallel_tool_use": true}
                }),
            );
            let options = names.map(|name| match name {
                "triage" => json!({"name": "triage", "description": "Sorts a mail"}),
                name => json!(name),
            });
            let mut asked = vec![json!({"question": "Which tool should be called?", "options": options})];
            asked.extend(names.iter().flat_map(|name| questions_of(name)));
            let decided = decided(&rig, json!(mail), json!(asked));
            let tool = &body["x_assize"]["tool"];
            same(&[listed(tool)], &decided[..1]);
            let place = usize::from(decided[0][1] > decided[0][0]);
            assert_eq!(
                (&body["content"][0]["name"], &tool["value"]),
                (&json!(names[place]), &json!(names[place]))
            );
            let (first, second) = decided[1..].split_at(questions_of(names[0]).len());
            same(&given(&body), [first, second][place]);
            places.push(place);
        }
    }
    assert!(places.contains(&0) && places.contains(&1), "{places:?}");
    let one = answered(&rig, json!({"tool_choice": {"type": "any"}}));
    assert_eq!(one["content"][0]["name"], "triage");
    assert!(one["x_assize"]["tool"].is_null());
    same(&given(&one), &decided(&rig, json!(MAIL), questions("")));
}

#[test]
fn a_stream_says_the_same() {
    let rig = Rig::start();
    let whole = answered(&rig, json!({}));
    let reply = ask(&rig, json!({"stream": true}));
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    let text = String::from_utf8(reply.body).unwrap();
    let events: Vec<Value> = text
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
            data
        })
        .collect();
    let names: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    assert!(events[0]["message"]["stop_reason"].is_null());
    assert_eq!(events[0]["message"]["content"], json!([]));
    assert_eq!(events[0]["message"]["x_assize"], whole["x_assize"]);
    assert_eq!(events[1]["content_block"]["input"], json!({}));
    let input: Value = serde_json::from_str(events[2]["delta"]["partial_json"].as_str().unwrap()).unwrap();
    assert_eq!(input, whole["content"][0]["input"]);
    assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[4]["usage"], whole["usage"]);
}

#[test]
fn tokens_are_counted_without_a_pass() {
    let (rig, gate) = Rig::gated(Default::default());
    let mut request = asking(json!({"max_tokens": null}));
    let count = |request: &Value| {
        post(
            rig.address,
            "/v1/messages/count_tokens",
            request.to_string().as_bytes(),
        )
    };
    let reply = count(&request);
    assert_eq!(reply.status, 200, "{}", reply.json());
    let counted = reply.json();
    assert!(!gate.starts_within(std::time::Duration::from_millis(50)));
    gate.open();
    let body = answered(&rig, json!({}));
    assert_eq!(counted, json!({"input_tokens": body["usage"]["input_tokens"]}));
    request["tool_choice"] = json!({"type": "auto"});
    assert_eq!(count(&request).status, 400);
}

#[test]
fn what_is_not_answered_is_refused_with_its_field() {
    let rig = Rig::start();
    let picture = |source: Value| json!([{"role": "user", "content": [{"type": "image", "source": source}]}]);
    for (fields, status, says) in [
        (
            json!({"tool_choice": null}),
            400,
            vec!["tool_choice", "missing", "any"],
        ),
        (
            json!({"tool_choice": {"type": "auto"}}),
            400,
            vec!["tool_choice.type", "auto", "any"],
        ),
        (
            json!({"tool_choice": {"type": "none"}}),
            400,
            vec!["tool_choice.type", "none"],
        ),
        (
            json!({"tool_choice": {"type": "tool"}}),
            400,
            vec!["tool_choice.name", "missing"],
        ),
        (
            json!({"tool_choice": {"type": "tool", "name": "x"}}),
            400,
            vec!["tool_choice.name", "\"x\""],
        ),
        (
            json!({"tool_choice": {"type": "any", "name": "x"}}),
            400,
            vec!["tool_choice.name"],
        ),
        (
            json!({"tool_choice": {"type": "some"}}),
            400,
            vec!["tool_choice.type", "some"],
        ),
        (json!({"tools": []}), 400, vec!["tools", "empty"]),
        (
            json!({"tools": [triage(), triage()]}),
            400,
            vec!["tools[1].name", "triage"],
        ),
        (
            json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
            400,
            vec!["tools[0].type"],
        ),
        (
            json!({"tools": [{"name": "x"}]}),
            400,
            vec!["tools[0].input_schema"],
        ),
        (
            json!({"tools": [{"name": "triage", "input_schema": {
                "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]}),
            400,
            vec!["tools[0].input_schema", "text", "enum"],
        ),
        (
            json!({"tool_choice": {"type": "auto"}, "output_config": {"format": {"type": "json_schema", "schema": schema()}}}),
            400,
            vec!["tool_choice"],
        ),
        (
            json!({"tools": null, "tool_choice": null, "output_config": {"format": {"type": "text", "schema": {}}}}),
            400,
            vec!["output_config.format.type", "json_schema"],
        ),
        (json!({"max_tokens": null}), 400, vec!["max_tokens", "missing"]),
        (json!({"max_tokens": 0}), 400, vec!["max_tokens", "from 1"]),
        (json!({"temperature": 2}), 400, vec!["temperature", "0 to 1"]),
        (json!({"messages": []}), 400, vec!["messages", "empty"]),
        (
            json!({"messages": [{"role": "tool", "content": ""}]}),
            400,
            vec!["messages[0].role", "tool"],
        ),
        (
            json!({"messages": [{"role": "user", "content": 3}]}),
            400,
            vec!["messages[0].content", "number"],
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "haiku"}]}]}),
            400,
            vec!["messages[0].content[0].type", "haiku"],
        ),
        (
            json!({"messages": [{"role": "user", "content": [{}]}]}),
            400,
            vec!["messages[0].content[0].type"],
        ),
        (
            json!({"messages": [{"role": "user", "content": ["x"]}]}),
            400,
            vec!["messages[0].content[0]"],
        ),
        (
            json!({"messages": picture(json!({"type": "base64", "data": "*"}))}),
            400,
            vec!["messages[0].content[0].source.data", "base64"],
        ),
        (
            json!({"messages": picture(json!({"type": "url", "url": "https://example.org/a.png"}))}),
            400,
            vec!["messages[0].content[0].source.url", "--allow-media-urls"],
        ),
        (
            json!({"messages": picture(json!({"type": "file", "file_id": "f"}))}),
            400,
            vec!["source.type", "file"],
        ),
        // The model reads text only.
        (
            json!({"messages": picture(json!({"type": "base64", "data": "AAAA"}))}),
            415,
            vec!["messages[0].content[0].source.data"],
        ),
        (
            json!({"system": [{"type": "image"}]}),
            400,
            vec!["system[0].type"],
        ),
        (json!({"mcp_servers": [{}]}), 400, vec!["mcp_servers"]),
        (json!({"container": "c"}), 400, vec!["container"]),
        (json!({"tool_choise": 1}), 400, vec!["tool_choise"]),
        (json!({"model": "absent"}), 404, vec!["model", "absent"]),
        (
            json!({"messages": [{"role": "user", "content": "word ".repeat(20_000)}]}),
            413,
            vec!["messages"],
        ),
    ] {
        for stream in [false, true] {
            let mut fields = fields.clone();
            fields["stream"] = json!(stream);
            let reply = ask(&rig, fields.clone());
            let body = reply.json();
            assert_eq!(reply.status, status, "{fields}: {body}");
            assert_eq!(body["type"], "error");
            assert_eq!(body["request_id"].as_str(), reply.header("request-id"));
            let message = body["error"]["message"].as_str().unwrap();
            for text in &says {
                assert!(message.contains(text), "{fields}: {message}");
            }
        }
    }
}

#[test]
fn what_changes_nothing_is_accepted() {
    let rig = Rig::start();
    let plain = answered(&rig, json!({}));
    let dressed = asking(json!({
        "temperature": 1, "top_p": 0.9, "top_k": 5, "stop_sequences": ["spam"], "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive"}, "service_tier": "auto", "cache_control": {"type": "ephemeral"}, "speed": "standard",
        "inference_geo": "eu", "mcp_servers": []
    }));
    let reply = send(
        rig.address,
        "POST",
        "/v1/messages?beta=true",
        &[
            ("content-type", "application/json"),
            ("x-api-key", "any"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "some-beta-2026-01-01"),
        ],
        dressed.to_string().as_bytes(),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    same(&given(&reply.json()), &given(&plain));
}

#[test]
fn other_routes_say_what_to_do() {
    let rig = Rig::start();
    let reply = post(rig.address, "/v1/messages/batches", b"{}");
    assert_eq!(reply.status, 404);
    assert_eq!(reply.json()["error"]["type"], "not_found_error");
    assert!(
        reply.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("POST /v1/messages")
    );
    assert_eq!(send(rig.address, "GET", "/v1/messages", &[], b"").status, 405);
}
