//! Reading a request's body: type, encoding, size and time are all bounded, and so is what all bodies hold together.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::multipart::{self, BodyPart, Boundary};
use super::problem::{Problem, ProblemKind};

/// Bytes that one permit of the shared room stands for.
const ROOM_UNIT: usize = 1 << 16;
/// Bytes of each body that are held without asking for room: the usual request is never refused for others' sake.
const FREE_BYTES: usize = 64 << 10;

/// Largest window (2^24 = 16 MiB) that a zstd frame may ask for; encoders reach it at their highest levels only.
const MAX_WINDOW_LOG: u32 = 24;

/// Most bytes of a refused body that are read and dropped, so that its sender gets to read why.
const MOST_DISCARDED: usize = 64 << 20;
/// Time for that.
const DISCARD_TIME: Duration = Duration::from_secs(2);

/// Bounds on a body.
#[derive(Debug, Clone)]
pub(super) struct BodyLimits {
    /// Most bytes, as sent and after decompression.
    pub(super) bytes: usize,
    /// Time for the whole body to arrive.
    pub(super) time: Duration,
    /// Whether parts with media are read.
    pub(super) parts: bool,
    /// Room that all large bodies share.
    pub(super) room: BodyRoom,
}

/// Memory that large bodies share, so that many at once are refused instead of held.
#[derive(Debug, Clone)]
pub(super) struct BodyRoom {
    units: Arc<Semaphore>,
}

impl BodyRoom {
    /// Room for `bytes` beyond what every body may hold.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            units: Arc::new(Semaphore::new((bytes / ROOM_UNIT).min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Adds to `held` what a body of `bytes` needs.
    ///
    /// # Errors
    /// Other bodies hold the room.
    fn take(&self, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Problem> {
        let needed = bytes.saturating_sub(FREE_BYTES).div_ceil(ROOM_UNIT);
        let missing = needed.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if missing == 0 {
            return Ok(());
        }
        let units = u32::try_from(missing).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.units).try_acquire_many_owned(units) else {
            return Err(Problem {
                retry_after: Some(Duration::from_secs(1)),
                ..unread(Problem::new(
                    ProblemKind::QueueFull,
                    "other large bodies are being read; try again in 1 s",
                ))
            });
        };
        match held {
            Some(held) => held.merge(permit),
            None => *held = Some(permit),
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Plain,
    Zstd,
}

/// What the headers say of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Announced {
    encoding: Encoding,
    /// Of a multipart body.
    boundary: Option<Boundary>,
}

/// A body as it arrived.
#[derive(Debug)]
pub(super) struct ReceivedBody {
    bytes: Vec<u8>,
    announced: Announced,
    limit: usize,
    /// Given back once the media were read.
    _room: Option<OwnedSemaphorePermit>,
}

/// A body whose encodings are undone.
#[derive(Debug, Default)]
pub(super) struct PlainBody {
    /// The JSON of the request.
    pub(super) json: Vec<u8>,
    /// The parts beside it, in order.
    pub(super) parts: Vec<BodyPart>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Receives the body of a request: JSON, or parts of which one is the JSON.
///
/// # Errors
/// 415 for another type or encoding, 413 above the limit, 408 when it does not arrive in time, 400 when it is cut.
pub(super) async fn receive(request: Request, limits: BodyLimits) -> Result<ReceivedBody, Problem> {
    let (head, mut body) = request.into_parts();
    let announced = match check_headers(&head.headers, limits.parts).and_then(|announced| {
        check_announced(&head.headers, limits.bytes)?;
        Ok(announced)
    }) {
        Ok(announced) => announced,
        Err(problem) => {
            // A client that waits to be told to send the body is answered at once; others would not read the answer
            // before they have sent it.
            if !head.headers.contains_key(header::EXPECT) {
                discard(&mut body).await;
            }
            return Err(problem);
        }
    };
    let mut room = None;
    let bytes = tokio::time::timeout(limits.time, collect(&mut body, &limits, &mut room))
        .await
        .map_err(|_| {
            unread(Problem::new(
                ProblemKind::RequestTimeout,
                format!("the body did not arrive within {} s", limits.time.as_secs_f64()),
            ))
        })?;
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(problem) => {
            discard(&mut body).await;
            return Err(problem);
        }
    };
    Ok(ReceivedBody {
        bytes,
        announced,
        limit: limits.bytes,
        _room: room,
    })
}

/// Reads and drops the body of a request that is refused unread, within bounds; not the body of a client that waits to be
/// told to send it.
pub(super) async fn discard_unless_expected(request: Request) {
    if !request.headers().contains_key(header::EXPECT) {
        discard(&mut request.into_body()).await;
    }
}

/// Reads and drops the rest of a refused body, within bounds.
async fn discard(body: &mut Body) {
    let reading = async {
        let mut dropped = 0;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, |data| data.len());
            if dropped > MOST_DISCARDED {
                break;
            }
        }
    };
    // Past the time the connection is closed with the body unread.
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

fn check_announced(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    match announced {
        Some(length) if length > limit as u64 => Err(unread(too_large(limit, &format!("is {length} bytes")))),
        _ => Ok(()),
    }
}

fn unread(problem: Problem) -> Problem {
    Problem {
        close: true,
        ..problem
    }
}

fn too_large(limit: usize, what: &str) -> Problem {
    Problem::new(
        ProblemKind::BodyTooLarge,
        format!(
            "the body {what} and at most {limit} bytes are read: send less at once, or start the server with a larger \
             --max-body (--max-media-body where the model reads media)"
        ),
    )
}

