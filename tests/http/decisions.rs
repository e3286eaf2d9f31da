//! OpenAI's Decisions API.

use serde_json::{Value, json};

use crate::client::{Reply, decide, get, post};
use crate::rig::{Rig, service};

const MAIL: &str = "You won! Click here to claim your prize.";

fn questions() -> Value {
    json!([
        {"type": "predicate", "name": "spam", "instructions": "Is it spam?"},
        {"type": "choice", "instructions": "What is it about?", "choices": [
            {"value": "prize", "description": "money to be won"}, {"value": "meeting"}, {"value": true},
            {"value": "true", "description": null}, {"value": false}]},
        {"type": "score", "name": "urgency", "instructions": "How urgent is it?", "levels": [
            {"label": "low"}, {"label": "mid", "description": "within a day"}, {"label": "high"}]}
    ])
}

/// The same, as `/decide` asks them.
fn native_questions() -> Value {
    json!([
        {"type": "predicate", "question": "Is it spam?"},
        {"question": "What is it about?", "options": [
            {"name": "prize", "description": "money to be won"}, "meeting", "true (boolean)", "true", "false"]},
        {"question": "How urgent is it?", "levels": ["low", "mid: within a day", "high"]}
    ])
}

fn ask(rig: &Rig, body: &Value) -> Reply {
    post(rig.address, "/v1/decisions", body.to_string().as_bytes())
}

fn request(input: Value, questions: Value) -> Value {
    json!({"model": "jev-latest", "input": input, "questions": questions})
}

fn answered(rig: &Rig, input: Value) -> Value {
    let reply = ask(rig, &request(input, questions()));
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert!(reply.header("server-timing").is_some());
    reply.json()
}

fn decided(rig: &Rig, state: &str) -> Value {
    let reply = decide(
        rig.address,
        &json!({"state": state, "questions": native_questions()}),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    reply.json()
}

/// Every number of the answers, whatever the protocol.
fn numbers(body: &Value) -> Vec<f64> {
    let answers = body["answers"].as_array().unwrap();
    let of_answer = |answer: &Value| {
        // A predicate's confidence is no part of Decisions.
        let fields: &[&str] = match answer["type"].as_str() {
            Some("predicate") => &["probability"],
            Some("choice") => &["confidence"],
            _ => &["confidence", "score"],
        };
        let own = fields.iter().map(|field| answer[*field].as_f64().unwrap());
        let listed = answer["probabilities"].as_array().into_iter().flatten();
        let listed = listed.map(|entry| entry["probability"].as_f64().unwrap());
        own.chain(listed).collect::<Vec<_>>()
    };
    answers.iter().flat_map(of_answer).collect()
}

#[test]
fn answers_are_those_of_decide() {
    let rig = Rig::start();
    let native = decided(&rig, MAIL);
    let body = answered(&rig, json!(MAIL));
    assert_eq!(numbers(&body), numbers(&native));
    assert_eq!(numbers(&body).len(), 1 + 6 + 5);

    let answers = body["answers"].as_array().unwrap();
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&answers[0]), ["type", "name", "probability"]);
    assert_eq!(
        (&answers[0]["type"], &answers[0]["name"]),
        (&json!("predicate"), &json!("spam"))
    );
    assert_eq!(
        fields(&answers[1]),
        ["type", "name", "choice", "confidence", "probabilities"]
    );
    assert_eq!(answers[1]["name"], Value::Null);
    let probabilities = answers[1]["probabilities"].as_array().unwrap();
    let values: Vec<_> = probabilities.iter().map(|entry| entry["value"].clone()).collect();
    assert_eq!(
        values,
        [
            json!("prize"),
            json!("meeting"),
            json!(true),
            json!("true"),
            json!(false)
        ]
    );
    let chosen = native["answers"][1]["choice_index"].as_u64().unwrap() as usize;
    assert_eq!(answers[1]["choice"], values[chosen]);
    assert_eq!(
        fields(&answers[2]),
        ["type", "name", "score", "confidence", "probabilities"]
    );
    let levels = answers[2]["probabilities"].as_array().unwrap();
    let levels: Vec<_> = levels
        .iter()
        .map(|entry| (entry["label"].as_str().unwrap(), entry["value"].as_u64().unwrap()))
        .collect();
    assert_eq!(levels, [("low", 0), ("mid", 1), ("high", 2)]);

    let tokens = &native["usage"]["input_tokens"];
    assert_eq!(
        body["usage"],
        json!({
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens,
        })
    );
    assert_eq!(body["model"], "tiny_llama");
    assert_eq!(body["x_artifact"], service().artifact_id().as_str());
    assert_eq!(
        (
            &body["x_engine"],
            &body["x_head"],
            &body["x_calibration"],
            &body["x_mismatch"]
        ),
        (&native["engine"], &Value::Null, &Value::Null, &json!([]))
    );
    let own = ["answers", "model", "usage"];
    let keys = fields(&body);
    assert!(
        keys.iter()
            .all(|key| own.contains(&key.as_str()) || key.starts_with("x_"))
    );
}

