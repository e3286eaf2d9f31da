//! `assize calibrate`: before and after on unseen rows, and the artifact that a calibration belongs to.

use serde_json::{Value, json};

use crate::rig::{Rig, rows};

/// Predicates whose true log-odds are a third of what the scores say, from a fixed sequence.
fn overconfident(prefix: &str, count: usize) -> Vec<Value> {
    let mut state: u64 = prefix.bytes().map(u64::from).sum();
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count)
        .map(|n| {
            let log_odds = 4.0 * random() - 2.0;
            let gold = random() < 1.0 / (1.0 + (-log_odds).exp());
            let p = 1.0 / (1.0 + (-3.0 * log_odds).exp());
            json!({"id": format!("{prefix}{n}"), "probability": p, "gold": gold})
        })
        .collect()
}

#[test]
fn rows_with_a_prompt_that_was_fitted_on_are_left_out() {
    let rig = Rig::new();
    rig.write("fit.jsonl", rows(40));
    // Ten of them again under other ids, and others.
    let renamed = |mut row: Value, n: usize| {
        row["id"] = json!(format!("again{n}"));
        row
    };
    let again: Vec<Value> = rows(10).enumerate().map(|(n, row)| renamed(row, n)).collect();
    let other = |n: usize| json!({"id": format!("o{n}"), "state": format!("Sun, {n}."), "question": "Is it wet?", "gold": n.is_multiple_of(2)});
    rig.write("test.jsonl", again.iter().cloned().chain((0..20).map(other)));
    rig.write("same.jsonl", again);
    for name in ["fit", "test", "same"] {
        rig.run(
            0,
            &[
                "eval",
                &format!("{name}.jsonl"),
                "--out",
                name,
                "--resamples",
                "10",
            ],
        );
    }
    let calibrate = |code, test: &str| {
        let test = format!("{test}/predictions.jsonl");
        rig.run(
            code,
            &[
                "calibrate",
                "fit/predictions.jsonl",
                "--test",
                &test,
                "--out",
                "c.json",
            ],
        )
    };
    let (out, _) = calibrate(0, "test");
    let judged = &rig.json("c.json")["evaluated_on"];
    let (seen, left) = (judged["seen"].as_u64().unwrap(), judged["rows"].as_u64().unwrap());
    // Rows of ratings whose winner is tied are judged by no calibration.
    assert!((8..=10).contains(&seen) && left == 20, "{judged}");
    assert!(
        out.contains(&format!("{seen} of its rows have a prompt that was fitted on")),
        "{out}"
    );
    let (_, error) = calibrate(1, "same");
    assert!(error.contains("not fitted on"), "{error}");
}

