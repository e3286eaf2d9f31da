//! `assize bench media` as a user runs it: without the reference, on files of the repository.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs `assize bench media`; `cache` is where it would make files.
fn bench(cache: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assize"))
        .args(["bench", "media"])
        .args(arguments)
        .env("ASSIZE_CACHE", cache)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn records(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn ours_alone_is_measured_for_every_kind() {
    let cache = tempfile::tempdir().unwrap();
    let found = records(&bench(
        cache.path(),
        &[
            "--no-reference",
            "--json",
            "-r",
            "2",
            "--image",
            "tests/golden/gemma4_unified_tiny/media/images/jpeg_w120_h90.jpg",
            "--audio",
            "tests/media/chirp.mp3",
            "--video",
            "tests/media/h264.mp4",
        ],
    ));
    let kinds: Vec<_> = found
        .iter()
        .map(|record| record["medium"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["image", "audio", "video"]);
    for record in &found {
        assert_eq!(record["samples_ns"].as_array().unwrap().len(), 2, "{record}");
        let field = |name: &str| record[name].as_u64().unwrap();
        assert!(field("median_ns") > 0 && field("soft_tokens") > 0, "{record}");
        assert!(field("decode_median_ns") + field("preprocess_median_ns") <= 2 * field("median_ns"));
        assert!(
            record["reference"].is_null() && record["speedup"].is_null(),
            "{record}"
        );
    }
    // Nothing was made.
    assert!(!cache.path().join("bench").exists());
}

#[test]
fn the_default_picture_is_made_with_ffmpeg_and_becomes_264_soft_tokens() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("not run: there is no ffmpeg command");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let found = records(&bench(
        cache.path(),
        &["--no-reference", "--json", "-r", "1", "--only", "image"],
    ));
    assert_eq!(found[0]["soft_tokens"], 264);
    let bytes = found[0]["file_bytes"].as_u64().unwrap();
    assert!((400_000..1_200_000).contains(&bytes), "{bytes}");
    assert!(cache.path().join("bench/media/picture.jpg").exists());
}

#[test]
fn what_is_missing_is_told_with_the_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let chirp = ["--only", "audio", "--audio", "tests/media/chirp.mp3"];
    for (arguments, says) in [
        (&["--python", "/nonexistent/python"][..], "--no-reference"),
        (&["--python", "/bin/true"], "pip install transformers==5.24.0"),
        (
            &["--no-reference", "--audio", "/nonexistent.mp3"],
            "/nonexistent.mp3",
        ),
        (
            &["--no-reference", "--audio", "tests/media/make.sh"],
            "no known kind",
        ),
        (&["--probe", "image"], "--probe image needs --image"),
    ] {
        let named = if arguments.contains(&"--audio") {
            &chirp[..2]
        } else {
            &chirp[..]
        };
        let found = bench(cache.path(), &[named, arguments].concat());
        let said = String::from_utf8_lossy(&found.stderr);
        assert_eq!(found.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains("error: ") && said.contains(says),
            "{arguments:?}: {said}"
        );
    }
    for arguments in [
        &["--only", "smell"][..],
        &["--memory", "--no-reference"],
        &["-r", "x"],
    ] {
        assert_eq!(
            bench(cache.path(), arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn help_has_examples() {
    let cache = tempfile::tempdir().unwrap();
    let found = bench(cache.path(), &["--help"]);
    let shown = String::from_utf8_lossy(&found.stdout);
    assert!(shown.contains("Examples:\n  assize bench media"), "{shown}");
    assert!(!shown.contains("--probe"), "{shown}");
}