#[test]
fn a_boolean_that_is_chosen_stays_one() {
    let rig = Rig::start();
    let choices = json!([{"value": true}, {"value": false}]);
    let body = ask(
        &rig,
        &request(
            json!("s"),
            json!([{"type": "choice", "instructions": "q", "choices": choices}]),
        ),
    )
    .json();
    assert!(body["answers"][0]["choice"].is_boolean(), "{body}");
    let plain = json!({"state": "s", "question": "q", "options": ["true", "false"]});
    assert_eq!(numbers(&body), numbers(&decide(rig.address, &plain).json()));
}

#[test]
fn conversations_are_states() {
    let rig = Rig::start();
    let data = json!({"b": [1, null], "a": "é"});
    for (input, state) in [
        (json!([{"role": "user", "content": MAIL}]), MAIL.to_owned()),
        (
            json!([{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Look:"}, {"type": "input_json", "data": data}]}]),
            format!("Look:\n{data}"),
        ),
        (
            json!([{"role": "developer", "content": "Be fair."}, {"role": "user", "content": MAIL}]),
            format!("Developer: Be fair.\n\nUser: {MAIL}"),
        ),
        (
            json!([{"role": "user", "content": "Find it."},
                {"type": "function_call", "call_id": "1", "name": "find", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "lost"}]),
            "User: Find it.\n\nAssistant: calls find({})\n\nTool: lost".to_owned(),
        ),
    ] {
        assert_eq!(
            numbers(&answered(&rig, input)),
            numbers(&decided(&rig, &state)),
            "{state}"
        );
    }
}

#[test]
fn what_changes_nothing_is_accepted() {
    let rig = Rig::start();
    let mut body = request(json!(MAIL), questions());
    let plain = numbers(&ask(&rig, &body).json());
    body["model"] = json!("tiny_llama");
    body["prompt_cache_key"] = json!("key");
    body["prompt_cache_options"] = json!({"mode": "explicit", "ttl": "30m"});
    body["safety_identifier"] = json!("someone");
    let reply = ask(&rig, &body);
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(numbers(&reply.json()), plain);
    body["prompt_cache_options"] = Value::Null;
    body["prompt_cache_key"] = Value::Null;
    body["safety_identifier"] = Value::Null;
    assert_eq!(ask(&rig, &body).status, 200);
}

#[test]
fn as_many_questions_and_choices_as_the_api_has() {
    let rig = Rig::start();
    let many = |count: usize| json!(vec![json!({"type": "predicate", "instructions": "q"}); count]);
    let reply = ask(&rig, &request(json!("s"), many(400)));
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(reply.json()["answers"].as_array().unwrap().len(), 400);
    let error = ask(&rig, &request(json!("s"), many(401))).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("too_many_questions"), &json!("questions"))
    );

    let of = |count: usize| {
        let choices: Vec<_> = (0..count)
            .map(|value| json!({"value": value.to_string()}))
            .collect();
        request(
            json!("s"),
            json!([{"type": "choice", "instructions": "q", "choices": choices}]),
        )
    };
    assert_eq!(ask(&rig, &of(255)).status, 200);
    let error = ask(&rig, &of(256)).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("too_many_options"), &json!("questions[0].choices"))
    );
}

