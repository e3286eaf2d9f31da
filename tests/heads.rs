//! Fitting a head with the real service on a tiny checkpoint, and deciding with it on the command line.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assize::head_fit::{FitRow, HeadFit, HeadFitError, HeadFitOptions, HiddenCache, PromptKey, fit_head};
use assize::service::{DecisionSettings, Service, ServiceError};
use assize_heads::fit::FitOptions;
use assize_heads::fitted_head::PromptCut;
use assize_models::engines::{self, Device, EngineOptions};
use assize_models::store::Store;
use assize_models::{
    Backbone, Checkpoint, DecoderDescription, EngineInfo, HiddenStates, ModelError, PackedBatch, Precision,
    TokenId,
};
use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::Truncate;
use serde_json::Value;

const QUESTION: &str = "Wet or dry?";

fn model() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny_llama")
}

/// A backbone that counts its passes and fails when they are used up.
struct Counted {
    inner: Box<dyn Backbone>,
    left: Arc<AtomicUsize>,
}

impl Backbone for Counted {
    fn description(&self) -> &DecoderDescription {
        self.inner.description()
    }

    fn engine(&self) -> &EngineInfo {
        self.inner.engine()
    }

    fn weight_bytes(&self) -> u64 {
        self.inner.weight_bytes()
    }

    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError> {
        let take = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .map_err(|_| ModelError::InvalidBatch("as the test wants".into()))?;
        self.inner.forward(batch)
    }

    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        self.inner.logits_of(hidden, tokens)
    }

    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.inner.logits(hidden)
    }

    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.inner.log_normalizers(hidden)
    }
}

/// The tiny checkpoint, a count of the passes that it may still run, and folders that go with it.
struct Rig {
    service: Service,
    left: Arc<AtomicUsize>,
    folder: tempfile::TempDir,
}

const MANY: usize = 1_000_000;

impl Rig {
    fn new(precision: Precision) -> Self {
        Self::of_layers(precision, None)
    }

    fn of_layers(precision: Precision, layers: Option<usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::open(&model()).unwrap();
        let options = EngineOptions {
            engine: None,
            device: Device::Auto,
            precision: Some(precision),
            threads: None,
            layers,
            lowered_dir: folder.path().join("lowered"),
            library_dir: Some(Store::open(None).unwrap().library_dir()),
        };
        let left = Arc::new(AtomicUsize::new(MANY));
        let backbone = Counted {
            inner: engines::load(&checkpoint, &options).unwrap(),
            left: Arc::clone(&left),
        };
        Self {
            service: Service::with_backbone(&checkpoint, Box::new(backbone)).unwrap(),
            left,
            folder,
        }
    }

    fn cache(&self) -> HiddenCache {
        let width = self.service.backbone().description().hidden;
        HiddenCache::open(self.folder.path(), self.service.base_artifact(), width).unwrap()
    }

    fn fit(&self, rows: Vec<FitRow>, held_out: Vec<FitRow>, cached: bool) -> Result<HeadFit, HeadFitError> {
        let cache = cached.then(|| self.folder.path());
        let out = self.folder.path().join("head");
        fit_head(
            [Ok(&self.service)],
            rows,
            held_out,
            &options(),
            cache,
            &out,
            |_| {},
        )
    }

    /// The key of a row's prompt.
    fn key(&self, row: &FitRow) -> PromptKey {
        PromptKey::of(
            &self
                .service
                .prepare_for_head(&row.decision, options().cut)
                .unwrap()
                .prompt(),
        )
    }
}

fn options() -> HeadFitOptions {
    HeadFitOptions {
        cut: PromptCut {
            max_tokens: 200,
            truncate: Truncate::Middle,
        },
        fit: FitOptions::default(),
        temperature: false,
        data: "weather".into(),
        source_sha256: None,
        split: "all".into(),
    }
}

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
        id: format!("row-{index}"),
        decision: Decision {
            state: Content::Text(format!("{} {said}, day {index}", "so ".repeat(index % 5))),
            questions: vec![Question {
                instructions: Some(QUESTION.into()),
                shape: Shape::Choice(vec![option("wet"), option("dry")]),
            }],
        },
        gold,
        group: None,
    }
}

