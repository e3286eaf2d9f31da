//! `assize verify`: passes on the golden folder, names what differs in an altered copy, refuses another folder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assize_models::engines;
use assize_models::store::Store;
use safetensors::SafeTensors;
use serde_json::Value;

/// The engines that are built in.
const ENGINES: &[&str] = &[
    "onnx",
    #[cfg(feature = "torch")]
    "torch",
];

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gemma4_unified_tiny")
}

fn verify(folder: &Path, engine: &str, more: &[&str]) -> Output {
    let library = engines::host(Some(&Store::open(None).unwrap().library_dir()))
        .unwrap()
        .library;
    let cache = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_assize"))
        .args(["verify", "--engine", engine, "--device", "cpu", "--fixtures"])
        .arg(folder)
        .args(more)
        .env("ASSIZE_CACHE", cache.path())
        // A cache of its own has no inference library.
        .env("ORT_DYLIB_PATH", library)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A copy of the golden folder.
fn copy() -> tempfile::TempDir {
    fn copy_into(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
            match path.is_dir() {
                true => copy_into(&path, &to.join(name)),
                false => _ = std::fs::copy(&path, to.join(name)).unwrap(),
            }
        }
    }
    let copy = tempfile::tempdir().unwrap();
    copy_into(&fixtures(), copy.path());
    copy
}

/// Adds `change` to the last float32 of a tensor, in place.
fn alter(file: &Path, tensor: &str, change: f32) {
    let mut bytes = std::fs::read(file).unwrap();
    let end = {
        let data = SafeTensors::deserialize(&bytes)
            .unwrap()
            .tensor(tensor)
            .unwrap()
            .data();
        data.as_ptr() as usize - bytes.as_ptr() as usize + data.len()
    };
    let number: &mut [u8; 4] = (&mut bytes[end - 4..end]).try_into().unwrap();
    *number = (f32::from_le_bytes(*number) + change).to_le_bytes();
    std::fs::write(file, bytes).unwrap();
}

/// Area and name of every check that failed.
fn failed(found: &Output) -> Vec<(String, String)> {
    let checks: Value = serde_json::from_slice(&found.stdout).unwrap();
    let word = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["passed"] == false)
        .map(|check| (word(check, "area"), word(check, "name")))
        .collect()
}

#[test]
fn the_golden_folder_passes_on_every_engine() {
    for engine in ENGINES {
        let found = verify(&fixtures(), engine, &[]);
        let shown = text(&found.stdout);
        assert_eq!(
            found.status.code(),
            Some(0),
            "{engine}: {shown}{}",
            text(&found.stderr)
        );
        let areas = [
            "grid",
            "image",
            "audio",
            "video",
            "checkpoint",
            "prompt",
            "hidden",
            "head",
        ];
        for area in areas {
            assert!(
                shown.contains(&format!("| {area} ")),
                "{engine}: no {area} in {shown}"
            );
        }
        assert!(shown.contains("checks passed"), "{shown}");
    }
}

#[test]
fn an_altered_hidden_state_is_named_and_the_exit_code_is_1() {
    for engine in ENGINES {
        let folder = copy();
        // Just above the bound of 1e-4, and only in the mask style that has values of its own.
        let case = folder.path().join("golden/cases/image_280.safetensors");
        alter(&case, "local.last_hidden_state", 3e-4);
        let found = verify(folder.path(), engine, &["--json"]);
        assert_eq!(found.status.code(), Some(1), "{engine}");
        assert_eq!(
            failed(&found),
            [("hidden".to_owned(), "image_280, local".to_owned())],
            "{engine}"
        );
        assert!(text(&found.stderr).contains("1 of "), "{}", text(&found.stderr));
    }
}

#[test]
fn an_altered_picture_hash_and_an_altered_sample_are_named_in_the_table() {
    let folder = copy();
    alter(
        &folder.path().join("golden/audio.safetensors"),
        "stereo.waveform",
        1e-6,
    );
    let manifest = folder.path().join("golden/manifest.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    json["images"]["photo_w640_h480"]["budget_70"]["sha256_patches_u8"] = "0".repeat(64).into();
    std::fs::write(&manifest, json.to_string()).unwrap();
    let found = verify(folder.path(), "onnx", &[]);
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{shown}");
    for name in ["photo_w640_h480 at 70", "stereo", "checks FAILED"] {
        assert!(shown.contains(name), "no {name} in {shown}");
    }
    assert!(
        !shown.contains("tiny_1x1"),
        "what passed is not listed one by one: {shown}"
    );
}

#[test]
fn a_folder_of_another_shape_is_refused_by_name_of_what_it_lacks() {
    let empty = tempfile::tempdir().unwrap();
    let found = verify(empty.path(), "onnx", &[]);
    let message = text(&found.stderr);
    assert_eq!(found.status.code(), Some(1), "{message}");
    assert!(message.contains("golden/manifest.json"), "{message}");
    assert!(found.stdout.is_empty());

    let folder = copy();
    std::fs::remove_file(folder.path().join("golden/cases/mixed.safetensors")).unwrap();
    let message = text(&verify(folder.path(), "onnx", &[]).stderr);
    assert!(message.contains("golden/cases/mixed.safetensors"), "{message}");

    std::fs::write(folder.path().join("golden/manifest.json"), "{}").unwrap();
    let message = text(&verify(folder.path(), "onnx", &[]).stderr);
    assert!(
        message.contains("manifest.json: missing field `images`"),
        "{message}"
    );
}

#[cfg(not(feature = "torch"))]
#[test]
fn without_the_feature_torch_the_error_says_how_to_get_it() {
    let found = verify(&fixtures(), "torch", &[]);
    let message = text(&found.stderr);
    assert_eq!(found.status.code(), Some(1), "{message}");
    assert!(message.contains("cargo feature `torch`"), "{message}");
}
