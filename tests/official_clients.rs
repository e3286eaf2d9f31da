//! The official Python clients and a conformance suite, all unmodified, against a real `assize serve`.
//!
//! They are skipped with a printed line where `.cache/venv` lacks the packages of `tests/clients/requirements.txt` or the
//! default model is not in the cache, and fail there if `ASSIZE_REQUIRE_CLIENTS=1`, as `scripts/test.sh` sets it.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assize_models::store::{DEFAULT_MODEL, Store};

/// A server that is killed when its test ends, however it ends.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port")
            .port();
        let process = Command::new(env!("CARGO_BIN_EXE_assize"))
            .args(["serve", "--deadline", "300", "--port", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("assize serve starts");
        let mut server = Self { process, port };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&mut self) {
        let limit = Instant::now() + Duration::from_secs(120);
        while !self.says_ready() {
            if let Some(status) = self.process.try_wait().expect("the server's status") {
                panic!("assize serve ended with {status} before it was ready");
            }
            assert!(Instant::now() < limit, "assize serve was not ready in time");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn says_ready(&self) -> bool {
        use std::io::{Read, Write};
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let request = "GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// The folder of the Python environment's programs, if everything the test needs is there.
fn clients(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = root.join(".cache/venv/bin");
    let has_clients = Command::new(programs.join("python"))
        .args([
            "-c",
            "import typesafe_sdk, jevcompat, backports.zstd, anthropic, ollama",
        ])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let models = Store::open(None)
        .and_then(|store| store.list())
        .unwrap_or_default();
    let has_model = models.iter().any(|model| model.name == DEFAULT_MODEL);
    let missing = match (has_clients, has_model) {
        (true, true) => return Some(programs),
        (false, _) => ".cache/venv has not the packages of tests/clients/requirements.txt",
        (true, false) => "the default model is not in the cache: run `assize model pull`",
    };
    let required = std::env::var_os("ASSIZE_REQUIRE_CLIENTS").is_some_and(|value| value == "1");
    assert!(!required, "{missing}");
    println!("skipped: {test}: {missing}");
    None
}

fn run(command: &mut Command) {
    let output = command.output().expect("the client starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{said}");
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{said}",
        output.status
    );
}

#[test]
fn the_official_clients_get_their_answers() {
    let Some(programs) = clients("the_official_clients_get_their_answers") else {
        return;
    };
    let server = Server::start();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    run(Command::new(programs.join("python"))
        .args(["-m", "unittest", "discover", "-v", "-s"])
        .arg(tests)
        .env("ASSIZE_URL", server.url()));
}

#[test]
fn the_conformance_suite_passes_every_must() {
    let Some(programs) = clients("the_conformance_suite_passes_every_must") else {
        return;
    };
    let server = Server::start();
    run(Command::new(programs.join("jevcompat")).args(["test", &server.url()]));
}
