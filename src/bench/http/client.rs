//! A small HTTP client: one kept-alive connection, one request at a time.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::super::BenchError;

/// Where a server listens: plain HTTP, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl Address {
    pub(super) fn error(&self, reason: impl std::fmt::Display) -> BenchError {
        BenchError::Server {
            address: self.to_string(),
            reason: reason.to_string(),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_prefix("http://")
            .unwrap_or(text)
            .trim_end_matches('/')
            .parse()
            .map(Address)
            .map_err(|error| format!("{text:?} is no address such as http://127.0.0.1:8080 ({error})"))
    }
}

/// One connection.
pub struct Client {
    address: Address,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens.
    pub async fn connect(address: &Address) -> Result<Self, BenchError> {
        let error = |reason: String| address.error(reason);
        let stream = TcpStream::connect(address.0)
            .await
            .map_err(|failure| error(failure.to_string()))?;
        // Without this, small requests may wait for the acknowledgement of the one before.
        stream
            .set_nodelay(true)
            .map_err(|failure| error(failure.to_string()))?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|failure| error(failure.to_string()))?;
        tokio::spawn(connection);
        Ok(Self {
            address: *address,
            sender,
        })
    }

    /// Status and body of one request.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: &str,
    ) -> Result<(StatusCode, Bytes), BenchError> {
        let address = self.address;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", address.0.to_string())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
            .map_err(|failure| address.error(failure))?;
        self.sender
            .ready()
            .await
            .map_err(|failure| address.error(failure))?;
        let response = self
            .sender
            .send_request(request)
            .await
            .map_err(|failure| address.error(failure))?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|failure| address.error(failure))?
            .to_bytes();
        Ok((status, body))
    }

    /// Probabilities of the one question of a `/v1/systemone` request, in the order of its options.
    ///
    /// # Errors
    /// The server answers with an error, or with something else.
    pub async fn decide(&mut self, body: &str) -> Result<Vec<f64>, BenchError> {
        let (status, answer) = self.send(Method::POST, "/v1/systemone", body).await?;
        if status != StatusCode::OK {
            let text = String::from_utf8_lossy(&answer);
            return Err(self.address.error(format!("answered {status}: {text}")));
        }
        probabilities(&answer).ok_or_else(|| {
            let text = String::from_utf8_lossy(&answer);
            self.address.error(format!("gave no probabilities: {text}"))
        })
    }
}

fn probabilities(answer: &[u8]) -> Option<Vec<f64>> {
    let value: serde_json::Value = serde_json::from_slice(answer).ok()?;
    value
        .get("answers")?
        .get("q")?
        .get("probabilities")?
        .as_object()?
        .values()
        .map(serde_json::Value::as_f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_shown() {
        let found: Address = "http://127.0.0.1:8080/".parse().unwrap();
        assert_eq!(found.to_string(), "http://127.0.0.1:8080");
        assert_eq!("127.0.0.1:8080".parse(), Ok(found));
        assert!("example".parse::<Address>().unwrap_err().contains("127.0.0.1"));
    }

    #[test]
    fn probabilities_keep_the_order_of_the_options() {
        let answer = br#"{"answers":{"q":{"type":"choice","probabilities":{"b":0.75,"a":0.25}}}}"#;
        assert_eq!(probabilities(answer), Some(vec![0.75, 0.25]));
        assert_eq!(probabilities(br#"{"answers":{}}"#), None);
        assert_eq!(probabilities(b"<html>"), None);
    }

    #[tokio::test]
    async fn one_connection_serves_many_requests_and_errors_carry_the_answer() {
        let app = axum::Router::new().route(
            "/v1/systemone",
            axum::routing::post(|body: String| async move {
                if body == "bad" {
                    (StatusCode::BAD_REQUEST, "state is missing".to_owned())
                } else {
                    let answer = r#"{"answers":{"q":{"probabilities":{"x":1.0}}}}"#;
                    (StatusCode::OK, answer.to_owned())
                }
            }),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address(listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let mut client = Client::connect(&address).await.unwrap();
        for _ in 0..3 {
            assert_eq!(client.decide("{}").await.unwrap(), [1.0]);
        }
        let message = client.decide("bad").await.unwrap_err().to_string();
        assert!(
            message.contains("400") && message.contains("state is missing"),
            "{message}"
        );
        assert_eq!(client.decide("{}").await.unwrap(), [1.0]);
    }
}
