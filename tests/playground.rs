//! The page at `/` in a real browser, against a real `assize serve`: with the default model, which reads text, and with a
//! tiny one that takes pictures, sounds and videos.
//!
//! They are skipped with a printed line where the browser, its driver (`tests/clients/requirements.txt`, in `.cache/venv`)
//! or the model is missing, and fail there if `ASSIZE_REQUIRE_CLIENTS=1`, as `scripts/test.sh` sets it.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod served;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assize_models::store::{DEFAULT_MODEL, Store};
use served::Server;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Python that drives the browser, if everything the test needs is there.
fn driver(test: &str) -> Option<PathBuf> {
    let python = root().join(".cache/venv/bin/python");
    let runs = |command: &mut Command| {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let models = Store::open(None)
        .and_then(|store| store.list())
        .unwrap_or_default();
    let missing = if !runs(Command::new(&python).args(["-c", "import playwright.sync_api"])) {
        ".cache/venv has not the packages of tests/clients/requirements.txt"
    } else if !runs(Command::new("chromium").arg("--version")) {
        "the browser is missing: install the Debian package chromium"
    } else if !models.iter().any(|model| model.name == DEFAULT_MODEL) {
        "the default model is not in the cache: run `assize model pull`"
    } else {
        return Some(python);
    };
    let required = std::env::var_os("ASSIZE_REQUIRE_CLIENTS").is_some_and(|value| value == "1");
    assert!(!required, "{missing}");
    println!("skipped: {test}: {missing}");
    None
}

/// Runs a file of `tests/playground` against a server whose root is in the variable `name`.
fn run(python: &Path, file: &str, name: &str, server: &Server) {
    let output = Command::new(python)
        .args(["-m", "unittest", "-v", file])
        .current_dir(root().join("tests/playground"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env(name, server.url())
        .output()
        .expect("the driver starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{said}");
    assert!(
        output.status.success(),
        "{file} ended with {}:\n{said}",
        output.status
    );
}

#[test]
fn decisions_about_text_are_tried_in_a_browser() {
    let Some(python) = driver("decisions_about_text_are_tried_in_a_browser") else {
        return;
    };
    run(&python, "test_text", "ASSIZE_URL", &Server::start(&[]));
}

#[test]
fn decisions_about_media_are_tried_in_a_browser() {
    let Some(python) = driver("decisions_about_media_are_tried_in_a_browser") else {
        return;
    };
    let golden = root().join("tests/golden/gemma4_unified_tiny");
    let folder = tempfile::tempdir().expect("a scratch folder");
    for file in [
        "checkpoint/config.json",
        "checkpoint/model.safetensors",
        "checkpoint/tokenizer.json",
        "golden/head.safetensors",
    ] {
        let from = golden.join(file);
        let to = folder.path().join(from.file_name().expect("a file's name"));
        std::fs::copy(&from, to).expect("a copy of the checkpoint");
    }
    let model = folder.path().to_str().expect("a path in UTF-8");
    run(
        &python,
        "test_media",
        "ASSIZE_MEDIA_URL",
        &Server::start(&["--model", model]),
    );
}
