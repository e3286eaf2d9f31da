//! Options are told apart by their names: the order in which a row lists them changes no figure and no calibration.

use serde_json::{Value, json};

use crate::rig::Rig;

/// Choices between "good" and "bad" whose scores lean to "good" far too much, listed the other way round where `turned` says so.
fn leaning(prefix: &str, turned: impl Fn(usize) -> bool) -> Vec<Value> {
    (0..400)
        .map(|n| {
            let right = (n * 7 + prefix.len()) % 10;
            let p = 0.6 + 0.03 * (n % 11) as f64;
            let gold = if right < 4 - (n % 11) / 4 { "good" } else { "bad" };
            let (mut options, mut probabilities) = (["good", "bad"], [p, 1.0 - p]);
            if turned(n) {
                options.reverse();
                probabilities.reverse();
            }
            json!({"id": format!("{prefix}{n}"), "options": options, "probabilities": probabilities, "gold": gold})
        })
        .collect()
}

fn figures(rig: &Rig, arguments: &[&str]) -> Value {
    let common = ["eval", "--json", "--resamples", "20", "--predictions"];
    let (out, _) = rig.run(0, &[&common[..], arguments].concat());
    let mut record: Value = serde_json::from_str(&out).unwrap();
    record["evaluation"].take()
}

#[test]
fn the_order_in_which_options_are_listed_changes_no_figure() {
    let rig = Rig::new();
    rig.write("plain.jsonl", leaning("a", |_| false));
    rig.write("mixed.jsonl", leaning("a", |n| n % 3 == 1));
    let plain = figures(&rig, &["plain.jsonl"]);
    assert_eq!(plain, figures(&rig, &["mixed.jsonl"]));
    assert!(plain["overall"]["defined"].as_array().unwrap().len() > 20);
    // Both files answer alike, row by row.
    let (out, _) = rig.run(
        0,
        &[
            "compare",
            "plain.jsonl",
            "mixed.jsonl",
            "--json",
            "--resamples",
            "20",
        ],
    );
    let found: Value = serde_json::from_str(&out).unwrap();
    let overall = &found["comparison"]["overall"];
    assert_eq!(
        (&overall["rows"], &overall["same_answer"]),
        (&json!(400), &json!(400))
    );
    assert_eq!(overall["change"]["largest"], json!(0.0), "{overall}");
}

