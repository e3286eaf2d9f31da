//! A server with a fitted head, with a calibration, and with either of another artifact.

use std::path::Path;
use std::sync::Arc;

use assize::head_fit::{FitRow, HeadFitOptions, fit_head};
use assize::service::{Attachments, Service, ServiceError};
use assize_heads::FittedHead;
use assize_heads::fit::FitOptions;
use assize_heads::fitted_head::PromptCut;
use assize_models::{ArtifactDescription, Checkpoint};
use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::Truncate;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::client::{decide, get, system_one};
use crate::rig::{Rig, load, model_path, service};

const QUESTION: &str = "Wet or dry?";

fn row(index: usize) -> FitRow {
    let (gold, said) = if index.is_multiple_of(2) {
        (0, "rain and water")
    } else {
        (1, "sun and sand")
    };
    let option = |name: &str| QuestionOption {
        name: name.into(),
        description: None,
    };
    FitRow {
        id: index.to_string(),
        decision: Decision {
            state: Content::Text(format!("{said}, day {index}")),
            questions: vec![Question {
                instructions: Some(QUESTION.into()),
                shape: Shape::Choice(vec![option("wet"), option("dry")]),
            }],
        },
        gold,
        group: None,
    }
}

/// Fits a head on the tiny checkpoint into `folder`.
fn fit_into(folder: &Path) -> FittedHead {
    let options = HeadFitOptions {
        cut: PromptCut {
            max_tokens: 120,
            truncate: Truncate::Middle,
        },
        fit: FitOptions::default(),
        temperature: false,
        data: "weather".into(),
        source_sha256: None,
        split: "all".into(),
    };
    let rows = (0..40).map(row).collect();
    let fitted = fit_head([Ok(service())], rows, Vec::new(), &options, None, folder, |_| {});
    fitted.unwrap().head
}

fn with(attachments: &Attachments) -> Result<Service, ServiceError> {
    let checkpoint = Checkpoint::open(&model_path()).unwrap();
    Service::with_backbone_and(&checkpoint, load(&checkpoint), attachments)
}

fn of_head(folder: &Path) -> Attachments {
    Attachments {
        head: Some(folder.to_owned()),
        ..Attachments::default()
    }
}

fn ask(state: &str, question: &str, options: Value) -> Value {
    json!({"state": state, "question": question, "options": options})
}

/// Rewrites the artifact that `card` says it is for; the id stays that of the description.
fn rewrite(file: &Path, artifact: &str, change: impl Fn(&mut ArtifactDescription)) {
    let mut card: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut description: ArtifactDescription =
        serde_json::from_value(card[artifact]["description"].clone()).unwrap();
    change(&mut description);
    card[artifact]["id"] = json!(description.id());
    card[artifact]["description"] = json!(description);
    std::fs::write(file, card.to_string()).unwrap();
}

