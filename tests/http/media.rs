//! Pictures, sounds and videos over HTTP, on the tiny `gemma4_unified` checkpoint with its slot head.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use assize::http::ServerLimits;
use assize::service::Service;
use assize_models::Checkpoint;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Reply, decide, get, post, send, system_one};
use crate::rig::{Rig, load};

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/gemma4_unified_tiny")
        .join(file)
}

fn media(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/media")
        .join(file);
    std::fs::read(path).unwrap()
}

fn picture(name: &str) -> Vec<u8> {
    std::fs::read(golden(&format!("media/images/{name}"))).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The checkpoint with its head, and a card where `form` names one.
fn service(form: Option<&str>) -> Arc<Service> {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(golden("checkpoint").join(file), folder.path().join(file)).unwrap();
    }
    std::fs::copy(
        golden("golden/head.safetensors"),
        folder.path().join("head.safetensors"),
    )
    .unwrap();
    if let Some(form) = form {
        let card = json!({"name": "tiny-omni", "description": "d", "release_date": "2026-01-01", "license": "MIT",
            "prompt_form": form, "readout": {"kind": "slot"}, "mask_style": "local"});
        std::fs::write(folder.path().join("assize-card.json"), card.to_string()).unwrap();
    }
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    Arc::new(Service::with_backbone(&checkpoint, load(&checkpoint)).unwrap())
}

/// Without a card: the form and readout that follow from the architecture and the head.
fn omni() -> Rig {
    static SERVICE: OnceLock<Arc<Service>> = OnceLock::new();
    let service = SERVICE.get_or_init(|| service(None));
    Rig::serving(Arc::clone(service), ServerLimits::default())
}

fn native() -> Rig {
    static SERVICE: OnceLock<Arc<Service>> = OnceLock::new();
    let service = SERVICE.get_or_init(|| service(Some("jev-omni-native")));
    Rig::serving(Arc::clone(service), ServerLimits::default())
}

const BOUNDARY: &str = "0123456789abcdef0123456789abcdef";