#[test]
fn a_calibration_is_fitted_and_judged_on_rows_it_has_not_seen() {
    let rig = Rig::new();
    rig.write("fit.jsonl", overconfident("f", 1500));
    rig.write("test.jsonl", overconfident("t", 1500));
    let (out, _) = rig.run(
        0,
        &[
            "calibrate",
            "fit.jsonl",
            "--test",
            "test.jsonl",
            "--precision",
            "0.8",
            "--coverage",
            "0.9",
            "--out",
            "c.json",
        ],
    );
    for says in [
        "chosen",
        "NLL",
        "accept \"true\" from",
        "approve",
        "sets of options",
    ] {
        assert!(out.contains(says), "{out}");
    }
    let file = rig.json("c.json");
    assert_eq!(file["schema"], "assize.calibration/1");
    let judged = &file["evaluated_on"];
    let nll = |key: &str| judged[key].as_f64().unwrap();
    assert_eq!(
        (&judged["how"], &judged["rows"], &judged["improved"]),
        (&json!("test file"), &json!(1500), &json!(true))
    );
    assert!(nll("nll_after") < nll("nll_before") - 0.1, "{judged}");
    assert!(nll("ece_after") < 0.05, "{judged}");
    let temperature = file["tried"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tried| tried["candidate"]["kind"] == "temperature");
    assert!(temperature.unwrap()["nll"].as_f64().unwrap() < nll("nll_before") - 0.1);
    let tested = file["promises"]["routing"]["testing_rows"].as_u64().unwrap();
    let volumes = &file["promises"]["volumes"];
    let all: u64 = ["approve", "review", "reject"]
        .iter()
        .map(|route| volumes[route]["rows"].as_u64().unwrap())
        .sum();
    assert_eq!(all, tested);

    // It gives the figures that were promised.
    let (out, _) = rig.run(
        0,
        &[
            "eval",
            "--predictions",
            "test.jsonl",
            "--calibration",
            "c.json",
            "--resamples",
            "20",
            "--json",
        ],
    );
    let record: Value = serde_json::from_str(&out).unwrap();
    let of = |figures: &Value| {
        let all = figures["overall"]["defined"].as_array().unwrap();
        all.iter().find(|figure| figure["metric"] == "nll").unwrap()["estimate"]
            .as_f64()
            .unwrap()
    };
    assert!((of(&record["evaluation"]) - nll("nll_after")).abs() < 1e-9);
    assert!((of(&record["before_calibration"]) - nll("nll_before")).abs() < 1e-6);

    // By folds and by share as well.
    rig.run(0, &["calibrate", "fit.jsonl", "--out", "folds.json"]);
    assert_eq!(rig.json("folds.json")["evaluated_on"]["how"], "held-out folds");
    rig.run(
        0,
        &[
            "calibrate",
            "fit.jsonl",
            "--fit-share",
            "0.6",
            "--out",
            "share.json",
        ],
    );
    let share = rig.json("share.json");
    let rows = |part: &str| share[part]["rows"].as_u64().unwrap();
    assert_eq!(rows("fitted_on") + rows("evaluated_on"), 1500);

    for (arguments, says) in [
        (
            &["calibrate", "fit.jsonl", "--test", "fit.jsonl"][..],
            "1500 of its rows are among those",
        ),
        (
            &["calibrate", "fit.jsonl", "--precision", "0.9"],
            "needs rows that the calibration is not fitted to",
        ),
        (
            &["calibrate", "fit.jsonl", "--fit-share", "1.5"],
            "--fit-share 1.5",
        ),
        (&["calibrate", "none.jsonl"], "none.jsonl"),
    ] {
        let (_, error) = rig.run(1, arguments);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_calibration_that_is_no_improvement_says_so() {
    let rig = Rig::new();
    // Fitted on rows whose answers are turned round, it is worse than nothing on those that are not.
    let turned = overconfident("f", 600).into_iter().map(|mut row| {
        row["gold"] = json!(!row["gold"].as_bool().unwrap());
        row
    });
    rig.write("fit.jsonl", turned);
    rig.write(
        "test.jsonl",
        overconfident("t", 600).into_iter().map(|mut row| {
            // What is surely right is not to be bettered.
            row["gold"] = json!(row["probability"].as_f64().unwrap() > 0.5);
            row
        }),
    );
    let (out, _) = rig.run(0, &["calibrate", "fit.jsonl", "--test", "test.jsonl"]);
    assert!(out.contains("NO IMPROVEMENT"), "{out}");
    assert_eq!(rig.json("calibration.json")["evaluated_on"]["improved"], false);
}

#[test]
fn a_calibration_belongs_to_its_artifact() {
    let rig = Rig::new();
    rig.write("rows.jsonl", rows(40));
    rig.run(
        0,
        &[
            "eval",
            "rows.jsonl",
            "--out",
            "one",
            "--precision",
            "float32",
            "--resamples",
            "20",
        ],
    );
    rig.run(
        0,
        &[
            "eval",
            "rows.jsonl",
            "--out",
            "two",
            "--precision",
            "int8",
            "--resamples",
            "20",
        ],
    );
    rig.run(0, &["calibrate", "one/predictions.jsonl", "--folds", "3"]);
    let apply = |predictions: &'static str| {
        [
            "eval",
            "--predictions",
            predictions,
            "--calibration",
            "calibration.json",
            "--resamples",
            "20",
        ]
    };
    rig.run(0, &apply("one/predictions.jsonl"));
    let (_, error) = rig.run(1, &apply("two/predictions.jsonl"));
    assert!(
        error.contains("precision") && error.contains("--allow-mismatch"),
        "{error}"
    );
    let allowed = [&apply("two/predictions.jsonl")[..], &["--allow-mismatch"]].concat();
    let (out, _) = rig.run(0, &[&allowed[..], &["--out", "allowed"]].concat());
    assert!(out.contains("MISMATCH: calibration cal-"), "{out}");
    let record = rig.json("allowed/evaluation.json");
    let marked = record["calibration_mismatch"].as_str().unwrap();
    assert!(marked.contains("differs in precision"), "{marked}");
    let html = std::fs::read_to_string(rig.path("allowed/report.html")).unwrap();
    assert!(html.contains("MISMATCH: calibration cal-"));
    let unmarked = rig
        .run(0, &[&apply("one/predictions.jsonl")[..], &["--json"]].concat())
        .0;
    assert!(unmarked.contains("\"calibration_mismatch\": null"), "{unmarked}");
    // The model takes it, and what it answers is what the file says.
    rig.run(
        0,
        &[
            "eval",
            "rows.jsonl",
            "--out",
            "three",
            "--precision",
            "float32",
            "--calibration",
            "calibration.json",
            "--resamples",
            "20",
        ],
    );
    let three = rig.json("three/evaluation.json");
    assert!(three["calibration"].as_str().unwrap().starts_with("cal-"));
    assert!(three["before_calibration"].is_object());

    // Both read the same tokens; their probabilities differ by the precision alone.
    let (out, _) = rig.run(
        0,
        &[
            "compare",
            "one/predictions.jsonl",
            "two/predictions.jsonl",
            "--out",
            "compared",
            "--resamples",
            "20",
        ],
    );
    for says in [
        "same tokens in all 40 rows",
        "the artifacts differ in precision",
        "McNemar",
        "g2: ",
    ] {
        assert!(out.contains(says), "{out}");
    }
    let record = rig.json("compared/comparison.json");
    assert_eq!(
        record["prompts"],
        json!({"same": 40, "different": 0, "different_ids": []})
    );
    assert!(
        record["comparison"]["overall"]["change"]["largest"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    let html = std::fs::read_to_string(rig.path("compared/comparison.html")).unwrap();
    assert!(html.contains("Group g1"));
    let (out, _) = rig.run(
        0,
        &[
            "compare",
            "one/predictions.jsonl",
            "one/predictions.jsonl",
            "--json",
            "--resamples",
            "20",
        ],
    );
    let same: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(same["comparison"]["overall"]["agreement"], 1.0);
    assert_eq!(same["comparison"]["overall"]["change"]["largest"], 0.0);
    assert_eq!(same["artifact_differences"], json!([]));
}