/// Status, code and place of an error, with its message.
fn refused(rig: &Rig, body: &Value) -> (u16, String, String, String) {
    let reply = ask(rig, body);
    let error = reply.json()["error"].clone();
    let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
    let expected = match reply.status {
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    assert_eq!(text("type"), expected, "{body}");
    (reply.status, text("code"), text("param"), text("message"))
}

#[test]
fn every_mistake_names_its_field() {
    let rig = Rig::start();
    let asking = |question: Value| request(json!("s"), json!([question]));
    let input = |input: Value| request(input, questions());
    let item = |item: Value| request(json!([item]), questions());
    let user = |part: Value| request(json!([{"role": "user", "content": [part]}]), questions());
    let with = |field: &str, value: Value| {
        let mut body = request(json!("s"), questions());
        match value {
            Value::Null => _ = body.as_object_mut().unwrap().remove(field),
            value => body[field] = value,
        }
        body
    };
    let choice = |choices: Value| asking(json!({"type": "choice", "instructions": "q", "choices": choices}));
    let score = |levels: Value| asking(json!({"type": "score", "instructions": "q", "levels": levels}));
    let predicate = |instructions: Value| asking(json!({"type": "predicate", "instructions": instructions}));
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "o"});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "n", "arguments": ""});
    let custom = |id: &str| json!({"type": "custom_tool_call", "call_id": id, "name": "n", "input": ""});
    let deep = (0..33).fold(json!({}), |inner, _| json!({"a": inner}));
    for (body, param, says) in [
        (json!([]), "", "an object"),
        (with("model", Value::Null), "model", "missing"),
        (with("input", Value::Null), "input", "missing"),
        (with("questions", Value::Null), "questions", "missing"),
        (with("temperature", json!(1)), "temperature", "unknown field"),
        (with("prompt_cache_key", json!(1)), "prompt_cache_key", "a string"),
        (
            with("prompt_cache_options", json!({"mode": "x"})),
            "prompt_cache_options.mode",
            "explicit",
        ),
        (
            with("prompt_cache_options", json!({"x": 1})),
            "prompt_cache_options.x",
            "unknown field",
        ),
        (with("questions", json!({})), "questions", "an array"),
        (with("questions", json!([])), "questions", "at least one"),
        (
            input(json!(7)),
            "input",
            "is a number, expected a string or an array of items",
        ),
        (input(json!([])), "input", "is empty"),
        (item(json!("s")), "input[0]", "an object"),
        (
            item(json!({"type": "reasoning"})),
            "input[0].type",
            "use message, function_call",
        ),
        (item(json!({"type": 1})), "input[0].type", "a string"),
        (item(json!({"content": "s"})), "input[0].role", "missing"),
        (
            item(json!({"role": "tool", "content": "s"})),
            "input[0].role",
            "assistant",
        ),
        (item(json!({"role": "user"})), "input[0].content", "missing"),
        (
            item(json!({"role": "user", "content": 1})),
            "input[0].content",
            "a string or an array of parts",
        ),
        (
            item(json!({"role": "user", "content": []})),
            "input[0].content",
            "is empty",
        ),
        (
            item(json!({"role": "user", "content": "s", "name": "n"})),
            "input[0].name",
            "unknown field",
        ),
        (
            item(json!({"role": "user", "content": "s", "phase": "commentary"})),
            "input[0].phase",
            "assistant",
        ),
        (
            item(json!({"role": "assistant", "content": "s", "phase": "x"})),
            "input[0].phase",
            "final_answer",
        ),
        (
            item(json!({"role": "assistant", "content": [{"type": "input_text", "text": "t"}]})),
            "input[0].content[0].type",
            "use output_text, refusal",
        ),
        (
            item(json!({"role": "system", "content": [{"type": "input_image", "image_url": "u"}]})),
            "input[0].content[0].type",
            "use input_text",
        ),
        (user(json!("t")), "input[0].content[0]", "an object"),
        (user(json!({"text": "t"})), "input[0].content[0].type", "missing"),
        (
            user(json!({"type": "input_file"})),
            "input[0].content[0].type",
            "input_image",
        ),
        (
            user(json!({"type": "input_text"})),
            "input[0].content[0].text",
            "missing",
        ),
        (
            user(json!({"type": "input_text", "text": "t", "prompt_cache_breakpoint": {"mode": "implicit"}})),
            "input[0].content[0].prompt_cache_breakpoint.mode",
            "explicit",
        ),
        (
            user(json!({"type": "input_image", "file_id": "f"})),
            "input[0].content[0].file_id",
            "expected one of `image_url`",
        ),
        (
            user(json!({"type": "input_image", "image_url": {"url": "u"}})),
            "input[0].content[0].image_url",
            "a string",
        ),
        (
            user(json!({"type": "input_image", "image_url": "u", "detail": "x"})),
            "input[0].content[0].detail",
            "original",
        ),
        (
            user(json!({"type": "input_image", "image_url": "https://example.org/a.png"})),
            "input[0].content[0].image_url",
            "--allow-media-urls",
        ),
        (
            user(json!({"type": "input_image", "image_url": "data:image/png,x"})),
            "input[0].content[0].image_url",
            "base64",
        ),
        (
            user(json!({"type": "input_json", "data": "x"})),
            "input[0].content[0].data",
            "an object or an array",
        ),
        (
            user(json!({"type": "input_json", "data": [1]})),
            "input[0].content[0].data[0]",
            "an object",
        ),
        (
            user(json!({"type": "input_json", "data": deep})),
            "input[0].content[0].data",
            "nests 34",
        ),
        (
            item(output("1")),
            "input[0].call_id",
            "no function_call before it",
        ),
        (
            input(json!([custom("1"), output("1")])),
            "input[1].call_id",
            "no function_call before it",
        ),
        (
            input(json!([output("1"), call("1")])),
            "input[0].call_id",
            "before it",
        ),
        (
            input(json!([call("1"), call("1")])),
            "input[1].call_id",
            "ids must differ",
        ),
        (
            item(json!({"type": "function_call", "call_id": "1", "name": "n", "arguments": {}})),
            "input[0].arguments",
            "a string",
        ),
        (
            item(
                json!({"type": "function_call", "call_id": "1", "name": "n", "arguments": "", "status": "x"}),
            ),
            "input[0].status",
            "in_progress",
        ),
        (asking(json!("q")), "questions[0]", "an object"),
        (
            asking(json!({"instructions": "q"})),
            "questions[0].type",
            "missing",
        ),
        (
            asking(json!({"type": "noul", "instructions": "q"})),
            "questions[0].type",
            "predicate, choice or score",
        ),
        (
            asking(json!({"type": "predicate"})),
            "questions[0].instructions",
            "missing",
        ),
        (
            asking(json!({"type": "predicate", "instructions": "q", "choices": []})),
            "questions[0].choices",
            "unknown field",
        ),
        (predicate(json!(" ")), "questions[0].instructions", "blank"),
        (predicate(json!([])), "questions[0].instructions", "is empty"),
        (
            predicate(
                json!([{"type": "input_text", "text": "q", "prompt_cache_breakpoint": {"mode": "explicit"}}]),
            ),
            "questions[0].instructions[0].prompt_cache_breakpoint",
            "leave it out",
        ),
        (
            request(
                json!("s"),
                json!([{"type": "predicate", "instructions": "q"},
                    {"type": "predicate", "instructions": [{"type": "input_image", "image_url": "u"}]}]),
            ),
            "questions[1].instructions[0].image_url",
            "put the picture into `input`",
        ),
        (
            choice(json!([{"value": "a"}])),
            "questions[0].choices",
            "2 to 255",
        ),
        (choice(json!(["a", "b"])), "questions[0].choices[0]", "an object"),
        (
            choice(json!([{"value": 1}, {"value": 2}])),
            "questions[0].choices[0].value",
            "a string or a boolean",
        ),
        (
            choice(json!([{"value": "a"}, {"value": ""}])),
            "questions[0].choices[1].value",
            "is empty",
        ),
        (
            choice(json!([{"value": "a"}, {"value": "a"}])),
            "questions[0].choices[1].value",
            "also the value of choice 0",
        ),
        (
            choice(json!([{"value": true}, {"value": true}])),
            "questions[0].choices[1].value",
            "must differ",
        ),
        (
            choice(json!([{"value": "a"}, {"value": "b", "description": {}}])),
            "questions[0].choices[1].description",
            "a string",
        ),
        (
            choice(json!([{"value": "a"}, {"value": "b", "label": "c"}])),
            "questions[0].choices[1].label",
            "unknown",
        ),
        (score(json!([])), "questions[0].levels", "is empty"),
        (score(json!(["low"])), "questions[0].levels[0]", "an object"),
        (
            score(json!([{"label": ""}])),
            "questions[0].levels[0].label",
            "is empty",
        ),
        (
            score(json!(vec![json!({"label": "l"}); 257])),
            "questions[0].levels",
            "1 to 256",
        ),
    ] {
        let (status, _, field, message) = refused(&rig, &body);
        assert_eq!((status, field.as_str()), (400, param), "{body}: {message}");
        assert!(message.contains(says), "{body}: {message}");
    }
}

