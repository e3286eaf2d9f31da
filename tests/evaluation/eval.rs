//! `assize eval`: figures, faults, runs that are taken up, predictions of others.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{Rig, rows};

#[test]
fn rows_are_judged_and_faults_are_counted_and_end_in_their_own_exit_code() {
    let rig = Rig::new();
    let bad = [
        json!({"id": "bad", "state": "s", "question": "q", "options": ["a", "b"], "gold": "c", "why": 1}),
        json!({"id": "long", "state": "word ".repeat(5000), "question": "q", "options": ["a", "b"], "gold": "a"}),
        json!({"id": "lost", "state": "", "image": "none.png", "question": "q", "options": ["a", "b"], "gold": "a"}),
    ];
    rig.write("rows.jsonl", rows(30).chain(bad));
    let (out, error) = rig.run(3, &["eval", "rows.jsonl", "--out", "judged", "--resamples", "50"]);
    for says in [
        "accuracy",
        "| g1",
        "30 rows judged, 3 failed",
        "not read: why",
        "report.html",
    ] {
        assert!(out.contains(says), "{out}");
    }
    for says in [
        "3 of 33 rows failed",
        "row 31, gold",
        "row 32, state",
        "--truncate",
        "row 33, image",
        "none.png",
    ] {
        assert!(error.contains(says), "{error}");
    }
    let record = rig.json("judged/evaluation.json");
    assert_eq!(record["schema"], "assize.evaluation/1");
    assert_eq!(
        (&record["rows"]["judged"], &record["rows"]["failed"]),
        (&json!(30), &json!(3))
    );
    assert_eq!(record["evaluation"]["rows_with_ratings"], 8);
    let html = std::fs::read_to_string(rig.path("judged/report.html")).unwrap();
    assert!(html.contains("<html") && html.contains("3 rows failed"));

    // One line a row, in the rows' order, and each equals what a decision alone gives.
    let lines = rig.lines("judged/predictions.jsonl");
    assert_eq!(lines[0]["schema"], "assize.predictions/1");
    let numbers: Vec<u64> = lines[1..]
        .iter()
        .map(|line| line["row"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=33).collect::<Vec<_>>());
    assert_eq!(lines[31]["error"]["field"], "gold");
    let state = "Some rain fell on the hills. ".repeat(1 + 2 * 7 % 9);
    let arguments = [
        "decide",
        &state,
        "-q",
        "What falls?",
        "-o",
        "rain",
        "-o",
        "snow",
        "-o",
        "hail",
        "--json",
    ];
    let (alone, _) = rig.run(0, &arguments);
    let alone: Value = serde_json::from_str(&alone).unwrap();
    for (option, p) in lines[3]["probabilities"].as_array().unwrap().iter().enumerate() {
        let expected = alone["answers"][0]["probabilities"][option]["probability"]
            .as_f64()
            .unwrap();
        assert!(
            (p.as_f64().unwrap() - expected).abs() < 1e-5,
            "{} {alone}",
            lines[3]
        );
    }

    // The same command does nothing again, and says the same as JSON.
    let (out, _) = rig.run(
        3,
        &[
            "eval",
            "rows.jsonl",
            "--out",
            "judged",
            "--resamples",
            "50",
            "--json",
        ],
    );
    let again: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&again["run"]["forward_rows"], &again["run"]["rows_before"]),
        (&json!(0), &json!(33))
    );
    assert_eq!(again["evaluation"], record["evaluation"]);
    // So does the prediction file alone.
    let (out, _) = rig.run(
        3,
        &[
            "eval",
            "--predictions",
            "judged/predictions.jsonl",
            "--resamples",
            "50",
            "--json",
        ],
    );
    let from_file: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(from_file["evaluation"], record["evaluation"]);

    // Another question is another run.
    let other = ["eval", "rows.jsonl", "--out", "judged", "--order-averages", "2"];
    let (_, error) = rig.run(1, &other);
    assert!(
        error.contains("settings.order_averages (1 there, 2 now)") && error.contains("--restart"),
        "{error}"
    );
    rig.run(3, &[&other[..], &["--restart"]].concat());
}