/// The row as a line of a file.
fn line(index: usize) -> String {
    let row = row(index);
    let gold = ["wet", "dry"][row.gold];
    serde_json::json!({"id": row.id, "state": row.decision.state, "question": QUESTION,
        "options": ["wet", "dry"], "gold": gold})
    .to_string()
}

fn rows(range: std::ops::Range<usize>) -> Vec<FitRow> {
    range.map(row).collect()
}

#[test]
fn a_second_fit_runs_no_pass_and_gives_the_same_head() {
    let rig = Rig::new(Precision::Float32);
    let first = rig.fit(rows(0..80), rows(80..120), true).unwrap();
    assert_eq!(first.report.computed, 120);
    let card = first.head.card();
    assert_eq!((card.data.rows, card.data.groups), (80, 80));
    assert_eq!(card.data.per_option, [40, 40]);
    let held_out = card.held_out.unwrap();
    assert_eq!(held_out.rows, 40);
    assert!(
        held_out.accuracy > 0.9 && card.cross_validated.accuracy > 0.9,
        "{card:?}"
    );
    rig.left.store(0, Ordering::SeqCst);
    let second = rig.fit(rows(0..80), rows(80..120), true).unwrap();
    assert_eq!(second.report.computed, 0);
    assert_eq!(second.head.fingerprint(), first.head.fingerprint());
    // Without what was kept the passes are needed.
    assert!(rig.fit(rows(0..80), Vec::new(), false).is_err());
}

#[test]
fn a_run_that_ended_early_goes_on_where_it_was() {
    let rig = Rig::new(Precision::Float32);
    rig.left.store(1, Ordering::SeqCst);
    let error = rig.fit(rows(0..300), Vec::new(), true).unwrap_err();
    assert!(error.to_string().contains("as the test wants"), "{error}");
    rig.left.store(MANY, Ordering::SeqCst);
    let resumed = rig.fit(rows(0..300), Vec::new(), true).unwrap();
    assert!(
        (1..300).contains(&resumed.report.computed),
        "{}",
        resumed.report.computed
    );
    // As if it had never ended; the cache of another rig is empty.
    let whole = Rig::new(Precision::Float32)
        .fit(rows(0..300), Vec::new(), true)
        .unwrap();
    assert_eq!(whole.report.computed, 300);
    assert_eq!(resumed.head.fingerprint(), whole.head.fingerprint());
}

#[test]
fn a_damaged_hidden_state_is_computed_again() {
    let rig = Rig::new(Precision::Float32);
    let first = rig.fit(rows(0..40), Vec::new(), true).unwrap();
    let files = [0, 7].map(|index| rig.cache().path(rig.key(&row(index))));
    let mut bytes = std::fs::read(&files[0]).unwrap();
    bytes[40] ^= 64;
    std::fs::write(&files[0], bytes).unwrap();
    std::fs::write(&files[1], b"").unwrap();
    let second = rig.fit(rows(0..40), Vec::new(), true).unwrap();
    assert_eq!(second.report.computed, 2);
    assert_eq!(second.head.fingerprint(), first.head.fingerprint());
    assert!(
        files
            .iter()
            .all(|file| std::fs::metadata(file).unwrap().len() > 32)
    );
}

#[test]
fn equal_prompts_are_one_group_and_never_held_out() {
    let rig = Rig::new(Precision::Float32);
    let mut twice = rows(0..40);
    twice.extend(rows(0..6));
    let found = rig.fit(twice, rows(36..50), true).unwrap();
    assert_eq!(found.head.card().data.groups, 40);
    assert_eq!(found.report.held_out_known, 4);
    assert_eq!(found.head.card().held_out.unwrap().rows, 10);
}