#[test]
fn a_fitted_head_answers_its_question_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let head = fit_into(folder.path());
    let served = Arc::new(with(&of_head(folder.path())).unwrap());
    assert_ne!(served.artifact_id(), service().artifact_id());
    assert_eq!(served.base_artifact(), service().artifact());
    let rig = Rig::serving(Arc::clone(&served), assize::http::ServerLimits::default());

    let asked = ask("rain and water, day 100", QUESTION, json!(["wet", "dry"]));
    let body = decide(rig.address, &asked).json();
    assert_eq!(body["head"], head.id());
    assert_eq!(body["artifact"], served.artifact_id().as_str());
    assert_eq!(body["mismatch"], json!([]));
    assert_eq!(body["answers"][0]["choice"], "wet");
    // The scores are the head's, of the hidden state that a fit reads.
    let decision = Decision {
        state: "rain and water, day 100".into(),
        ..row(0).decision
    };
    let prompt = served
        .prepare_for_head(&decision, head.card().prompt)
        .unwrap()
        .prompt();
    let hidden = served.hidden_states(&[prompt]).unwrap();
    let scores = head.head().scores(hidden.values(), 2).unwrap();
    for (found, score) in body["answers"][0]["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .zip(scores)
    {
        let raw = found["raw_score"].as_f64().unwrap();
        assert!((raw - f64::from(score)).abs() < 1e-4, "{raw} is not {score}");
        assert_eq!(found["probability"], found["raw_probability"]);
    }
    // A text is cut as the rows of the fit were, and the answer says so.
    let long = "rain and water ".repeat(200);
    let body = decide(rig.address, &ask(&long, QUESTION, json!(["wet", "dry"]))).json();
    assert!(body["truncated_tokens"].as_u64().unwrap() > 100, "{body}");
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() <= 120);

    for (question, options, says) in [
        (
            QUESTION,
            json!(["dry", "wet"]),
            [r#"["dry", "wet"]"#, r#"["wet", "dry"]"#],
        ),
        (
            QUESTION,
            json!(["wet", "dry", "icy"]),
            [r#""icy"]"#, r#"["wet", "dry"]"#],
        ),
        (
            "Funny?",
            json!(["wet", "dry"]),
            [r#""Funny?""#, r#""Wet or dry?""#],
        ),
        (
            QUESTION,
            json!(["wet", {"name": "dry", "description": "no water"}]),
            ["descriptions", r#"["wet", "dry"]"#],
        ),
    ] {
        let reply = decide(rig.address, &ask("sun", question, options.clone()));
        let message = reply.json()["error"]["message"].to_string().replace("\\\"", "\"");
        assert_eq!(reply.status, 422, "{message}");
        assert!(says.iter().all(|says| message.contains(says)), "{message}");
    }
    let predicate = json!({"state": "sun", "question": QUESTION, "type": "predicate"});
    assert_eq!(decide(rig.address, &predicate).status, 422);

    let named = |criteria: Value| {
        json!({"state": "sun", "model": "jev-latest", "questions": {
            "q": {"type": "choice", "instructions": QUESTION, "criteria": criteria}}})
    };
    let body = system_one(rig.address, &named(json!({"wet": null, "dry": null}))).json();
    assert_eq!(body["x_head"], head.id());
    assert_eq!(body["x_mismatch"], json!([]));
    let reply = system_one(rig.address, &named(json!({"dry": null, "wet": null})));
    assert_eq!(reply.status, 422, "{}", reply.json());

    let listed = get(rig.address, "/v1/models").json()["models"][0].clone();
    assert_eq!(listed["x_head"]["id"], head.id());
    assert_eq!(listed["x_head"]["question"]["options"][1]["name"], "dry");
    assert_eq!(listed["x_head"]["max_tokens"], 120);
}

#[test]
fn a_head_of_another_artifact_is_refused_or_marked() {
    let folder = tempfile::tempdir().unwrap();
    fit_into(folder.path());
    rewrite(&folder.path().join("head.json"), "base", |description| {
        description.precision = "int8".into();
        description.prompt_form = "0".repeat(64);
    });
    let made_for = FittedHead::open(folder.path())
        .unwrap()
        .card()
        .base
        .id
        .to_string();
    let Err(error) = with(&of_head(folder.path())) else {
        panic!("it is not for this artifact")
    };
    let error = error.to_string();
    for says in [
        made_for.as_str(),
        service().artifact_id().as_str(),
        "prompt_form (0000000000000000… and ",
        "precision (int8 and float32)",
        "assize head fit",
        "--allow-mismatch",
    ] {
        assert!(error.contains(says), "{error}");
    }
    let allowed = Attachments {
        allow_mismatch: true,
        ..of_head(folder.path())
    };
    let served = Arc::new(with(&allowed).unwrap());
    let rig = Rig::serving(served, assize::http::ServerLimits::default());
    for state in ["rain", "sun"] {
        let body = decide(rig.address, &ask(state, QUESTION, json!(["wet", "dry"]))).json();
        let mismatch = &body["mismatch"][0];
        assert_eq!(mismatch["kind"], "head");
        assert_eq!(mismatch["id"], body["head"]);
        assert_eq!(mismatch["made_for"], made_for.as_str());
        assert_eq!(mismatch["loaded"], service().artifact_id().as_str());
        assert_eq!(
            mismatch["differences"][1],
            json!({"field": "precision", "made_for": "int8", "loaded": "float32"})
        );
    }
    let asked = json!({"state": "sun", "model": "jev-latest", "questions": {
        "q": {"type": "choice", "instructions": QUESTION, "criteria": {"wet": null, "dry": null}}}});
    let body = system_one(rig.address, &asked).json();
    assert_eq!(body["x_mismatch"][0]["made_for"], made_for.as_str());
    let listed = get(rig.address, "/v1/models").json();
    assert_eq!(
        listed["models"][0]["x_mismatch"][0]["made_for"],
        made_for.as_str()
    );
}

/// A calibration of the tiny checkpoint's own readout.
fn calibration(map: &Value) -> Value {
    json!({
        "schema": "assize.calibration/1",
        "artifact": {"id": service().artifact_id(), "description": service().artifact()},
        "calibrator": {"version": 1, "argmax": "kept", "map": map},
    })
}

fn of_calibration(file: &Path, allow_mismatch: bool) -> Attachments {
    Attachments {
        head: None,
        calibration: Some(file.to_owned()),
        allow_mismatch,
    }
}

#[test]
fn a_calibration_is_applied_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cal.json");
    std::fs::write(
        &file,
        calibration(&json!({"kind": "temperature", "temperature": 0.25})).to_string(),
    )
    .unwrap();
    let id = format!(
        "cal-{}",
        &hex::encode(Sha256::digest(std::fs::read(&file).unwrap()))[..16]
    );
    let served = Arc::new(with(&of_calibration(&file, false)).unwrap());
    // A calibration is applied to scores; the artifact that gave them is what it was.
    assert_eq!(served.artifact_id(), service().artifact_id());
    let rig = Rig::serving(served, assize::http::ServerLimits::default());
    let plain = Rig::start();
    let asked = json!({"state": "The tea was cold.", "questions": [
        {"type": "choice", "question": "What?", "options": ["tea", "snow", "x"]},
        {"type": "predicate", "question": "Was it cold?"},
        {"type": "score", "question": "How cold?", "levels": ["a little", "very"]},
    ]});
    let (found, raw) = (
        decide(rig.address, &asked).json(),
        decide(plain.address, &asked).json(),
    );
    assert_eq!(found["calibration"], id.as_str());
    assert_eq!(found["mismatch"], json!([]));
    let probabilities = |body: &Value, answer: usize, field: &str| -> Vec<f64> {
        let entries = body["answers"][answer]["probabilities"].as_array().unwrap();
        entries
            .iter()
            .map(|entry| entry[field].as_f64().unwrap())
            .collect()
    };
    for answer in [0, 2] {
        let before = probabilities(&raw, answer, "probability");
        for (one, other) in probabilities(&found, answer, "raw_probability")
            .iter()
            .zip(&before)
        {
            assert!((one - other).abs() < 1e-6);
        }
        // softmax(s / T) is p^(1/T), normalised.
        let total: f64 = before.iter().map(|p| p.powi(4)).sum();
        for (one, other) in probabilities(&found, answer, "probability").iter().zip(&before) {
            assert!((one - other.powi(4) / total).abs() < 1e-5, "{found}");
        }
    }
    let p = |body: &Value, field: &str| body["answers"][1][field].as_f64().unwrap();
    let before = p(&raw, "probability");
    assert!((p(&found, "raw_probability") - before).abs() < 1e-6);
    let total = before.powi(4) + (1.0 - before).powi(4);
    assert!((p(&found, "probability") - before.powi(4) / total).abs() < 1e-5);
    let one = json!({"state": "sun", "model": "jev-latest", "questions": {"q": {"type": "noul", "instructions": "Hot?"}}});
    assert_eq!(system_one(rig.address, &one).json()["x_calibration"], id.as_str());
    let listed = get(rig.address, "/v1/models").json();
    assert_eq!(listed["models"][0]["x_calibration"], id.as_str());
    assert!(get(plain.address, "/v1/models").json()["models"][0]["x_calibration"].is_null());
}

#[test]
fn a_question_that_a_calibration_is_not_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cal.json");
    let platt = json!({"kind": "platt", "slope": 1.0, "intercept": 0.0, "targets": "plain"});
    let mut of_question = calibration(&platt);
    std::fs::write(&file, of_question.to_string()).unwrap();
    let Err(error) = with(&of_calibration(&file, false)) else {
        panic!("it does not say what it is for")
    };
    assert!(error.to_string().contains("`question` is missing"), "{error}");
    of_question["question"] = json!({"shape": "predicate", "options": ["false", "true"], "text": "Cold?"});
    std::fs::write(&file, of_question.to_string()).unwrap();
    let served = Arc::new(with(&of_calibration(&file, false)).unwrap());
    let rig = Rig::serving(served, assize::http::ServerLimits::default());
    let reply = decide(rig.address, &ask("tea", "What?", json!(["tea", "snow"])));
    assert_eq!(reply.status, 422);
    let message = reply.error()["message"].to_string();
    assert!(
        message.contains("cal-") && message.contains("predicate"),
        "{message}"
    );
    let predicate = json!({"state": "tea", "question": "Cold?", "type": "predicate"});
    assert_eq!(decide(rig.address, &predicate).status, 200);
    let other = json!({"state": "tea", "question": "Hot?", "type": "predicate"});
    let reply = decide(rig.address, &other);
    assert_eq!(reply.status, 422);
    let message = reply.error()["message"].to_string();
    assert!(message.contains("Cold?") && message.contains("Hot?"), "{message}");
}

#[test]
fn a_calibration_of_options_goes_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cal.json");
    let vector = json!({"kind": "vector", "weights": [1.0, 1.0], "biases": [1.5, -1.5], "ridge": 0.01});
    let mut of_options = calibration(&vector);
    of_options["calibrator"]["argmax"] = json!("may_change");
    of_options["question"] = json!({"shape": "choice", "options": ["tea", "snow"]});
    std::fs::write(&file, of_options.to_string()).unwrap();
    let served = Arc::new(with(&of_calibration(&file, false)).unwrap());
    let rig = Rig::serving(served, assize::http::ServerLimits::default());
    for options in [["tea", "snow"], ["snow", "tea"]] {
        let body = decide(rig.address, &ask("hot", "What?", json!(options))).json();
        let of = |name: &str, field: &str| {
            let entries = body["answers"][0]["probabilities"].as_array().unwrap();
            let entry = entries.iter().find(|entry| entry["option"] == name).unwrap();
            entry[field].as_f64().unwrap()
        };
        let odds = |field: &str| (of("tea", field) / of("snow", field)).ln();
        let moved = odds("probability") - odds("raw_probability");
        assert!((moved - 3.0).abs() < 1e-4, "{options:?}: {moved}");
    }
    let reply = decide(rig.address, &ask("hot", "What?", json!(["tea", "rain"])));
    assert_eq!(reply.status, 422);
}

