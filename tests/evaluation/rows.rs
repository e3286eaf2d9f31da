//! The readers of labelled rows.

use std::path::{Path, PathBuf};

use assize::evaluation::rows::{
    LabelledRow, RowField, RowOptions, RowSelection, RowShape, RowSource, Rows, RowsError, Split,
};
use assize_preprocess::decision::{Content, Shape};
use serde_json::json;
use tempfile::TempDir;

use crate::parquet_rows::{Column, write};

/// Options that careless readers take for missing values, numbers or truth values.
const NASTY: [&str; 7] = ["nan", "NA", "null", "1.0", "true", "None", " "];

fn file(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn open(path: &Path, options: &RowOptions) -> Result<Rows, RowsError> {
    Rows::open(
        &RowSource::File(path.to_owned()),
        options,
        RowSelection::default(),
    )
}

/// Every row, good or bad, in short: `id=label` or `row:field:message`.
fn read(path: &Path, options: &RowOptions) -> Vec<Result<LabelledRow, String>> {
    open(path, options)
        .unwrap()
        .map(|row| row.unwrap().map_err(|fault| fault.to_string()))
        .collect()
}

fn labels(rows: &[Result<LabelledRow, String>]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let row = row.as_ref().unwrap();
            row.options()[row.gold.label().unwrap()].clone()
        })
        .collect()
}

#[track_caller]
fn refused(path: &Path, expected: &[&str]) {
    let rows = read(path, &RowOptions::default());
    assert_eq!(rows.len(), expected.len(), "{rows:#?}");
    for (row, expected) in rows.iter().zip(expected) {
        match row {
            Ok(row) => assert_eq!(*expected, "", "row {} was read: {row:?}", row.row),
            Err(said) => assert!(
                !expected.is_empty() && said.contains(expected),
                "{said:?} lacks {expected:?}"
            ),
        }
    }
}

#[test]
fn nasty_texts_stay_texts_in_jsonl() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = NASTY
        .iter()
        .map(|gold| json!({"state": gold, "options": NASTY, "gold": gold, "group": "NA"}).to_string())
        .collect();
    let rows = read(
        &file(&folder, "rows.jsonl", lines.join("\n")),
        &RowOptions::default(),
    );
    assert_eq!(labels(&rows), NASTY);
    for (row, gold) in rows.iter().flatten().zip(NASTY) {
        assert_eq!(row.decision.state, Content::from(gold));
        assert_eq!(row.group.as_deref(), Some("NA"));
    }
}

#[test]
fn nasty_texts_stay_texts_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let options = serde_json::to_string(&NASTY).unwrap().replace('"', "\"\"");
    let lines: String = NASTY
        .iter()
        .map(|gold| format!("{gold},\"{options}\",{gold},NA\n"))
        .collect();
    let path = file(&folder, "rows.csv", format!("state,options,gold,group\n{lines}"));
    let rows = read(&path, &RowOptions::default());
    assert_eq!(labels(&rows), NASTY);
    for (row, gold) in rows.iter().flatten().zip(NASTY) {
        assert_eq!(row.decision.state, Content::from(gold));
        assert_eq!(row.group.as_deref(), Some("NA"));
    }
    // Constants are texts as well, and an empty state is a state.
    let constant = RowOptions {
        options: NASTY.map(str::to_owned).to_vec(),
        question: Some("Which?".into()),
        ..RowOptions::default()
    };
    let rows = read(&file(&folder, "c.csv", "state,gold\n,nan\nx,true\n"), &constant);
    assert_eq!(labels(&rows), ["nan", "true"]);
    assert_eq!(rows[0].as_ref().unwrap().decision.state, Content::from(""));
}

