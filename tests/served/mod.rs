//! A real `assize serve`, as tests with clients from outside need it.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that is killed when its test ends, however it ends.
pub struct Server {
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
    /// Starts `assize serve` with these arguments on a free port and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port")
            .port();
        let process = Command::new(env!("CARGO_BIN_EXE_assize"))
            .args(["serve", "--deadline", "300", "--port", &port.to_string()])
            .args(arguments)
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

    /// Its root.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