#[test]
fn a_calibration_of_another_artifact_is_refused_or_marked_and_a_damaged_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cal.json");
    let sound = calibration(&json!({"kind": "temperature", "temperature": 2.0}));
    std::fs::write(&file, sound.to_string()).unwrap();
    rewrite(&file, "artifact", |description| description.readout = "r".into());
    let Err(error) = with(&of_calibration(&file, false)) else {
        panic!("it is not for this artifact")
    };
    let error = error.to_string();
    assert!(
        error.contains("calibration cal-") && error.contains("readout (r and "),
        "{error}"
    );
    let served = Arc::new(with(&of_calibration(&file, true)).unwrap());
    let rig = Rig::serving(served, assize::http::ServerLimits::default());
    let body = decide(rig.address, &ask("tea", "What?", json!(["tea", "snow"]))).json();
    assert_eq!(body["mismatch"][0]["kind"], "calibration");
    assert_eq!(body["mismatch"][0]["id"], body["calibration"]);

    let changed = |change: &dyn Fn(&mut Value)| {
        let mut changed = sound.clone();
        change(&mut changed);
        changed.to_string()
    };
    for (bytes, says) in [
        (String::new(), "EOF"),
        (sound.to_string()[..200].to_owned(), "EOF"),
        (
            changed(&|file| file["schema"] = json!("assize.calibration/2")),
            "assize.calibration/1",
        ),
        (
            changed(&|file| file["artifact"]["id"] = json!("art-0000000000000000")),
            "`artifact.id`",
        ),
        (
            changed(&|file| file["calibrator"]["map"]["temperature"] = json!(-1)),
            "temperature is -1",
        ),
        (changed(&|file| file["calibrator"] = json!({})), "missing field"),
        (
            changed(&|file| file["artifact"] = json!(null)),
            "`artifact` is null",
        ),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let Err(error) = with(&of_calibration(&file, true)) else {
            panic!("{says}")
        };
        let error = error.to_string();
        assert!(error.contains("cal.json") && error.contains(says), "{error}");
    }
    let Err(error) = with(&of_calibration(Path::new("/no/such/file"), true)) else {
        panic!("there is none")
    };
    assert!(error.to_string().contains("/no/such/file"));
}
