//! Fetching from a server on this machine that speaks as much of the hub's protocol as the client needs.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::Checkpoint;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

type Files = Arc<HashMap<String, Vec<u8>>>;

/// Serves `files` of the repository `org/tiny` until the test ends; returns the endpoint.
fn serve(files: HashMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let files: Files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let files = files.clone();
            std::thread::spawn(move || answer(stream, &files));
        }
    });
    endpoint
}

fn answer(mut stream: TcpStream, files: &Files) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(request)) = lines.next() else { return };
    let mut range = (0, None);
    for line in lines.map_while(Result::ok) {
        if line.is_empty() {
            break;
        }
        let line = line.to_lowercase();
        if let Some(bytes) = line.strip_prefix("range: bytes=") {
            let (start, end) = bytes.split_once('-').unwrap();
            range = (start.parse::<usize>().unwrap(), end.parse::<usize>().ok());
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, headers, body) = if path.starts_with("/api/models/org/tiny/revision/") {
        let siblings: Vec<_> = files.keys().map(|name| json!({"rfilename": name})).collect();
        let info = json!({"sha": COMMIT, "siblings": siblings});
        ("200 OK", String::new(), info.to_string().into_bytes())
    } else if let Some((name, bytes)) = path
        .strip_prefix(&format!("/org/tiny/resolve/{COMMIT}/"))
        .and_then(|name| files.get_key_value(name))
    {
        let end = range
            .1
            .map_or(bytes.len(), |end: usize| (end + 1).min(bytes.len()));
        let headers = format!(
            "ETag: \"etag-{name}\"\r\nX-Repo-Commit: {COMMIT}\r\nContent-Range: bytes {}-{}/{}\r\n",
            range.0,
            end - 1,
            bytes.len()
        );
        ("206 Partial Content", headers, bytes[range.0..end].to_vec())
    } else {
        ("404 Not Found", String::new(), Vec::new())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}

fn golden(name: &str) -> HashMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(name);
    std::fs::read_dir(&folder)
        .unwrap()
        .map(|item| item.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect()
}

const NAME: HubName<'_> = HubName {
    repository: "org/tiny",
    revision: None,
};

#[test]
fn a_folder_is_fetched_whole_and_opens() {
    for (model, files) in [("tiny_llama", 3), ("tiny_qwen3_bf16_sharded", 6)] {
        let mut served = golden(model);
        served.insert("README.md".into(), b"not needed".to_vec());
        let endpoint = serve(served);
        let dir = tempfile::tempdir().unwrap();
        let fetched = fetch_from(Some(endpoint), dir.path(), NAME).unwrap();
        assert_eq!(fetched.files.len(), files, "{model}");
        assert!(fetched.folder.ends_with(COMMIT) && fetched.folder.starts_with(dir.path()));
        assert!(fetched.repository.is_dir());
        assert!(!fetched.folder.join("README.md").exists());
        let checkpoint = Checkpoint::open_as(&fetched.folder, Some("org/tiny"), None).unwrap();
        let original = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/golden")
            .join(model);
        let local = Checkpoint::open_as(&original, None, None).unwrap();
        assert_eq!(checkpoint.weights_hash(), local.weights_hash());
    }
}

#[test]
fn what_is_fetched_becomes_an_entry_that_can_be_removed() {
    let endpoint = serve(golden("tiny_llama"));
    let dir = tempfile::tempdir().unwrap();
    let store = crate::store::Store::open(Some(dir.path())).unwrap();
    let name = crate::store::name::ModelName::parse("org/tiny@v1").unwrap();
    let fetched = fetch_from(Some(endpoint), &store.root().join("hub"), name.hub().unwrap()).unwrap();
    let entry = crate::store::pull::commit_hub(&store, &name, &fetched).unwrap();
    assert_eq!((entry.name.as_str(), entry.files.len()), ("org/tiny@v1", 3));
    assert_eq!(store.resolve("org/tiny@v1").unwrap().name(), "org/tiny@v1");
    assert!(store.show("org/tiny@v1", true).unwrap().verified);
    store.rm("org/tiny@v1").unwrap();
    assert!(!fetched.repository.exists());
}

#[test]
fn failures_name_the_repository_and_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = serve(golden("tiny_llama"));
    let other = HubName {
        repository: "org/other",
        revision: None,
    };
    let error = fetch_from(Some(endpoint), dir.path(), other)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("org/other") && error.contains("--model DIR"),
        "{error}"
    );
    let closed = "http://127.0.0.1:9".to_owned();
    let error = fetch_from(Some(closed), dir.path(), NAME)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("org/tiny") && error.contains("network"), "{error}");
}

#[test]
fn only_what_a_checkpoint_needs_is_wanted() {
    let present = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let all = present(&[
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "pytorch_model.bin",
        "README.md",
    ]);
    assert_eq!(
        wanted_files(&all).unwrap(),
        ["model.safetensors", "tokenizer.json", "config.json"]
    );
    let sharded = present(&["config.json", "tokenizer.json", "model.safetensors.index.json"]);
    assert_eq!(wanted_files(&sharded).unwrap()[0], "model.safetensors.index.json");
    assert!(
        wanted_files(&present(&["config.json", "pytorch_model.bin"]))
            .unwrap_err()
            .contains("safetensors")
    );
    let without = present(&["config.json", "model.safetensors"]);
    assert!(wanted_files(&without).unwrap_err().contains("tokenizer.json"));
}
