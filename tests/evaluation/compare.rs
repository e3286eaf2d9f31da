//! `assize compare`: the same tokens, the same questions, and what differs.

use serde_json::{Value, json};

use crate::rig::{Rig, rows};

#[test]
fn other_tokens_are_told_and_other_questions_refused() {
    let rig = Rig::new();
    rig.write(
        "rows.jsonl",
        rows(12).map(|mut row| {
            row["group"] = json!("<b>&");
            row
        }),
    );
    rig.run(0, &["eval", "rows.jsonl", "--out", "one", "--resamples", "20"]);
    let grouped = || {
        rows(12).map(|mut row| {
            row["group"] = json!("<b>&");
            row
        })
    };
    let mut changed: Vec<Value> = grouped().collect();
    changed[2]["state"] = json!("Snow.");
    changed.push(json!({"id": "new", "state": "s", "question": "q", "gold": true}));
    rig.write("changed.jsonl", changed);
    rig.run(0, &["eval", "changed.jsonl", "--out", "two", "--resamples", "20"]);
    let (out, _) = rig.run(
        0,
        &[
            "compare",
            "one/predictions.jsonl",
            "two/predictions.jsonl",
            "--resamples",
            "20",
            "--out",
            "compared",
        ],
    );
    let html = std::fs::read_to_string(rig.path("compared/comparison.html")).unwrap();
    assert!(html.contains("Group &lt;b&gt;&amp;") && !html.contains("<b>"));
    for says in [
        "other ones in 1: r2",
        "1 rows are in the second file only",
        "by the same artifact",
    ] {
        assert!(out.contains(says), "{out}");
    }
    let mut other: Vec<Value> = grouped().collect();
    other[2]["gold_index"] = json!(0);
    rig.write("other.jsonl", other);
    rig.run(0, &["eval", "other.jsonl", "--out", "three", "--resamples", "20"]);
    let (_, error) = rig.run(
        1,
        &["compare", "one/predictions.jsonl", "three/predictions.jsonl"],
    );
    assert!(error.contains("gold answer"), "{error}");
}