async fn collect(
    body: &mut Body,
    limits: &BodyLimits,
    room: &mut Option<OwnedSemaphorePermit>,
) -> Result<Vec<u8>, Problem> {
    let limit = limits.bytes;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            unread(Problem::new(
                ProblemKind::BadRequest,
                format!("the body was cut off: {error}"),
            ))
        })?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > limit {
                return Err(unread(too_large(limit, "is larger")));
            }
            limits.room.take(room, bytes.len() + data.len())?;
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

fn check_headers(headers: &HeaderMap, parts: bool) -> Result<Announced, Problem> {
    let unsupported = |message: String| unread(Problem::new(ProblemKind::UnsupportedMediaType, message));
    let text = |name: header::HeaderName| -> Result<String, Problem> {
        let joined: Vec<_> = headers
            .get_all(&name)
            .iter()
            .map(|value| value.to_str().map(str::trim))
            .collect::<Result<_, _>>()
            .map_err(|_| unsupported(format!("the header `{name}` is not ASCII")))?;
        Ok(joined.join(",").to_ascii_lowercase())
    };
    let content_type = text(header::CONTENT_TYPE)?;
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is_json = essence.is_empty()
        || essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    let mut boundary = None;
    if parts && essence == "multipart/form-data" {
        boundary = Some(multipart::boundary(headers).map_err(unread)?);
    } else if !is_json {
        let hint = match (essence.starts_with("multipart/"), parts) {
            (true, true) => "of the multipart types multipart/form-data is: send that, or ",
            (true, false) => "this model reads text only, so that there is nothing to attach: ",
            (false, _) => "",
        };
        return Err(unsupported(format!(
            "content-type {essence:?} is not read here: {hint}send content-type: application/json"
        )));
    }
    let charset = content_type
        .split(';')
        .filter_map(|parameter| parameter.trim().strip_prefix("charset="))
        .map(|charset| charset.trim_matches('"'))
        .find(|charset| !["utf-8", "utf8", "us-ascii"].contains(charset));
    if let Some(charset) = charset {
        return Err(unsupported(format!(
            "charset {charset:?} is not read here: send UTF-8"
        )));
    }
    let encoding = match text(header::CONTENT_ENCODING)?.as_str() {
        "" | "identity" => Encoding::Plain,
        "zstd" => Encoding::Zstd,
        other => {
            return Err(unsupported(format!(
                "content-encoding {other:?} is not read here: send the body plain or with zstd"
            )));
        }
    };
    Ok(Announced { encoding, boundary })
}

impl ReceivedBody {
    /// Decompresses, and cuts into parts. Takes time in proportion to the size, so it runs on a blocking thread.
    ///
    /// # Errors
    /// 413 above the limit, 400 for a broken frame or broken parts.
    pub(super) fn into_plain(self) -> Result<PlainBody, Problem> {
        let bytes = match self.announced.encoding {
            Encoding::Plain => self.bytes,
            Encoding::Zstd => decompress(&self.bytes, self.limit)?,
        };
        let (json, parts) = match self.announced.boundary {
            None => (bytes, Vec::new()),
            Some(boundary) => multipart::split(bytes, &boundary)?,
        };
        Ok(PlainBody {
            json,
            parts,
            _room: self._room,
        })
    }
}

fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let broken = |error: std::io::Error| {
        Problem::new(
            ProblemKind::BadRequest,
            format!(
                "the body is not a valid zstd frame ({error}): compress it with zstd, \
                 or send it plain without content-encoding"
            ),
        )
    };
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(broken)?;
    decoder.window_log_max(MAX_WINDOW_LOG).map_err(broken)?;
    let mut plain = Vec::new();
    decoder
        .take(limit as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|error| match error.to_string() {
            // The library's name of this error; the frame itself is sound.
            text if text.contains("too much memory") => Problem::new(
                ProblemKind::BodyTooLarge,
                format!(
                    "the body's zstd frame asks for a window above {} MiB: compress it with --long={MAX_WINDOW_LOG} or \
                     less, or send it plain without content-encoding",
                    (1_u64 << MAX_WINDOW_LOG) >> 20
                ),
            ),
            _ => broken(error),
        })?;
    if plain.len() > limit {
        return Err(too_large(limit, "is larger after decompression"));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zstd_is_capped_and_checked() {
        let frame = zstd::bulk::compress(&[b' '; 100_000], 3).unwrap();
        assert_eq!(decompress(&frame, 100_000).unwrap().len(), 100_000);
        let problem = decompress(&frame, 99_999).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::BodyTooLarge);
        assert!(problem.message().contains("99999"), "{}", problem.message());
        assert_eq!(
            decompress(&frame[..frame.len() - 1], 100_000).unwrap_err().kind,
            ProblemKind::BadRequest
        );
        assert_eq!(decompress(b"{}", 100).unwrap_err().kind, ProblemKind::BadRequest);
    }

    #[test]
    fn a_frame_may_not_ask_for_a_huge_window() {
        // A stream of unknown length keeps the window that was asked for.
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        std::io::Write::write_all(&mut encoder, &vec![1; 1 << 20]).unwrap();
        let frame = encoder.finish().unwrap();
        let problem = decompress(&frame, 1 << 21).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::BodyTooLarge);
        assert!(problem.message().contains("--long=24"), "{}", problem.message());
    }
}
