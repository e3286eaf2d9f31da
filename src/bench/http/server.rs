//! A server started for a measurement, and ended with it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};

use super::super::BenchError;
use super::client::{Address, Client};

/// Longest wait for a server to be ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// A child process that serves on a free port of the loopback address.
pub struct Server {
    child: Child,
    address: Address,
    ready: Duration,
}

impl Server {
    /// Starts `binary serve` with `arguments` and waits until `/ready` says so.
    ///
    /// # Errors
    /// It does not start, ends early or is not ready in time.
    pub fn start(binary: &Path, arguments: &[String]) -> Result<Self, BenchError> {
        let io = |source| BenchError::Io {
            path: binary.to_owned(),
            source,
        };
        // Bound and let go: the server takes the same port a moment later.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(io)?
            .port();
        let address = Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let start = Instant::now();
        let child = Command::new(binary)
            .arg("serve")
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(io)?;
        let mut server = Self {
            child,
            address,
            ready: Duration::ZERO,
        };
        server.wait_until_ready(start)?;
        server.ready = start.elapsed();
        Ok(server)
    }

    fn wait_until_ready(&mut self, start: Instant) -> Result<(), BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| self.address.error(error))?;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self
                    .address
                    .error(format!("the server ended with {status} before it was ready")));
            }
            let ready = runtime.block_on(async {
                let mut client = Client::connect(&self.address).await.ok()?;
                let (status, _) = client.send(Method::GET, "/ready", "").await.ok()?;
                (status == StatusCode::OK).then_some(())
            });
            if ready.is_some() {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(self
                    .address
                    .error(format!("not ready after {} s", PATIENCE.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where it listens.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Time from its start to the first "ready".
    pub fn ready(&self) -> Duration {
        self.ready
    }

    /// Its resident memory in MiB, where the system tells.
    pub fn memory_mib(&self) -> Option<f64> {
        super::super::host::memory_mib_of(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_at_once_is_an_error() {
        let found = Server::start(Path::new("/bin/false"), &[]);
        let message = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("before it was ready"), "{message}");
    }

    #[test]
    fn a_missing_binary_is_an_error() {
        assert!(Server::start(Path::new("/nonexistent/assize"), &[]).is_err());
    }
}