fn multipart(rig: &Rig, path: &str, parts: &[(&str, &[u8])]) -> Reply {
    let mut body = Vec::new();
    for (name, bytes) in parts {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    send(rig.address, "POST", path, &[("content-type", &kind)], &body)
}

fn request(media: Value) -> Value {
    let mut body =
        json!({"state": "Look and listen.", "question": "What is it?", "options": ["a", "b", "nan"]});
    if !media.is_null() {
        body["media"] = media;
    }
    body
}

fn probabilities(reply: &Reply) -> Vec<f64> {
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    let body = reply.json();
    let entries = body["answers"][0]["probabilities"].as_array().unwrap().clone();
    let values: Vec<f64> = entries
        .iter()
        .map(|entry| entry["probability"].as_f64().unwrap())
        .collect();
    assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    values
}

#[test]
fn the_media_that_a_model_takes_are_listed() {
    let rig = omni();
    let listed = get(rig.address, "/v1/models").json()["models"][0].clone();
    assert_eq!(listed["x_takes_media"], json!(["image", "audio", "video"]));
    assert_eq!(listed["x_max_body_bytes"], json!(96 << 20));
}

#[test]
fn text_alone_is_read_by_the_head() {
    let rig = omni();
    let reply = decide(rig.address, &request(Value::Null));
    assert_eq!(probabilities(&reply).len(), 3);
    let body = reply.json();
    assert!(body["answers"][0]["option_mass"].is_null());
    assert_eq!(body["usage"]["image_tokens"], 0);
    assert_eq!(body["usage"]["text_tokens"], body["usage"]["input_tokens"]);
    assert_eq!(body["media"], json!([]));
    let one = json!({"state": "s", "question": "q", "options": ["only"]});
    let reply = decide(rig.address, &one);
    assert_eq!(reply.status, 422);
    assert!(reply.error()["message"].as_str().unwrap().contains("2 to 256"));
    let many: Vec<_> = (0..256).map(|option| option.to_string()).collect();
    let reply = decide(
        rig.address,
        &json!({"state": "s", "question": "q", "options": many}),
    );
    assert_eq!(probabilities(&reply).len(), 256);
}

#[test]
fn a_picture_is_the_same_however_it_comes() {
    let rig = omni();
    let bytes = picture("jpeg_w120_h90.jpg");
    let inline = decide(
        rig.address,
        &request(json!([{"type": "image", "data_base64": base64(&bytes)}])),
    );
    let expected = probabilities(&inline);
    let body = inline.json();
    let soft_tokens = body["usage"]["image_tokens"].as_u64().unwrap();
    assert!((200..=280).contains(&soft_tokens), "{soft_tokens}");
    assert_eq!(
        body["media"],
        json!([{"type": "image", "soft_tokens": soft_tokens}])
    );
    for stage in [
        "decode",
        "preprocess",
        "tokenise",
        "queue",
        "forward",
        "readout",
        "total",
    ] {
        assert!(body["timings_ms"][stage].is_number(), "{stage}");
    }
    assert!(body["timings_ms"]["decode"].as_f64().unwrap() > 0.0);
    let named = request(json!([{"type": "image", "part": "photo"}])).to_string();
    let reply = multipart(
        &rig,
        "/decide",
        &[("photo", &bytes), ("request", named.as_bytes())],
    );
    assert_eq!(probabilities(&reply), expected);
    let plain = request(Value::Null).to_string();
    let reply = multipart(
        &rig,
        "/decide",
        &[("request", plain.as_bytes()), ("image", &bytes)],
    );
    assert_eq!(probabilities(&reply), expected);
    let without = probabilities(&decide(rig.address, &request(Value::Null)));
    assert_ne!(without, expected);
}

#[test]
fn media_are_read_in_the_order_given() {
    let rig = omni();
    let (first, second) = (
        base64(&picture("square_48.png")),
        base64(&picture("odd_w53_h37.png")),
    );
    let sound = base64(&std::fs::read(golden("media/audio/chirp_mono.wav")).unwrap());
    let image = |data: &str| json!({"type": "image", "data_base64": data});
    let audio = json!({"type": "audio", "data_base64": sound});
    let asked = |media: Value| {
        let reply = decide(rig.address, &request(media));
        let found = probabilities(&reply);
        (found, reply.json())
    };
    let (one, body) = asked(json!([image(&first), audio, image(&second)]));
    assert_eq!(body["usage"]["audio_tokens"], 26);
    let kinds: Vec<_> = body["media"]
        .as_array()
        .unwrap()
        .iter()
        .map(|medium| medium["type"].clone())
        .collect();
    assert_eq!(kinds, ["image", "audio", "image"]);
    let usage = &body["usage"];
    let sum = ["text_tokens", "image_tokens", "audio_tokens", "video_tokens"]
        .iter()
        .map(|kind| usage[kind].as_u64().unwrap())
        .sum::<u64>();
    assert_eq!(usage["input_tokens"], sum);
    let (two, _) = asked(json!([image(&second), audio, image(&first)]));
    assert_ne!(one, two);
    // Several questions see the same media, as if each were asked alone.
    let media = json!([image(&first), audio]);
    let questions = json!([{"question": "What is it?", "options": ["a", "b", "nan"]}, {"question": "Loud?", "type": "predicate"}]);
    let both = decide(
        rig.address,
        &json!({"state": "Look and listen.", "media": media, "questions": questions}),
    );
    let (alone, _) = asked(media);
    for (together, alone) in probabilities(&both).iter().zip(&alone) {
        assert!((together - alone).abs() < 1e-5, "{together} {alone}");
    }
}

#[test]
fn a_cut_sound_is_said() {
    let rig = omni();
    let long = base64(&media("31_seconds.flac"));
    let reply = decide(
        rig.address,
        &request(json!([{"type": "audio", "data_base64": long}])),
    );
    probabilities(&reply);
    let medium = &reply.json()["media"][0];
    assert_eq!(medium["soft_tokens"], 750);
    assert_eq!(medium["cut_to_seconds"], 30.0);
    assert!(
        (medium["seconds"].as_f64().unwrap() - 31.0).abs() < 0.1,
        "{medium}"
    );
}

#[test]
fn a_video_is_sixteen_frames_and_its_sound_is_not_heard() {
    let rig = native();
    let video = base64(&media("h264_with_sound.mov"));
    let reply = decide(
        rig.address,
        &request(json!([{"type": "video", "data_base64": video}])),
    );
    probabilities(&reply);
    let body = reply.json();
    let medium = &body["media"][0];
    assert_eq!(
        (&medium["frames"], &medium["sound_ignored"]),
        (&json!(16), &json!(true))
    );
    assert_eq!(medium["soft_tokens"], body["usage"]["video_tokens"]);
    // A short clip shows all it has; as pictures, each frame takes up to 280 tokens.
    let short = json!([{"type": "video", "data_base64": base64(&media("nine_frames.mp4"))}]);
    let reply = decide(rig.address, &request(short.clone()));
    probabilities(&reply);
    assert_eq!(reply.json()["media"][0]["frames"], 9);
    let rig = omni();
    let reply = decide(rig.address, &request(short));
    probabilities(&reply);
    let tokens = reply.json()["media"][0]["soft_tokens"].as_u64().unwrap();
    assert!(tokens > 9 * 200, "{tokens}");
    // Sixteen such frames are more than the tiny model's context.
    let reply = decide(
        rig.address,
        &request(json!([{"type": "video", "data_base64": base64(&media("h264.mp4"))}])),
    );
    assert_eq!(reply.status, 413);
    assert!(reply.error()["message"].as_str().unwrap().contains("the media"));
}

#[test]
fn mistakes_name_the_medium() {
    let rig = omni();
    let good = base64(&picture("square_48.png"));
    let jpeg = picture("jpeg_w120_h90.jpg");
    let video = base64(&media("h264.mp4"));
    for (medium, status, field, says) in [
        (json!({"type": "image"}), 422, "media[0]", "exactly one"),
        (
            json!({"type": "image", "data_base64": good, "part": "x"}),
            422,
            "media[0]",
            "exactly one",
        ),
        (
            json!({"type": "image", "data_base64": "?"}),
            422,
            "media[0].data_base64",
            "base64",
        ),
        (
            json!({"type": "image", "data_base64": format!("data:image/png;base64,{good}")}),
            422,
            "media[0].data_base64",
            "data URL",
        ),
        (
            json!({"type": "image", "part": "x"}),
            422,
            "media[0].part",
            "does not have",
        ),
        (
            json!({"type": "image", "url": "http://1.1.1.1/"}),
            422,
            "media[0].url",
            "fetches no media",
        ),
        (
            json!({"type": "picture", "data_base64": good}),
            422,
            "media[0].type",
            "image",
        ),
        (json!({"data_base64": good}), 422, "media[0].type", "missing"),
        (
            json!({"type": "image", "data": good}),
            422,
            "media[0].data",
            "unknown field",
        ),
        (
            json!({"type": "image", "data_base64": ""}),
            422,
            "media[0]",
            "empty",
        ),
        (
            json!({"type": "image", "data_base64": video}),
            415,
            "media[0]",
            "JPEG",
        ),
        (
            json!({"type": "video", "data_base64": good}),
            415,
            "media[0]",
            "MP4",
        ),
        (
            json!({"type": "audio", "data_base64": good}),
            415,
            "media[0]",
            "WAV",
        ),
        (
            json!({"type": "image", "data_base64": base64(&jpeg[..jpeg.len() / 2])}),
            422,
            "media[0]",
            "damaged",
        ),
        (
            json!({"type": "audio", "data_base64": base64(b"RIFF")}),
            415,
            "media[0]",
            "",
        ),
    ] {
        let reply = decide(rig.address, &request(json!([medium])));
        let error = reply.error();
        assert_eq!(
            (reply.status, &error["field"]),
            (status, &json!(field)),
            "{error}"
        );
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    let many = vec![json!({"type": "image", "data_base64": good}); 33];
    assert_eq!(decide(rig.address, &request(json!(many))).status, 413);
    let plain = request(Value::Null).to_string();
    for (parts, says) in [
        (
            vec![("request", plain.as_bytes()), ("photo", jpeg.as_slice())],
            "photo",
        ),
        (vec![("image", jpeg.as_slice())], "`request`"),
    ] {
        let reply = multipart(&rig, "/decide", &parts);
        assert!((400..=422).contains(&reply.status));
        assert!(
            reply.error()["message"].as_str().unwrap().contains(says),
            "{:?}",
            reply.error()
        );
    }
}

#[test]
fn mistakes_in_parts_name_the_field_and_the_remedy() {
    let rig = omni();
    let (bytes, plain) = (picture("square_48.png"), request(Value::Null).to_string());
    let mut parts = vec![("request", plain.as_bytes())];
    parts.extend(vec![("image", bytes.as_slice()); 33]);
    let reply = multipart(&rig, "/decide", &parts);
    let error = reply.error();
    assert_eq!((reply.status, &error["field"]), (413, &json!("media")), "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("at most 32"),
        "{error}"
    );

    let head = |name: &str| format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
    let body = format!(
        "{}\r\n{plain}\r\n{}Content-Transfer-Encoding: base64\r\n\r\n{}\r\n--{BOUNDARY}--\r\n",
        head("request"),
        head("image"),
        base64(&bytes)
    );
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let reply = send(
        rig.address,
        "POST",
        "/decide",
        &[("content-type", &kind)],
        body.as_bytes(),
    );
    let error = reply.error();
    assert_eq!((reply.status, &error["field"]), (422, &json!("image")), "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("`data_base64`"),
        "{error}"
    );
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let rig = omni();
    let mut video = media("nine_frames.mp4");
    let scale = video.windows(4).position(|w| w == b"mdhd").unwrap() + 16;
    video[scale..scale + 4].copy_from_slice(&25_u32.to_be_bytes());
    let sound = media("chirp_no_header.mp3");
    let ogg = [media("chirp_vorbis.ogg"), media("chirp_vorbis.ogg")].concat();
    for (kind, bytes, says) in [
        ("video", &video[..], "8 of 9 samples"),
        ("audio", &sound[..sound.len() - 1], "ends within a frame"),
        ("audio", &ogg, "one behind the other"),
    ] {
        let reply = decide(
            rig.address,
            &request(json!([{"type": kind, "data_base64": base64(bytes)}])),
        );
        let error = reply.error();
        assert_eq!(
            (reply.status, &error["field"]),
            (422, &json!("media[0]")),
            "{error}"
        );
        assert_eq!(error["type"], "invalid_medium");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
}

#[test]
fn system_one_takes_pictures() {
    let rig = omni();
    let bytes = picture("square_48.png");
    let questions = json!({"q": {"type": "choice", "criteria": {"a": null, "b": null, "nan": null}}});
    let with =
        |state: Value, assets: Value| json!({"state": state, "questions": questions, "assets": assets});
    let inline = json!({"pic": {"type": "image", "format": "png", "data_base64": base64(&bytes)}});
    let reply = system_one(rig.address, &with(json!("pic"), inline.clone()));
    assert_eq!(reply.status, 200, "{}", reply.json());
    let expected = reply.json()["answers"]["q"]["probabilities"].clone();
    // As the official client sends it.
    let placeholder = "<image:0123456789abcdef0123456789abcdef>";
    let body = with(
        json!(placeholder),
        json!({placeholder: {"type": "image", "part": "asset-0"}}),
    )
    .to_string();
    let reply = multipart(
        &rig,
        "/v1/systemone",
        &[("request", body.as_bytes()), ("asset-0", &bytes)],
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    assert_eq!(reply.json()["answers"]["q"]["probabilities"], expected);
    // Inside other text the picture is named.
    let reply = system_one(rig.address, &with(json!({"photo": "pic"}), inline.clone()));
    assert_eq!(reply.status, 200);
    assert_ne!(reply.json()["answers"]["q"]["probabilities"], expected);
    assert_eq!(reply.json()["x_unused_assets"], json!([]));
    // A picture without a placeholder may be sent, and the answer says that it was not seen.
    let mut two = inline.clone();
    two["other"] = two["pic"].clone();
    let reply = system_one(rig.address, &with(json!("pic"), two));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["x_unused_assets"], json!(["other"]));
    assert_eq!(reply.json()["answers"]["q"]["probabilities"], expected);
    let damaged = json!({"pic": {"data_base64": base64(&bytes[..40])}});
    let reply = system_one(rig.address, &with(json!("pic"), damaged));
    assert_eq!(reply.status, 422, "{}", reply.json());
    assert!(reply.json().to_string().contains("assets"), "{}", reply.json());
}

#[test]
fn messages_and_ollama_take_pictures() {
    let rig = omni();
    let first = &base64(&picture("square_48.png"));
    let second = &base64(&picture("jpeg_w120_h90.jpg"));
    let decided = |state: &str, pictures: &[&String]| {
        let media: Vec<Value> = pictures
            .iter()
            .map(|data| json!({"type": "image", "data_base64": data}))
            .collect();
        let reply = decide(
            rig.address,
            &json!({"state": state, "media": media, "question": "What is it?", "options": ["a", "b", "nan"]}),
        );
        probabilities(&reply)
    };
    let schema = json!({"type": "object", "required": ["it"], "properties": {
        "it": {"enum": ["a", "b", "nan"], "description": "What is it?"}}});
    let given = |path: &str, request: Value| {
        let reply = post(rig.address, path, request.to_string().as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.json());
        let fields = reply.json()["x_assize"]["fields"].clone();
        let entries = fields[0]["probabilities"].as_array().unwrap().clone();
        entries
            .iter()
            .map(|entry| entry["probability"].as_f64().unwrap())
            .collect::<Vec<_>>()
    };
    let same = |one: Vec<f64>, other: Vec<f64>| {
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert!((one - other).abs() < 1e-12, "{one} {other}");
        }
    };
    let image = |data: &String| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let by_url = |data: &String| json!({"type": "image", "source": {"type": "url", "url": format!("data:image/png;base64,{data}")}});
    let text = json!({"type": "text", "text": "Look."});
    let claude = |content: Value| {
        let format = json!({"type": "json_schema", "schema": schema});
        given(
            "/v1/messages",
            json!({"model": "jev-latest", "max_tokens": 9, "output_config": {"format": format},
                "messages": [{"role": "user", "content": content}]}),
        )
    };
    let alone = decided("Look.", &[first]);
    same(claude(json!([image(first), text])), alone.clone());
    same(claude(json!([text, by_url(first)])), alone.clone());
    same(
        claude(json!([image(first), text, image(second)])),
        decided("[image 1]\nLook.\n[image 2]", &[first, second]),
    );
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [image(first)]});
    same(
        claude(json!([text, result])),
        decided("User: Look.\n\nTool: [image 1]", &[first]),
    );
    // An image without text is a state without text.
    same(claude(json!([image(first)])), decided("", &[first]));

    let chat = |message: Value| {
        let request =
            json!({"model": "jev-latest", "messages": [message], "format": schema, "stream": false});
        given("/api/chat", request)
    };
    same(
        chat(json!({"role": "user", "content": "Look.", "images": [first]})),
        alone.clone(),
    );
    let prompt = json!({"model": "jev-latest", "prompt": "Look.", "images": [first], "format": schema, "stream": false});
    same(given("/api/generate", prompt), alone);
    same(
        chat(json!({"role": "user", "content": "Look.", "images": [first, second]})),
        decided("[image 1]\n[image 2]\nLook.", &[first, second]),
    );
    let too_many = json!({"model": "jev-latest", "stream": false, "format": schema,
        "messages": [{"role": "user", "content": "?", "images": vec!["*"; 33]}]});
    let reply = post(rig.address, "/api/chat", too_many.to_string().as_bytes());
    assert_eq!(reply.status, 413, "{}", reply.json());
    let shown = post(rig.address, "/api/show", br#"{"model": "jev-latest"}"#).json();
    assert_eq!(shown["capabilities"], json!(["completion", "vision"]));
}

#[test]
fn a_model_of_text_refuses_media() {
    let rig = Rig::start();
    let reply = decide(
        rig.address,
        &request(json!([{"type": "image", "data_base64": base64(&picture("square_48.png"))}])),
    );
    assert_eq!(reply.status, 415);
    assert!(reply.error()["message"].as_str().unwrap().contains("text only"));
    assert_eq!(multipart(&rig, "/decide", &[("request", b"{}")]).status, 415);
}

#[test]
fn large_bodies_share_their_room() {
    static SERVICE: OnceLock<Arc<Service>> = OnceLock::new();
    let service = SERVICE.get_or_init(|| service(None));
    let limits = ServerLimits {
        media_body_bytes: 16 << 20,
        all_bodies_bytes: 1 << 20,
        ..ServerLimits::default()
    };
    let rig = Rig::serving(Arc::clone(service), limits);
    let reply = post(rig.address, "/decide", &vec![b' '; 6 << 20]);
    assert_eq!(reply.status, 429);
    assert_eq!(reply.header("retry-after"), Some("1"));
    // The room is free again, and small bodies need none.
    for bytes in [1 << 20, 1000] {
        assert_eq!(post(rig.address, "/decide", &vec![b' '; bytes]).status, 400);
    }
    let reply = post(rig.address, "/decide", &vec![b' '; 17 << 20]);
    assert_eq!(reply.status, 413);
}