#[test]
fn other_errors_have_their_status() {
    let rig = Rig::start();
    let mut body = request(json!("s"), questions());
    body["model"] = json!("gpt-6-luna");
    let (status, code, param, message) = refused(&rig, &body);
    assert_eq!(
        (status, code.as_str(), param.as_str()),
        (404, "unknown_model", "model")
    );
    assert!(message.contains("tiny_llama"), "{message}");

    let (status, code, param, _) = refused(&rig, &request(json!("word ".repeat(20_000)), questions()));
    assert_eq!(
        (status, code.as_str(), param.as_str()),
        (413, "state_too_long", "input")
    );
    let long = json!([{"type": "predicate", "instructions": "word ".repeat(20_000)}]);
    let (status, _, param, _) = refused(&rig, &request(json!("s"), long));
    assert_eq!((status, param.as_str()), (413, "questions[0].instructions"));
    let long = json!([{"type": "choice", "instructions": "q", "choices": [
        {"value": "a", "description": "word ".repeat(20_000)}, {"value": "b"}]}]);
    let (status, _, param, _) = refused(&rig, &request(json!("s"), long));
    assert_eq!((status, param.as_str()), (413, "questions[0].choices"));

    let reply = post(rig.address, "/v1/decisions", b"{");
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (400, &json!("invalid_json"))
    );
    assert_eq!(get(rig.address, "/v1/decisions").status, 405);
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPgPAAEDAQFIqE4cAAAAAElFTkSuQmCC";
    let url = format!("data:image/png;base64,{pixel}");
    let image = json!([{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]);
    let (status, code, param, message) = refused(&rig, &request(image, questions()));
    assert_eq!(
        (status, code.as_str(), param.as_str()),
        (415, "unsupported_medium", "input[0].content[0].image_url"),
        "{message}"
    );
}
