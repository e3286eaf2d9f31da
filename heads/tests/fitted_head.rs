//! A fitted head on disk: what is written is read again, and what is damaged is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use assize_heads::FittedHead;
use assize_heads::fit::{FitOptions, Folds, HiddenRows, fit};
use assize_heads::fitted_head::{
    HeadBase, HeadCard, HeadData, HeadQuality, HeadQuestion, HeadTraining, PromptCut, write,
};
use assize_models::ArtifactDescription;
use assize_preprocess::prompt::Truncate;
use serde_json::{Value, json};

fn card(rows: &HiddenRows) -> HeadCard {
    let description = ArtifactDescription {
        weights: "w".into(),
        tokenizer: "t".into(),
        prompt_form: "p".into(),
        readout: "r".into(),
        precision: "float32".into(),
        engine: "onnx/3".into(),
        mask_style: None,
        layers: None,
    };
    HeadCard {
        schema: HeadCard::SCHEMA.into(),
        program: "test".into(),
        weights_sha256: String::new(),
        fingerprint: String::new(),
        base: HeadBase {
            model: "m".into(),
            id: description.id(),
            description,
        },
        question: HeadQuestion::Predicate {
            question: Some("Is it?".into()),
            when_true: None,
            when_false: None,
        },
        width: 0,
        prompt: PromptCut {
            max_tokens: 64,
            truncate: Truncate::End,
        },
        data: HeadData {
            name: "d".into(),
            sha256: "0".into(),
            source_sha256: None,
            split: "all".into(),
            rows: rows.len(),
            groups: rows.len(),
            per_option: rows.per_option(),
            truncated_rows: 0,
        },
        training: HeadTraining {
            method: "m".into(),
            folds: Folds::default(),
            tried: Vec::new(),
            c: 1.0,
            depths: Vec::new(),
            temperature: 1.0,
        },
        cross_validated: HeadQuality {
            rows: rows.len(),
            accuracy: 1.0,
            nll: 0.1,
            ece15: 0.01,
        },
        held_out: None,
    }
}

fn write_into(folder: &Path, flip: usize) -> FittedHead {
    let mut rows = HiddenRows::new(3, 2).unwrap();
    for row in 0..20_u8 {
        let x = f32::from(row) - 9.5;
        let gold = usize::from((x > 0.0) ^ (row % 7 == 0)) ^ flip;
        rows.push(&[x, x.sin(), 1.0], gold, &row.to_string()).unwrap();
    }
    let fitted = fit(&rows, &FitOptions::default(), || {}).unwrap();
    let head = write(folder, card(&rows), &fitted.normaliser, &fitted.weights).unwrap();
    // What is read scores as what was fitted, but for the rounding to float32.
    for (hidden, x) in rows.hidden().zip(fitted.normaliser.apply(&rows).chunks_exact(3)) {
        let read = head.head().scores(hidden, 2).unwrap();
        for (read, fitted) in read.iter().zip(fitted.weights.scores(x)) {
            assert!((f64::from(*read) - fitted).abs() < 1e-5);
        }
    }
    head
}

#[test]
fn equal_fits_are_equal_files_and_a_second_one_replaces_the_first() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = write_into(one.path(), 0);
    assert_eq!(first.fingerprint(), write_into(two.path(), 0).fingerprint());
    let other = write_into(one.path(), 1);
    assert_ne!(first.id(), other.id());
    assert_eq!(FittedHead::open(one.path()).unwrap().id(), other.id());
    // Figures in the card make no other head, and another question is that of another fit.
    let card_path = one.path().join("head.json");
    let sound = std::fs::read_to_string(&card_path).unwrap();
    let rewritten = |from: &str, to: &str| {
        assert!(sound.contains(from));
        std::fs::write(&card_path, sound.replace(from, to)).unwrap();
        let opened = FittedHead::open(one.path());
        opened.map(|head| head.id()).map_err(|error| error.to_string())
    };
    assert_eq!(rewritten("\"nll\": 0.1", "\"nll\": 0.2"), Ok(other.id()));
    for (from, to) in [
        ("Is it?", "Was it?"),
        ("\"max_tokens\": 64", "\"max_tokens\": 65"),
    ] {
        let error = rewritten(from, to).unwrap_err();
        assert!(error.contains("the card was changed"), "{error}");
    }
    assert_eq!(rewritten("Is it?", "Is it?"), Ok(other.id()));
    // Named by its file, it is the same head.
    let by_file = FittedHead::open(&one.path().join("head.safetensors")).unwrap();
    assert_eq!(by_file.id(), other.id());
    let files: Vec<_> = std::fs::read_dir(one.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "no scratch file is left: {files:?}");
}

#[test]
fn damage_is_refused_with_the_file_and_the_reason() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_into(one.path(), 0);
    write_into(two.path(), 1);
    let (weights, json) = (one.path().join("head.safetensors"), one.path().join("head.json"));
    let (sound_weights, sound_json) = (std::fs::read(&weights).unwrap(), std::fs::read(&json).unwrap());
    let error = || FittedHead::open(one.path()).unwrap_err().to_string();
    let card = |change: &dyn Fn(&mut Value)| {
        let mut card: Value = serde_json::from_slice(&sound_json).unwrap();
        change(&mut card);
        card.to_string().into_bytes()
    };
    for (bytes, says) in [
        (Vec::new(), "EOF"),
        (sound_json[..300].to_vec(), "EOF"),
        (b"\x80".to_vec(), "expected value"),
        (
            card(&|card| card["schema"] = json!("assize.head/2")),
            "assize.head/1",
        ),
        (card(&|card| card["base"]["id"] = json!("art-0")), "`base.id`"),
        (
            card(&|card| card["base"]["description"]["precision"] = json!("int8")),
            "`base.id`",
        ),
        (card(&|card| card["extra"] = json!(1)), "extra"),
        (card(&|card| card["width"] = json!(4)), "a width of 4"),
        (
            card(&|card| card["prompt"]["max_tokens"] = json!(0)),
            "max_tokens",
        ),
        (
            card(&|card| card["prompt"]["truncate"] = json!("error")),
            "prompt.truncate",
        ),
        (
            card(&|card| {
                card["question"] =
                    json!({"type": "choice", "options": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
            }),
            "3 options",
        ),
        (
            card(&|card| card["weights_sha256"] = json!("00")),
            "not of one fit",
        ),
    ] {
        std::fs::write(&json, bytes).unwrap();
        let error = error();
        assert!(error.contains("head.json") && error.contains(says), "{error}");
    }
    std::fs::write(&json, &sound_json).unwrap();
    // The numbers of another fit, cut ones, and ones with a changed bit.
    std::fs::copy(two.path().join("head.safetensors"), &weights).unwrap();
    assert!(error().contains("not of one fit"), "{}", error());
    std::fs::write(&weights, &sound_weights[..sound_weights.len() - 1]).unwrap();
    assert!(error().contains("head.safetensors"), "{}", error());
    let mut changed = sound_weights.clone();
    *changed.last_mut().unwrap() ^= 1;
    std::fs::write(&weights, &changed).unwrap();
    assert!(error().contains("not of one fit"), "{}", error());
    std::fs::remove_file(&weights).unwrap();
    assert!(error().contains("head.safetensors"), "{}", error());
    std::fs::write(&weights, &sound_weights).unwrap();
    FittedHead::open(one.path()).unwrap();
    std::fs::remove_file(&json).unwrap();
    assert!(error().contains("head.json"), "{}", error());
}