#[test]
fn a_killed_run_is_taken_up_and_gives_the_same_bytes() {
    const ROWS: usize = 900;
    let rig = Rig::new();
    rig.write("rows.jsonl", rows(ROWS));
    let eval = |out: &'static str| {
        [
            "eval",
            "rows.jsonl",
            "--out",
            out,
            "--resamples",
            "50",
            "--threads",
            "1",
            "--batch-tokens",
            "300",
        ]
    };
    rig.run(0, &eval("whole"));
    let mut child = rig
        .command(&eval("killed"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let predictions = rig.path("killed/predictions.jsonl");
    let started = Instant::now();
    loop {
        let lines = std::fs::read(&predictions)
            .map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
        if lines > 100 {
            break;
        }
        assert!(
            started.elapsed() < Duration::from_secs(120) && child.try_wait().unwrap().is_none(),
            "{lines} lines"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    // SIGKILL on Unix.
    child.kill().unwrap();
    child.wait().unwrap();
    let text = std::fs::read_to_string(&predictions).unwrap();
    let before = text.matches('\n').count() - 1;
    assert!(
        (100..ROWS).contains(&before),
        "{before} rows were done before the kill"
    );
    // As if the kill had come in the middle of a line.
    let mut torn = std::fs::OpenOptions::new()
        .append(true)
        .open(&predictions)
        .unwrap();
    torn.write_all(b"{\"row\":").unwrap();

    rig.run(0, &eval("killed"));
    let (mut whole, mut taken_up) = (
        rig.json("whole/evaluation.json"),
        rig.json("killed/evaluation.json"),
    );
    assert_eq!(taken_up["run"]["rows_before"], before);
    assert_eq!(taken_up["run"]["forward_rows"], ROWS - before);
    for record in [&mut whole, &mut taken_up] {
        record.as_object_mut().unwrap().remove("run");
    }
    assert_eq!(whole.to_string(), taken_up.to_string());
    let rows = |name: &str| rig.lines(name)[1..].to_vec();
    assert_eq!(rows("whole/predictions.jsonl"), rows("killed/predictions.jsonl"));
}

#[test]
fn a_second_run_on_the_same_file_is_refused() {
    let rig = Rig::new();
    rig.write("rows.jsonl", rows(3));
    std::fs::create_dir(rig.path("out")).unwrap();
    let held = std::fs::File::create(rig.path("out/predictions.jsonl")).unwrap();
    held.lock().unwrap();
    for arguments in [
        &["eval", "rows.jsonl", "--out", "out"][..],
        &["eval", "rows.jsonl", "--out", "out", "--restart"],
    ] {
        let (_, error) = rig.run(1, arguments);
        assert!(error.contains("another run is writing this file"), "{error}");
    }
    drop(held);
    rig.run(0, &["eval", "rows.jsonl", "--out", "out"]);
}

#[test]
fn predictions_of_others_are_judged_without_a_model() {
    let rig = Rig::new();
    rig.write(
        "theirs.jsonl",
        [
            json!({"id": "a", "probabilities": [0.7, 0.3], "gold": 0, "extra": 1}),
            json!({"id": "b", "options": ["x", "y"], "probabilities": {"y": 0.9, "x": 0.1}, "gold": "x"}),
            json!({"id": "c", "probability": 0.8, "gold": true}),
            json!({"id": "d", "probabilities": [0.7, 0.2], "gold": 0}),
            json!({"id": "e", "probabilities": [1.7, -0.7], "gold": 0}),
            json!({"id": "f", "probabilities": [0.5, 0.5], "gold": 2}),
            json!({"id": "a", "probabilities": [0.5, 0.5], "gold": 1}),
            json!({"id": "g", "type": "score", "options": ["low", "high"], "probabilities": [0.5, 0.5], "ratings": [1, 3]}),
            json!({"id": "h", "probabilities": [0.5, 0.5]}),
        ],
    );
    let (out, error) = rig.run(
        3,
        &[
            "eval",
            "--predictions",
            "theirs.jsonl",
            "--json",
            "--resamples",
            "20",
        ],
    );
    let record: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&record["rows"]["judged"], &record["rows"]["failed"]),
        (&json!(4), &json!(5))
    );
    assert_eq!(record["rows"]["ignored_columns"], json!(["extra"]));
    assert_eq!(record["predictions"], Value::Null);
    let accuracy = &record["evaluation"]["overall"]["defined"][0];
    assert_eq!(
        (&accuracy["metric"], &accuracy["estimate"]),
        (&json!("accuracy"), &json!(0.5))
    );
    for says in [
        "row 4, probabilities: sum to 0.89",
        "row 5, probabilities: 1.7 is no probability",
        "row 6, gold_index: is the number 2",
        "row 7, id: \"a\" is the id of an earlier row",
        "row 9, gold: is missing",
    ] {
        assert!(error.contains(says), "{error}");
    }
    // What belongs to asking a model is not silently left out.
    let (_, error) = rig.run(2, &["eval", "--predictions", "theirs.jsonl", "--split", "test"]);
    assert!(error.contains("--split"), "{error}");
    std::fs::write(rig.path("empty.jsonl"), "").unwrap();
    let (_, error) = rig.run(1, &["eval", "--predictions", "empty.jsonl"]);
    assert!(error.contains("holds no rows"), "{error}");
}
