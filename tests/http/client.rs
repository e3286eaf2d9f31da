//! A client of bare sockets: nothing is hidden, and broken requests can be sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The field `error` of a native error, after checking its form.
    pub fn error(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert!(self.header("x-request-id").is_some());
        let error = self.json()["error"].clone();
        assert!(
            error["type"].is_string() && error["message"].is_string(),
            "{error}"
        );
        assert!(error["field"].is_string() || error["field"].is_null(), "{error}");
        error
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Writes a request; the connection may be used again.
pub fn send_on(stream: &mut TcpStream, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The server may refuse and close before it has read everything.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// Reads a response with a content length.
pub fn receive(stream: &mut TcpStream) -> Reply {
    try_receive(stream).expect("a response")
}

/// `None` where the server closed without a response.
pub fn try_receive(stream: &mut TcpStream) -> Option<Reply> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) if head.is_empty() => return None,
            Err(error) if head.is_empty() && error.kind() == std::io::ErrorKind::ConnectionReset => {
                return None;
            }
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&head)),
        }
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map(|(_, value)| value.parse().unwrap());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    Some(Reply {
        status,
        headers,
        body,
    })
}

pub fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut stream = connect(address);
    send_on(&mut stream, method, path, headers, body);
    receive(&mut stream)
}

pub fn get(address: SocketAddr, path: &str) -> Reply {
    send(address, "GET", path, &[], b"")
}

pub const JSON: (&str, &str) = ("content-type", "application/json");

pub fn post(address: SocketAddr, path: &str, body: &[u8]) -> Reply {
    send(address, "POST", path, &[JSON], body)
}

pub fn decide(address: SocketAddr, body: &Value) -> Reply {
    post(address, "/decide", body.to_string().as_bytes())
}

pub fn system_one(address: SocketAddr, body: &Value) -> Reply {
    post(address, "/v1/systemone", body.to_string().as_bytes())
}