#[test]
fn nasty_texts_stay_texts_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write(
        &path,
        &[
            Column::Text("state", NASTY.map(Some).to_vec()),
            Column::Lists("options", NASTY.iter().map(|_| NASTY.to_vec()).collect()),
            Column::Text("gold", NASTY.map(Some).to_vec()),
            Column::Text("group", NASTY.map(|_| Some("NA")).to_vec()),
        ],
    );
    let rows = read(&path, &RowOptions::default());
    assert_eq!(labels(&rows), NASTY);
    for (row, gold) in rows.iter().flatten().zip(NASTY) {
        assert_eq!(row.decision.state, Content::from(gold));
        assert_eq!(row.group.as_deref(), Some("NA"));
    }
}

#[test]
fn parquet_numbers_truth_values_nulls_and_json_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write(
        &path,
        &[
            Column::Whole("id", vec![7, 8, 7]),
            Column::Text("state", vec![Some("a"), None, Some("c")]),
            Column::Text("options", vec![Some("[\"x\", \"y\"]"); 3]),
            Column::Float("gold_index", vec![1.0, 0.0, f64::NAN]),
            Column::Bool("extra", vec![true; 3]),
        ],
    );
    let mut rows = open(&path, &RowOptions::default()).unwrap();
    let first = rows.next().unwrap().unwrap().unwrap();
    assert_eq!(
        (first.id.as_str(), first.row, first.gold.label()),
        ("7", 1, Some(1))
    );
    let second = rows.next().unwrap().unwrap().unwrap_err();
    assert_eq!(
        (second.row, second.field.as_str(), second.id.as_deref()),
        (2, "state", Some("8"))
    );
    // NaN is what pandas writes for a missing number.
    let third = rows.next().unwrap().unwrap().unwrap_err();
    assert_eq!((third.row, third.field.as_str()), (3, "id"), "the id comes twice");
    assert_eq!(rows.ignored().collect::<Vec<_>>(), ["extra"]);
    assert!(rows.next().is_none());
}