#[test]
fn prompts_of_one_pass_do_not_change_each_other() {
    // int8 rounds inputs to a grid: what differs in the last bit before it may differ by a step behind it.
    for (precision, tolerance) in [(Precision::Float32, 1e-4), (Precision::Int8, 1e-3)] {
        let rig = Rig::new(precision);
        let prompts: Vec<Vec<TokenId>> = rows(0..30)
            .iter()
            .map(|row| {
                rig.service
                    .prepare_for_head(&row.decision, options().cut)
                    .unwrap()
                    .prompt()
            })
            .collect();
        let together = rig.service.hidden_states(&prompts).unwrap();
        for (index, prompt) in prompts.iter().enumerate() {
            let alone = rig.service.hidden_states(std::slice::from_ref(prompt)).unwrap();
            let row = &together.values()[index * together.width()..][..together.width()];
            for (one, other) in row.iter().zip(alone.values()) {
                assert!(
                    (one - other).abs() < tolerance,
                    "{precision}: {one} is not {other}"
                );
            }
        }
    }
}

#[test]
fn rows_that_do_not_ask_one_question_are_refused_by_name() {
    let rig = Rig::new(Precision::Float32);
    let refused = |change: &dyn Fn(&mut FitRow)| {
        let mut rows = rows(0..20);
        change(&mut rows[7]);
        rig.fit(rows, Vec::new(), false).unwrap_err().to_string()
    };
    for (error, says) in [
        (refused(&|row| row.gold = 2), "gold option 2 of 2"),
        (
            refused(&|row| row.decision.questions[0].instructions = Some("Cold?".into())),
            "Cold?",
        ),
        (
            refused(&|row| {
                let Shape::Choice(options) = &mut row.decision.questions[0].shape else {
                    panic!("a choice")
                };
                options.reverse();
            }),
            r#"["dry", "wet"]"#,
        ),
        (refused(&|row| row.decision.questions.clear()), "asks 0 questions"),
    ] {
        assert!(error.contains("row-7") && error.contains(says), "{error}");
    }
    let error = rig.fit(Vec::new(), Vec::new(), false).unwrap_err().to_string();
    assert!(error.contains("rows is 0"), "{error}");
    let error = rig.fit(rows(0..1), Vec::new(), false).unwrap_err().to_string();
    assert!(error.contains("5 folds of 1 groups"), "{error}");
    let mut cut = options();
    for (cut_to, says) in [
        ((0, Truncate::End), "context of 512"),
        ((100, Truncate::Error), "start, middle or end"),
    ] {
        (cut.cut.max_tokens, cut.cut.truncate) = cut_to;
        let error = fit_head(
            [Ok(&rig.service)],
            rows(0..20),
            Vec::new(),
            &cut,
            None,
            rig.folder.path(),
            |_| {},
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_temperature_is_folded_in_and_leaves_the_choices() {
    let rig = Rig::new(Precision::Float32);
    // Some rows are labelled wrong, so that no fit is certain.
    let mut noisy = rows(0..80);
    noisy
        .iter_mut()
        .step_by(9)
        .for_each(|row| row.gold = 1 - row.gold);
    let plain = rig.fit(noisy.clone(), Vec::new(), true).unwrap();
    let hidden = rig.cache().get(rig.key(&row(3))).unwrap();
    let before = plain.head.head().scores(&hidden, 2).unwrap();
    let scaled = HeadFitOptions {
        temperature: true,
        ..options()
    };
    let out = rig.folder.path().join("scaled");
    let found = fit_head(
        [Ok(&rig.service)],
        noisy,
        Vec::new(),
        &scaled,
        Some(rig.folder.path()),
        &out,
        |_| {},
    )
    .unwrap();
    let temperature = found.head.card().training.temperature as f32;
    assert!(temperature != 1.0 && temperature > 0.1);
    for (scaled, before) in found.head.head().scores(&hidden, 2).unwrap().iter().zip(before) {
        assert!((scaled * temperature - before).abs() < 1e-4);
    }
}

#[test]
fn of_several_depths_the_best_by_cross_validation_is_kept() {
    let (one, all) = (
        Rig::of_layers(Precision::Float32, Some(1)),
        Rig::new(Precision::Float32),
    );
    let noisy = || {
        let mut rows = rows(0..80);
        rows.iter_mut().step_by(9).for_each(|row| row.gold = 1 - row.gold);
        rows
    };
    let alone = [&one, &all].map(|rig| rig.fit(noisy(), Vec::new(), false).unwrap().head);
    let nll = alone.each_ref().map(|head| head.card().cross_validated.nll);
    let best = usize::from(nll[1] < nll[0]);
    for order in [[&one, &all], [&all, &one]] {
        let services = order.map(|rig| Ok(&rig.service));
        let out = one.folder.path().join("both");
        let found = fit_head(services, noisy(), Vec::new(), &options(), None, &out, |_| {}).unwrap();
        assert_eq!(found.head.fingerprint(), alone[best].fingerprint());
        let base = &found.head.card().base;
        assert_eq!(base.description.layers, [Some(1), None][best]);
        let tried = found.head.card().training.depths.iter();
        let mut tried: Vec<(usize, f64)> = tried.map(|tried| (tried.layers, tried.nll)).collect();
        tried.sort_by_key(|(layers, _)| *layers);
        assert_eq!(tried, [(1, nll[0]), (2, nll[1])]);
        assert_eq!(found.report.computed, 160);
    }
    // One alone is no choice.
    assert!(alone.iter().all(|head| head.card().training.depths.is_empty()));
    let none: [Result<&Service, ServiceError>; 0] = [];
    let error = fit_head(
        none,
        noisy(),
        Vec::new(),
        &options(),
        None,
        one.folder.path(),
        |_| {},
    );
    assert!(error.unwrap_err().to_string().contains("layers is no number"));
}

#[test]
fn a_model_of_fewer_layers_answers_with_a_head_alone() {
    let one = Rig::of_layers(Precision::Float32, Some(1));
    let decision = row(3).decision;
    let error = one
        .service
        .prepare(&decision, DecisionSettings::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("1 layers of the model are run"), "{error}");
    // The hidden state is another one than that of all layers.
    let all = Rig::new(Precision::Float32);
    let prompt = [vec![1, 2, 3]];
    let [shallow, deep] = [&one, &all].map(|rig| rig.service.hidden_states(&prompt).unwrap());
    assert_ne!(shallow.values(), deep.values());
    assert_ne!(one.service.artifact_id(), all.service.artifact_id());
}

/// The command line with a cache of its own.
struct Cli {
    cache: tempfile::TempDir,
}

impl Cli {
    fn run(&self, arguments: &[&str]) -> Output {
        let library = Store::open(None).unwrap().library_dir();
        let library = engines::host(Some(&library)).unwrap().library;
        Command::new(env!("CARGO_BIN_EXE_assize"))
            .args(arguments)
            .env("ASSIZE_CACHE", self.cache.path())
            .env("ASSIZE_MODEL", model())
            .env("ORT_DYLIB_PATH", library)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn error_of(output: &Output) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    error.lines().last().unwrap_or_default().to_owned()
}

fn with_flags<'a>(head: &'a Path, precision: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let head = head.to_str().unwrap();
    let mut all = vec!["decide", "rain", "-q", QUESTION, "--head", head, "-p", precision];
    all.extend(more);
    all
}

#[test]
fn decide_with_a_head_says_which_and_refuses_another_artifact() {
    let rig = Rig::new(Precision::Float32);
    let id = rig.fit(rows(0..40), Vec::new(), true).unwrap().head.id();
    let head = rig.folder.path().join("head");
    let cli = Cli {
        cache: tempfile::tempdir().unwrap(),
    };
    let options = ["--option", "wet", "--option", "dry"];
    let found = cli.run(&with_flags(&head, "float32", &options));
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    assert!(shown.contains(&id) && !shown.contains("MISMATCH"), "{shown}");
    let file = head.join("head.safetensors");
    let json: Value = serde_json::from_slice(
        &cli.run(&with_flags(
            &file,
            "float32",
            &[&options[..], &["--json"]].concat(),
        ))
        .stdout,
    )
    .unwrap();
    assert_eq!(json["head"], id);

    let error = error_of(&cli.run(&with_flags(
        &head,
        "float32",
        &["--option", "dry", "--option", "wet"],
    )));
    assert!(
        error.contains(r#"["dry", "wet"]"#) && error.contains(r#"["wet", "dry"]"#),
        "{error}"
    );

    let error = error_of(&cli.run(&with_flags(&head, "int8", &options)));
    for says in [
        id.as_str(),
        rig.service.artifact_id().as_str(),
        "precision (float32 and int8)",
        "--precision float32",
        "--allow-mismatch",
    ] {
        assert!(error.contains(says), "{error}");
    }
    let allowed = [&options[..], &["--allow-mismatch"]].concat();
    let shown = text(&cli.run(&with_flags(&head, "int8", &allowed)).stdout);
    assert!(
        shown.contains("MISMATCH") && shown.contains("precision (float32 and int8)"),
        "{shown}"
    );
    let json = cli.run(&with_flags(&head, "int8", &[&allowed[..], &["--json"]].concat()));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["mismatch"][0]["differences"][0]["field"], "precision");

    // A model of another width is not to be allowed.
    let wide = model().with_file_name("tiny_llama3_rope");
    let other = [&allowed[..], &["-m", wide.to_str().unwrap()]].concat();
    let error = error_of(&cli.run(&with_flags(&head, "float32", &other)));
    assert!(error.contains("hidden states of 64 numbers"), "{error}");
}

#[test]
fn show_prints_the_card() {
    let rig = Rig::new(Precision::Float32);
    let fitted = rig.fit(rows(0..40), rows(40..60), true).unwrap();
    let head = rig.folder.path().join("head");
    let cli = Cli {
        cache: tempfile::tempdir().unwrap(),
    };
    let shown = text(&cli.run(&["head", "show", head.to_str().unwrap()]).stdout);
    for says in [
        fitted.head.id().as_str(),
        QUESTION,
        "held out",
        "ECE",
        "40 rows in 40 groups",
    ] {
        assert!(shown.contains(says), "{shown}");
    }
    let json = cli.run(&["head", "show", head.to_str().unwrap(), "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["id"], fitted.head.id());
    assert_eq!(json["schema"], "assize.head/1");
    // The names of the options exchanged would turn every answer round.
    let card = std::fs::read_to_string(head.join("head.json")).unwrap();
    let turned = card
        .replace("\"wet\"", "\"-\"")
        .replace("\"dry\"", "\"wet\"")
        .replace("\"-\"", "\"dry\"");
    assert_ne!(turned, card);
    std::fs::write(head.join("head.json"), turned).unwrap();
    let error = error_of(&cli.run(&["head", "show", head.to_str().unwrap()]));
    assert!(
        error.contains("`fingerprint` is") && error.contains("was changed"),
        "{error}"
    );
    std::fs::write(head.join("head.json"), "{").unwrap();
    let error = error_of(&cli.run(&["head", "show", head.to_str().unwrap()]));
    assert!(
        error.starts_with("error: ") && error.contains("head.json"),
        "{error}"
    );
}

#[test]
fn a_file_of_rows_is_fitted_and_decided_with() {
    let cli = Cli {
        cache: tempfile::tempdir().unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("rows.jsonl"), folder.path().join("out"));
    let mut lines: Vec<String> = (0..60).map(line).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let fit = |more: &[&str]| {
        let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
        cli.run(&[&["head", "fit", "--data", file, "--out", out][..], more].concat())
    };
    let found = fit(&["--held-out", "20", "--json", "--max-tokens", "100"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let json: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(
        (json["data"]["rows"].as_u64(), json["held_out"]["rows"].as_u64()),
        (Some(40), Some(20))
    );
    assert_eq!(
        json["prompt"],
        serde_json::json!({"max_tokens": 100, "truncate": "middle"})
    );
    assert_eq!(json["fit"]["computed"], 60);
    let again = fit(&["--held-out", "20", "--json", "--max-tokens", "100"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (&again["fit"]["computed"], &again["id"]),
        (&serde_json::json!(0), &json["id"])
    );
    let precision = json["base"]["description"]["precision"].as_str().unwrap();
    let options = ["--option", "wet", "--option", "dry"];
    let shown = text(&cli.run(&with_flags(&out, precision, &options)).stdout);
    assert!(
        shown.starts_with("wet") && shown.contains(json["id"].as_str().unwrap()),
        "{shown}"
    );

    lines[4] = lines[4].replace("\"gold\":\"wet\"", "\"gold\":\"damp\"");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let error = error_of(&fit(&[]));
    assert!(error.contains("row 5") && error.contains("damp"), "{error}");
    for (arguments, says) in [
        (&["head", "fit", "--data", "nothing"][..], "nothing"),
        (&["head", "fit", "--data", "/no/such.jsonl"], "/no/such.jsonl"),
    ] {
        let error = error_of(&cli.run(arguments));
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_head_on_the_first_layers_is_asked_on_them() {
    let cli = Cli {
        cache: tempfile::tempdir().unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("rows.jsonl"), folder.path().join("out"));
    let lines: Vec<String> = (0..60).map(line).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let fit = |more: &[&str]| {
        let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
        cli.run(&[&["head", "fit", "--data", file, "--out", out][..], more].concat())
    };
    let found = fit(&["--layers", "1", "--max-tokens", "100"]);
    let shown = text(&found.stdout);
    assert!(
        shown.contains("the first 1 layers"),
        "{shown}{}",
        text(&found.stderr)
    );
    let head = out.to_str().unwrap();
    let ask = |more: &[&str]| {
        let ask = ["decide", "so rain and water, day 3", "-q", QUESTION];
        let options = ["--option", "wet", "--option", "dry", "--head", head, "--json"];
        cli.run(&[&ask[..], &options, more].concat())
    };
    let json: Value = serde_json::from_slice(&ask(&[]).stdout).unwrap();
    assert_eq!(
        (&json["answers"][0]["choice"], &json["mismatch"]),
        (&"wet".into(), &Value::Array(vec![]))
    );
    for (layers, says) in [
        ("1,0", "no number of layers"),
        ("3", "it has 2, so use 1 to 2"),
        ("", "no number of layers"),
    ] {
        let found = fit(&["--layers", layers]);
        let error = text(&found.stderr);
        assert!(!found.status.success() && error.contains(says), "{error}");
    }
    // Its own rows flatter it, which is said wherever their figures are.
    let judged = folder.path().join("judged");
    let (file_name, judged_name) = (file.to_str().unwrap(), judged.to_str().unwrap());
    let found = cli.run(&[
        "eval",
        file_name,
        "--head",
        head,
        "--out",
        judged_name,
        "--resamples",
        "10",
    ]);
    let shown = text(&found.stdout);
    assert!(
        shown.contains("TAKE CARE: head-") && shown.contains("was fitted on rows of this data"),
        "{shown}"
    );
    let html = std::fs::read_to_string(judged.join("report.html")).unwrap();
    assert!(html.contains("was fitted on rows of this data"));
    let found = fit(&[
        "--held-out",
        "20",
        "--json",
        "--max-tokens",
        "100",
        "--layers",
        "1,all",
    ]);
    let json: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(json["training"]["depths"].as_array().unwrap().len(), 2, "{json}");
}
