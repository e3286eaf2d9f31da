//! The command line: exit codes, one-line errors, JSON that equals the server's, closed pipes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use assize_models::engines;
use assize_models::store::Store;
use serde_json::Value;

fn model() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny_llama")
}

/// The inference library that this machine has.
fn library() -> PathBuf {
    let folder = Store::open(None).unwrap().library_dir();
    engines::host(Some(&folder)).unwrap().library
}

struct Cli {
    cache: tempfile::TempDir,
}

impl Cli {
    fn new() -> Self {
        Self {
            cache: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
        command
            .args(arguments)
            .env("ASSIZE_CACHE", self.cache.path())
            .env("ASSIZE_MODEL", model());
        // A cache of its own has no inference library.
        command.env("ORT_DYLIB_PATH", library()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn decide_prints_bars_or_json() {
    let cli = Cli::new();
    let found = cli.run(&[
        "decide",
        "It rains.",
        "-q",
        "What falls?",
        "--option",
        "rain",
        "--option",
        "snow\u{7}",
    ]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let shown = text(&found.stdout);
    assert!(
        shown.contains("rain") && shown.contains(" %") && shown.contains("art-"),
        "{shown}"
    );
    assert!(!shown.contains('\u{7}'), "control characters are escaped");

    let found = cli.run(&[
        "decide",
        "It rains.",
        "-q",
        "What?",
        "-o",
        "rain",
        "-o",
        "snow",
        "--json",
        "--precision",
        "float32",
    ]);
    let body: Value = serde_json::from_slice(&found.stdout).unwrap();
    let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "model",
            "artifact",
            "engine",
            "head",
            "calibration",
            "mismatch",
            "answers",
            "usage",
            "truncated_tokens",
            "media",
            "timings_ms"
        ]
    );
    assert_eq!(body["answers"][0]["probabilities"][1]["option"], "snow");

    for shape in [&["--predicate"][..], &["--level", "low", "--level", "high"]] {
        let mut arguments = vec!["decide", "It rains.", "-q", "Is it wet?", "--json"];
        arguments.extend(shape);
        let found = cli.run(&arguments);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    }
}

#[test]
fn the_state_comes_from_stdin_or_a_file() {
    let cli = Cli::new();
    let arguments = ["-q", "What?", "-o", "rain", "-o", "snow", "--json"];
    let answers = |found: &Output| {
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        serde_json::from_slice::<Value>(&found.stdout).unwrap()["answers"].clone()
    };
    let plain = answers(&cli.run(&[&["decide", "It rains."][..], &arguments].concat()));
    let mut child = cli
        .command(&[&["decide", "-"][..], &arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"It rains.").unwrap();
    assert_eq!(answers(&child.wait_with_output().unwrap()), plain);
    let file = cli.cache.path().join("state.txt");
    std::fs::write(&file, "It rains.").unwrap();
    let named = format!("@{}", file.display());
    assert_eq!(
        answers(&cli.run(&[&["decide", named.as_str()][..], &arguments].concat())),
        plain
    );
    std::fs::write(&file, "\u{feff}It rains.").unwrap();
    assert_eq!(
        answers(&cli.run(&[&["decide", named.as_str()][..], &arguments].concat())),
        plain,
        "a byte order mark is no part of the text"
    );
    for (bytes, says) in [
        (&b"It \xffrains."[..], "byte 3 is invalid"),
        (b"\xff\xfeI\0", "iconv -f UTF-16"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let from_file = cli.run(&[&["decide", named.as_str()][..], &arguments].concat());
        let from_stdin = cli
            .command(&[&["decide", "-"][..], &arguments].concat())
            .stdin(std::fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        for (found, from) in [(from_file, "state.txt"), (from_stdin, "stdin")] {
            let error = text(&found.stderr);
            assert_eq!(found.status.code(), Some(1), "{error}");
            assert!(error.contains(from) && error.contains(says), "{error}");
        }
    }
}

#[test]
fn exit_codes_and_errors() {
    let cli = Cli::new();
    for arguments in [
        &["decide"][..],
        &["decide", "s"],
        &["decide", "s", "--predicate"],
        &["decide", "s", "-o", "a", "--predicate", "-q", "x"],
        &["decide", "s", "-o", "a", "--truncate", "left"],
        &["decide", "s", "-o", "a", "--precision", "int3"],
        &["serve", "--port", "70000"],
        &["serve", "--queue", "0"],
        &["serve", "--deadline", "-1"],
        &["decide", "s", "-o", "a", "--threads", "many"],
        &["nothing"],
    ] {
        let found = cli.run(arguments);
        assert_eq!(
            found.status.code(),
            Some(2),
            "{arguments:?}: {}",
            text(&found.stderr)
        );
        assert!(found.stdout.is_empty() && !found.stderr.is_empty());
        // It would show flags that the environment sets as required.
        let shown = text(&found.stderr);
        assert!(!shown.contains("Usage:") || arguments == ["nothing"], "{shown}");
    }
    for (arguments, says) in [
        (
            &["decide", "s", "-o", "a", "-o", "a", "-q", "q"][..],
            "error: --option \"a\" was given twice: names must differ",
        ),
        (&["decide", "s", "-o", "a", "-o", ""], "--option \"\" is empty"),
        (&["decide", "s", "-l", "a", "-l", ""], "--level \"\" is empty"),
        (&["decide", "s", "--predicate", "-q", " "], "--question is empty"),
        (
            &["decide", "s", "-o", "a", "--model", "/nonexistent/model"],
            "/nonexistent/model",
        ),
        (&["decide", "@/nonexistent", "-o", "a"], "/nonexistent"),
        (&["decide", "-", "-o", "a"], "the state from stdin is empty"),
        (
            &["decide", "@/dev/full/x", "-o", "a"],
            "error: reading the state from /dev/full/x: Not a directory (os error 20)",
        ),
        (&["serve", "--host", "203.0.113.7"], "203.0.113.7:8080"),
    ] {
        let found = cli.run(arguments);
        assert_eq!(
            found.status.code(),
            Some(1),
            "{arguments:?}: {}",
            text(&found.stderr)
        );
        let error = text(&found.stderr);
        let last = error.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("error: ") && last.contains(says),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn help_has_examples() {
    let cli = Cli::new();
    for command in ["serve", "decide"] {
        let found = cli.run(&[command, "--help"]);
        assert_eq!(found.status.code(), Some(0));
        assert!(text(&found.stdout).contains(&format!("Examples:\n  assize {command}")));
    }
}

/// One command of each kind that prints, without what needs a download.
#[cfg(unix)]
const PRINTING: [&[&str]; 11] = [
    &["decide", "s", "-q", "q", "-o", "a", "-o", "b"],
    &["decide", "s", "-q", "q", "-o", "a", "-o", "b", "--json"],
    &["model", "list"],
    &["model", "list", "--json"],
    &["engine", "show"],
    &["engine", "show", "--json"],
    &["datasets", "list"],
    &["bench", "peaks", "-r", "1", "-t", "1"],
    &["--help"],
    &["decide", "--help"],
    &["--version"],
];

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_quiet() {
    let cli = Cli::new();
    for arguments in PRINTING {
        let mut child = cli
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), error.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

/// `command` under a shell that redirects its standard output.
#[cfg(unix)]
fn redirected(cli: &Cli, arguments: &[&str], redirection: &str) -> Output {
    let command = cli.command(arguments);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    shell.output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let cli = Cli::new();
    let mut places = vec![(">&-", "standard output is closed")];
    if std::path::Path::new("/dev/full").exists() {
        places.push((">/dev/full", "writing to standard output"));
    }
    for arguments in PRINTING {
        for (redirection, says) in &places {
            let found = redirected(&cli, arguments, redirection);
            let error = text(&found.stderr);
            assert_eq!(
                found.status.code(),
                Some(1),
                "{arguments:?} {redirection}: {error}"
            );
            let last = error.lines().last().unwrap_or_default();
            assert!(
                last.starts_with("error: ") && last.contains(says),
                "{arguments:?}: {error}"
            );
        }
        // Somewhere to be dropped is still somewhere.
        for redirection in [">/dev/null", "1<>/dev/null"] {
            let found = redirected(&cli, arguments, redirection);
            assert_eq!(found.status.code(), Some(0), "{arguments:?} {redirection}");
        }
    }
}