#[test]
fn vector_scaling_goes_by_names_and_is_for_no_other_options() {
    let rig = Rig::new();
    rig.write("fit.jsonl", leaning("fit", |n| n % 3 == 1));
    rig.run(
        0,
        &["calibrate", "fit.jsonl", "--may-change-answer", "--out", "c.json"],
    );
    let file = rig.json("c.json");
    assert_eq!(file["calibrator"]["map"]["kind"], "vector", "{file}");
    assert_eq!(
        file["question"],
        json!({"shape": "choice", "options": ["good", "bad"]})
    );
    rig.write("plain.jsonl", leaning("t", |_| false));
    rig.write("turned.jsonl", leaning("t", |_| true));
    let with = |name| {
        let found = figures(&rig, &[name, "--calibration", "c.json"]);
        let of = found["overall"]["defined"].as_array().unwrap().iter();
        let mut of = of.filter(|figure| figure["metric"] == "nll");
        of.next().unwrap()["estimate"].as_f64().unwrap()
    };
    let (plain, turned) = (with("plain.jsonl"), with("turned.jsonl"));
    assert!((plain - turned).abs() < 1e-9 && plain < 0.69, "{plain} {turned}");
    let (out, _) = rig.run(
        0,
        &[
            "calibrate",
            "fit.jsonl",
            "--test",
            "turned.jsonl",
            "--may-change-answer",
            "--out",
            "d.json",
        ],
    );
    let judged = rig.json("d.json");
    let after = judged["evaluated_on"]["nll_after"].as_f64().unwrap();
    assert!((after - plain).abs() < 1e-9, "{after} {plain} {out}");

    let other = |row: &mut Value| row["options"] = json!(["dog", "cat"]);
    let others = leaning("t", |_| false).into_iter().map(|mut row| {
        other(&mut row);
        row["gold"] = json!("dog");
        row
    });
    rig.write("others.jsonl", others);
    let (_, error) = rig.run(
        1,
        &["eval", "--predictions", "others.jsonl", "--calibration", "c.json"],
    );
    assert!(
        error.contains(r#"["good", "bad"]"#) && error.contains(r#"["dog", "cat"]"#),
        "{error}"
    );
    // Rows of different options are for other kinds.
    let mixed = leaning("fit", |_| false)
        .into_iter()
        .enumerate()
        .map(|(n, mut row)| {
            if n == 7 {
                other(&mut row);
                row["gold"] = json!("cat");
            }
            row
        });
    rig.write("mixed.jsonl", mixed);
    let (out, _) = rig.run(
        0,
        &[
            "calibrate",
            "mixed.jsonl",
            "--may-change-answer",
            "--out",
            "e.json",
        ],
    );
    assert!(out.contains("needs the same options everywhere"), "{out}");
    // A file of vector scaling that does not name its options is not used.
    let mut file = file;
    file.as_object_mut().unwrap().remove("question");
    rig.write("f.json", [file]);
    let (_, error) = rig.run(
        1,
        &["eval", "--predictions", "plain.jsonl", "--calibration", "f.json"],
    );
    assert!(error.contains("`question` is missing"), "{error}");
}

#[test]
fn rows_with_other_options_or_questions_are_not_compared() {
    let rig = Rig::new();
    let row = |question: &str, options: [&str; 2]| json!({"id": "1", "question": question, "options": options, "probabilities": [0.9, 0.1], "gold": options[0]});
    rig.write("one.jsonl", [row("Is it?", ["x", "y"])]);
    rig.write("options.jsonl", [row("Is it?", ["x", "z"])]);
    rig.write("question.jsonl", [row("Is it not?", ["x", "y"])]);
    for (name, says) in [
        ("options.jsonl", r#"["x", "z"]"#),
        ("question.jsonl", "Is it not?"),
    ] {
        let (_, error) = rig.run(1, &["compare", "one.jsonl", name]);
        assert!(error.contains(says) && error.contains(r#"row "1""#), "{error}");
    }
    rig.write("twice.jsonl", [row("Is it?", ["x", "x"])]);
    let (_, error) = rig.run(3, &["eval", "--predictions", "twice.jsonl"]);
    assert!(error.contains(r#"options: have "x" twice"#), "{error}");
}

#[test]
fn the_calibration_error_of_calibrate_is_that_of_eval_below_one_half_as_well() {
    let rig = Rig::new();
    let rows = (0..60).map(|n| {
        let gold = ["a", "b", "c"][n % 3];
        json!({"id": n.to_string(), "options": ["a", "b", "c"], "probabilities": [0.4, 0.35, 0.25],
               "gold": gold})
    });
    rig.write("rows.jsonl", rows);
    rig.run(0, &["calibrate", "rows.jsonl", "--out", "c.json"]);
    let before = rig.json("c.json")["evaluated_on"]["ece_before"].as_f64().unwrap();
    let found = figures(&rig, &["rows.jsonl"]);
    let of = found["overall"]["defined"].as_array().unwrap().iter();
    let mut of = of.filter(|figure| figure["metric"] == "ece_equal_mass_15");
    let ece = of.next().unwrap()["estimate"].as_f64().unwrap();
    assert!((before - ece).abs() < 1e-6, "{before} {ece}");
}

#[test]
fn a_map_that_leans_is_for_the_question_that_it_was_fitted_on() {
    let rig = Rig::new();
    let row = |n: usize, question: &str| {
        let p = 0.2 + 0.05 * (n % 7) as f64;
        json!({"id": format!("{question}{n}"), "question": question, "probability": p, "gold": n % 10 != 3})
    };
    let of = |question: &'static str, count| (0..count).map(move |n| row(n, question));
    rig.write("good.jsonl", of("Is it good?", 300));
    rig.write("bad.jsonl", of("Is it bad?", 30));
    rig.write("both.jsonl", of("Is it good?", 300).chain(of("Is it bad?", 300)));
    let fit = |name: &str| rig.run(0, &["calibrate", name, "--may-change-answer", "--out", "c.json"]);
    fit("good.jsonl");
    let found = rig.json("c.json");
    assert_ne!(found["calibrator"]["map"]["kind"], "temperature", "{found}");
    assert_eq!(found["question"]["text"], "Is it good?");
    let apply = |code, name| {
        let (_, error) = rig.run(
            code,
            &[
                "eval",
                "--predictions",
                name,
                "--calibration",
                "c.json",
                "--resamples",
                "20",
            ],
        );
        error
    };
    let error = apply(1, "bad.jsonl");
    assert!(
        error.contains("Is it good?") && error.contains("Is it bad?"),
        "{error}"
    );
    // On the rows that it was fitted on it is applied, and that is said.
    let (out, _) = rig.run(
        0,
        &[
            "eval",
            "--predictions",
            "good.jsonl",
            "--calibration",
            "c.json",
            "--resamples",
            "20",
        ],
    );
    assert!(out.contains("FITTED ON THESE ROWS"), "{out}");
    // Fitted on several questions, it is for predicates in general.
    fit("both.jsonl");
    assert_eq!(rig.json("c.json")["question"]["text"], Value::Null);
    apply(0, "bad.jsonl");
    // Answers are kept by default, and that they would be others is said.
    let (out, _) = rig.run(0, &["calibrate", "good.jsonl", "--out", "d.json"]);
    assert!(out.contains("--may-change-answer lets them go"), "{out}");
}

#[test]
fn rows_of_others_that_contradict_themselves_are_refused() {
    let rig = Rig::new();
    let row = |scores: [f64; 2]| json!({"id": "1", "probabilities": [0.9, 0.1], "scores": scores, "gold": 0});
    rig.write("one.jsonl", [row([0.0, -2.197])]);
    rig.run(0, &["eval", "--predictions", "one.jsonl"]);
    rig.write("two.jsonl", [row([0.0, 2.197])]);
    let (_, error) = rig.run(3, &["eval", "--predictions", "two.jsonl"]);
    assert!(
        error.contains("are not what the probabilities are the softmax of"),
        "{error}"
    );
    // Figures that compare options by their place are of rows with the same ones.
    let of = |id: &str, options: [&str; 2]| json!({"id": id, "options": options, "probabilities": [0.9, 0.1], "gold": options[0]});
    rig.write("lists.jsonl", [of("1", ["spam", "ham"]), of("2", ["cat", "dog"])]);
    let found = figures(&rig, &["lists.jsonl"]);
    let undefined = found["overall"]["undefined"].as_array().unwrap().iter();
    let mut undefined = undefined.filter(|found| found["metric"] == "macro_accuracy");
    let reason = undefined.next().unwrap()["reason"].as_str().unwrap();
    assert!(reason.contains("different options"), "{reason}");
}