#[test]
fn every_shape_and_every_way_to_say_gold() {
    let folder = tempfile::tempdir().unwrap();
    let levels = json!(["low", "mid", "1"]);
    let lines = [
        json!({"state": {"b": 1, "a": [2]}, "options": ["x", "y"], "gold": "y"}),
        json!({"state": "s", "options": ["x", "y"], "gold_index": 1}),
        json!({"state": "s", "question": "Is it?", "gold": true}),
        json!({"state": "s", "question": "Is it?", "gold": "False"}),
        json!({"state": "s", "question": "Is it?", "gold": 1}),
        json!({"state": "s", "levels": levels, "gold": 0}),
        json!({"state": "s", "levels": levels, "gold": "mid"}),
        json!({"state": "s", "levels": levels, "gold": "1"}),
        json!({"state": "s", "levels": levels, "type": "score", "gold": "2"}),
        json!({"state": "s", "levels": levels, "gold": 1}),
        json!({"state": "s", "options": ["x", "y", "z"], "ratings": [1, 0.5, 0]}),
        json!({"state": "s", "options": ["x", "y", "z"], "ratings": {"x": 3}, "gold": "x"}),
        json!({"state": "s", "options": ["x", "y"], "ratings": [2, 2]}),
        json!({"state": "s", "question": "Is it?", "ratings": {"true": 2, "false": 1}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n\n")).collect();
    let rows = read(&file(&folder, "rows.jsonl", text), &RowOptions::default());
    let found: Vec<Option<usize>> = rows
        .iter()
        .map(|row| row.as_ref().map_or(Some(99), |row| row.gold.label()))
        .collect();
    let wanted = [1, 1, 1, 0, 1, 0, 1, 2, 99, 99, 0, 0, 9, 1].map(|label| (label != 9).then_some(label));
    assert_eq!(found, wanted, "{rows:#?}");
    assert!(rows[9].as_ref().unwrap_err().contains("gold_index"));
    let row = |index: usize| rows[index].as_ref().unwrap();
    assert_eq!(row(0).decision.state.to_text(), r#"{"b":1,"a":[2]}"#);
    // Blank lines count.
    assert_eq!((row(1).id.as_str(), row(1).row), ("3", 3));
    assert_eq!(row(10).gold.weights(), Some(&[1.0, 0.5, 0.0][..]));
    assert_eq!(row(11).gold.weights(), Some(&[3.0, 0.0, 0.0][..]));
    assert_eq!(row(13).gold.weights(), Some(&[1.0, 2.0][..]));
    assert!(matches!(row(5).decision.questions[0].shape, Shape::Score(_)));
}

#[test]
fn bad_rows_name_row_and_field_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = r#"{"state":"s","options":["x","y"],"gold":"x"}"#;
    let lines: [(&[u8], &str); 25] = [
        (good.as_bytes(), ""),
        (
            br#"{"state":"s","options":["x","y"],"gold":"z"}"#,
            r#"row 2, gold: is "z", which is none of the options "x", "y""#,
        ),
        (
            br#"{"state":"s","options":["x","x"],"gold":"x"}"#,
            r#"row 3, options: option "x" is given twice"#,
        ),
        (
            br#"{"state":"s","options":["x",""],"gold":"x"}"#,
            "row 4, options: option 1 is empty",
        ),
        (
            br#"{"state":"s","options":["x",1.0],"gold":"x"}"#,
            r#"row 5, options: entry 1 is 1.0: write it as a string"#,
        ),
        (
            br#"{"state":"s","options":[],"gold":"x"}"#,
            "row 6, options: has 0 entries",
        ),
        (
            br#"{"state":"s","options":["x","y"],"type":"poll","gold":"x"}"#,
            "row 7, type: \"poll\" is no type",
        ),
        (
            br#"{"state":"s","type":"choice","gold":"x"}"#,
            "row 8, options: is missing",
        ),
        (br#"{"options":["x","y"],"gold":"x"}"#, "row 9, state: is missing"),
        (
            br#"{"state":7,"options":["x","y"],"gold":"x"}"#,
            "row 10, state: is the number 7",
        ),
        (
            br#"{"state":"s","options":["x","y"]}"#,
            "row 11, gold: is missing",
        ),
        (
            br#"{"state":"s","options":["x","y"],"gold":null}"#,
            "row 12, gold: is missing",
        ),
        (
            br#"{"state":"s","options":["x","y"],"gold":0}"#,
            "row 13, gold: is the number 0",
        ),
        (
            br#"{"state":"s","options":["x","y"],"gold_index":2}"#,
            "row 14, gold_index: is the number 2: use a whole number from 0 to 1",
        ),
        (
            br#"{"state":"s","options":["x","y"],"gold":"x","gold_index":0}"#,
            "row 15, gold_index",
        ),
        (
            br#"{"state":"s","options":["x","y"],"ratings":[1]}"#,
            "row 16, ratings: has 1 numbers and the question 2",
        ),
        (
            br#"{"state":"s","options":["x","y"],"ratings":[0,0]}"#,
            "row 17, ratings: sum to 0",
        ),
        (
            br#"{"state":"s","options":["x","y"],"ratings":[1,-1]}"#,
            "row 18, ratings: holds -1",
        ),
        (
            br#"{"state":"s","options":["x","y"],"ratings":{"w":1}}"#,
            "row 19, ratings: names an option",
        ),
        (
            br#"{"state":"s","options":["x","y"],"ratings":[1,2],"gold":"x"}"#,
            "row 20, ratings: are given with a gold answer",
        ),
        (br#"{"state":"s","gold":true}"#, "row 21, question: is missing"),
        (
            br#"{"state":"s","question":"q","gold":"maybe"}"#,
            "row 22, gold: is \"maybe\": a predicate's answer is true or false",
        ),
        (
            br#"{"state":"s","options":["x","y"],"gold":"x""#,
            "row 23, (row): the line is not valid JSON",
        ),
        (b"{\"state\":\"\xff\"}", "row 24, (row): the line is not UTF-8"),
        (
            br#"{"state":"s","state":"t","options":["x"],"gold":"x"}"#,
            "row 25, (row): state: the key \"state\" is given twice",
        ),
    ];
    let text = lines.map(|(line, _)| line).join(&b'\n');
    refused(&file(&folder, "rows.jsonl", text), &lines.map(|(_, said)| said));
}

#[test]
fn bad_rows_of_csv() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"\xef\xbb\xbfid,state,options,gold\n\
        a,\"two\nlines\",\"[\"\"x\"\",\"\"y\"\"]\",x\n\
        b,s,x|y,x\n\
        c,s,\"[\"\"x\"\"]\"\n\
        d,caf\xe9,\"[\"\"x\"\"]\",x\n\
        a,s,\"[\"\"x\"\"]\",x\n\
        ,s,\"[\"\"x\"\"]\",\n\
        g,s,,x\n";
    refused(
        &file(&folder, "rows.csv", text),
        &[
            "",
            "row 4, options: the text is not valid JSON",
            "row 5, (row): has 3 cells and the header 4",
            "row 6, state: is no UTF-8 (byte 3 of the cell)",
            "row 7, id: \"a\" is the id of an earlier row",
            "row 8, gold: is \"\", which is none of the options",
            "row 9, question: is missing",
        ],
    );
}

#[test]
fn rows_of_csv_have_numbers_of_their_own_whatever_ends_the_lines() {
    let folder = tempfile::tempdir().unwrap();
    for (name, end) in [("unix", "\n"), ("dos", "\r\n"), ("mac", "\r")] {
        let lines = ["state,question,gold", "a,q,true", "b,q,false", "c,q,true"];
        let path = file(&folder, &format!("{name}.csv"), lines.join(end) + end);
        let rows = read(&path, &RowOptions::default());
        let numbers: Vec<(usize, String)> = rows
            .iter()
            .flatten()
            .map(|row| (row.row, row.id.clone()))
            .collect();
        let expected = [2, 3, 4].map(|row| (row, row.to_string()));
        assert_eq!(numbers, expected, "{name}");
    }
}

#[test]
fn columns_of_one_name_are_refused_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("twice.parquet");
    let text = |value| Column::Text("state", vec![Some(value)]);
    write(&path, &[text("a"), text("b")]);
    let error = open(&path, &RowOptions::default()).err().unwrap().to_string();
    assert!(error.contains("\"state\" is there twice"), "{error}");
}

#[test]
fn a_number_as_text_is_no_place_among_levels_that_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let row = |gold| format!(r#"{{"state":"s","question":"q","levels":["1","2","3"],"gold":{gold}}}"#);
    let text = [row("\"0\""), row("\"3\""), row("\"4\"")].join("\n");
    refused(
        &file(&folder, "rows.jsonl", text),
        &[
            "row 1, gold: is \"0\", which is the text of no level",
            "",
            "row 3, gold: is \"4\", which is the text of no level",
        ],
    );
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mapped = |field, column: &str| RowOptions {
        columns: [(field, column.to_owned())].into(),
        ..RowOptions::default()
    };
    let none = RowOptions::default();
    for (name, text, options, says) in [
        ("a.jsonl", "", &none, "holds no rows"),
        ("b.jsonl", " \n\n", &none, "holds no rows"),
        ("a.csv", "", &none, "holds no rows"),
        ("b.csv", "state,gold\n", &none, "holds no rows"),
        ("c.csv", "state,state\ns,t\n", &none, "column \"state\" twice"),
        (
            "d.csv",
            "state,label\ns,t\n",
            &mapped(RowField::Gold, "lable"),
            "it has state, label",
        ),
        ("a.parquet", "PAR1 no more", &none, "a.parquet: after row 0"),
        ("a.txt", "x", &none, "ends in none of"),
    ] {
        let error = open(&file(&folder, name, text), options)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(says) && error.contains(name), "{error}");
    }
    assert!(matches!(
        open(&folder.path().join("none.csv"), &none),
        Err(RowsError::Io { .. })
    ));
    let twice = RowOptions {
        columns: [
            (RowField::Gold, "x".to_owned()),
            (RowField::State, "x".to_owned()),
        ]
        .into(),
        ..RowOptions::default()
    };
    let path = file(&folder, "e.jsonl", "{}");
    assert!(
        open(&path, &twice)
            .err()
            .unwrap()
            .to_string()
            .contains("one field only")
    );
}

#[test]
fn columns_have_other_names_and_constants_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        &folder,
        "rows.csv",
        "text,label,question,gold,picture,note\nRain.,wet,old?,dry,a.png,n\n",
    );
    let options = RowOptions {
        columns: [
            (RowField::State, "text".to_owned()),
            (RowField::Gold, "label".to_owned()),
            (RowField::Image, "picture".to_owned()),
        ]
        .into(),
        question: Some("How is it?".into()),
        shape: Some(RowShape::Choice),
        options: vec!["wet".into(), "dry".into()],
        ..RowOptions::default()
    };
    let mut rows = open(&path, &options).unwrap();
    let row = rows.next().unwrap().unwrap().unwrap();
    assert_eq!(row.gold.label(), Some(0));
    assert_eq!(row.question().unwrap().instructions, Some("How is it?".into()));
    assert_eq!(row.media[0].path, folder.path().join("a.png"));
    assert_eq!(rows.ignored().collect::<Vec<_>>(), ["question", "gold", "note"]);
    // JSONL tells what it has only as it is read.
    let path = file(
        &folder,
        "rows.jsonl",
        r#"{"text":"","label":"dry","why":1,"audio":["b.wav","c.wav"],"picture":"a.png"}"#,
    );
    let mut rows = open(&path, &options).unwrap();
    let row = rows.next().unwrap().unwrap().unwrap();
    let media: Vec<_> = row
        .media
        .iter()
        .map(|medium| medium.path.file_name().unwrap())
        .collect();
    assert_eq!(media, ["b.wav", "c.wav", "a.png"]);
    assert_eq!(rows.ignored().collect::<Vec<_>>(), ["why"]);
}

