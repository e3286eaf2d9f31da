//! The program as a process, on a tiny model.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assize_models::engines;
use assize_models::store::Store;
use serde_json::{Value, json};

/// A folder of its own, and the program run in it on a tiny model.
pub struct Rig {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Rig {
    pub fn new() -> Self {
        // A cache of its own has no inference library.
        let folder = Store::open(None).unwrap().library_dir();
        Self {
            folder: tempfile::tempdir().unwrap(),
            library: engines::host(Some(&folder)).unwrap().library,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("ASSIZE_CACHE", self.path("cache"))
            .env(
                "ASSIZE_MODEL",
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny_llama"),
            )
            .env("ORT_DYLIB_PATH", &self.library)
            .stdin(Stdio::null());
        command
    }

    #[track_caller]
    pub fn run(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let found = self.command(arguments).output().unwrap();
        outcome(code, &found)
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub fn write(&self, name: &str, lines: impl IntoIterator<Item = Value>) {
        let text: String = lines.into_iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.path(name), text).unwrap();
    }
}

#[track_caller]
fn outcome(code: i32, found: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, error) = (text(&found.stdout), text(&found.stderr));
    assert_eq!(found.status.code(), Some(code), "{out}\n{error}");
    (out, error)
}

/// Rows of all three shapes and of different lengths.
pub fn rows(count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(|n| {
        let state = "Some rain fell on the hills. ".repeat(1 + n * 7 % 9);
        let group = format!("g{}", n % 3);
        match n % 4 {
            0 => json!({"id": format!("r{n}"), "group": group, "state": state, "question": "Is it wet?", "gold": n % 3 == 0}),
            1 => json!({"id": format!("r{n}"), "group": group, "state": state, "question": "How wet?",
                        "levels": ["dry", "damp", "wet"], "ratings": [n % 5, 1, 2]}),
            _ => json!({"id": format!("r{n}"), "group": group, "state": state, "question": "What falls?",
                        "options": ["rain", "snow", "hail"], "gold_index": n % 3}),
        }
    })
}