#[test]
fn a_selection_is_by_id_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..200)
        .map(|n| format!("{{\"id\":\"{n}\",\"state\":\"s\",\"options\":[\"x\"],\"gold\":\"x\"}}\n"))
        .collect();
    let path = file(&folder, "rows.jsonl", text);
    let ids = |split, most| -> Vec<String> {
        let selection = RowSelection { split, most };
        let rows = Rows::open(&RowSource::File(path.clone()), &RowOptions::default(), selection).unwrap();
        rows.map(|row| row.unwrap().unwrap().id).collect()
    };
    let test = ids(Split::Test, None);
    assert!(!test.is_empty() && test.iter().all(|id| Split::Test.holds(id)));
    let parts = [Split::Train, Split::Calibration, Split::Test].map(|split| ids(split, None).len());
    assert_eq!(parts.iter().sum::<usize>(), 200);
    assert_eq!(ids(Split::Test, Some(3)), test[..3]);
    assert_eq!(ids(Split::All, None).len(), 200);
}

/// A damaged Parquet file is an error or gives other rows, but never ends the process.
#[test]
fn damaged_parquet_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write(
        &path,
        &[
            Column::Text("state", vec![Some("some text"); 40]),
            Column::Lists("options", vec![vec!["x", "y"]; 40]),
            Column::Whole("gold_index", vec![1; 40]),
        ],
    );
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(rows) = open(&path, &RowOptions::default()) {
            let read = rows.take(1000).take_while(Result::is_ok).count();
            assert!(read <= 1000);
        }
    }
    for length in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(open(&path, &RowOptions::default()).is_err(), "{length} bytes");
    }
}
