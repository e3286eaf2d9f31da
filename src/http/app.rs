//! What all routes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::body::{BodyLimits, BodyRoom};
use super::cors::CorsOrigin;
use super::fetch::{FetchLimits, Fetcher};
use super::metrics::Metrics;
use super::pipeline::Preparing;
use super::problem::{Problem, ProblemKind};
use crate::keys::Keyring;
use crate::scheduler::{QueueLimits, Scheduler};
use crate::service::Service;

/// Bounds of the server, each of which a caller can run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Requests that wait for the engine.
    pub queue_jobs: usize,
    /// Tokens that wait for the engine.
    pub queue_tokens: usize,
    /// Rows of one forward pass that several requests share.
    pub batch_tokens: usize,
    /// Rows of one request.
    pub request_tokens: usize,
    /// Time for a request that names no deadline.
    pub deadline: Duration,
    /// Bytes of a body, as sent and after decompression; of a model that reads media, [`Self::media_body_bytes`] instead.
    pub body_bytes: usize,
    /// Bytes of a body where the model reads media.
    pub media_body_bytes: usize,
    /// Bytes that all bodies above 64 KiB hold together.
    pub all_bodies_bytes: usize,
    /// Bounds on media that are fetched by URL; `None` fetches none.
    pub fetch: Option<FetchLimits>,
    /// Time for a body to arrive.
    pub body_time: Duration,
    /// Time for a request's head to arrive; also how long an idle connection is kept.
    pub header_time: Duration,
    /// Open connections.
    pub connections: usize,
    /// How long a connection may wait for a request while all [`Self::connections`] are open.
    pub crowded_idle_time: Duration,
    /// Time to finish what was accepted when the server is told to stop.
    pub drain_time: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            queue_jobs: 256,
            queue_tokens: 262_144,
            // Measured with 64 clients on 2 cores: 9 % more tokens a second than 1024, at the same median latency.
            batch_tokens: 2048,
            request_tokens: 32_768,
            deadline: Duration::from_secs(30),
            body_bytes: 4 << 20,
            media_body_bytes: 96 << 20,
            all_bodies_bytes: 256 << 20,
            fetch: None,
            body_time: Duration::from_secs(20),
            // Longer than the 30 s for which the official client keeps idle connections.
            header_time: Duration::from_secs(60),
            connections: 1024,
            crowded_idle_time: Duration::from_secs(5),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The system gives no thread.
    #[error("starting the engine thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The counters could not be registered.
    #[error("registering the metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// Who may ask.
#[derive(Debug, Default)]
pub struct Access {
    /// The keys, one of which every request must bring; `None` asks for none.
    pub keys: Option<Keyring>,
    /// Origins whose pages may ask.
    pub cors: Vec<CorsOrigin>,
}

/// A loaded model behind its queue, and the counters of the server.
pub struct App {
    pub(super) service: Arc<Service>,
    pub(super) scheduler: Scheduler<Service>,
    pub(super) preparing: Preparing,
    /// Media have threads of their own: decoding takes long, and requests without any do not wait for it.
    pub(super) preparing_media: Preparing,
    pub(super) metrics: Arc<Metrics>,
    pub(super) limits: ServerLimits,
    pub(super) fetcher: Option<Arc<Fetcher>>,
    pub(super) keys: Option<Keyring>,
    pub(super) cors: Vec<CorsOrigin>,
    room: BodyRoom,
    stopping: AtomicBool,
    aborted: watch::Sender<bool>,
}

impl App {
    /// Starts the engine thread of a loaded model, which everybody may ask.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub fn start(service: Arc<Service>, limits: ServerLimits) -> Result<Arc<Self>, ServerError> {
        Self::start_with(service, limits, Access::default())
    }

    /// Starts the engine thread of a loaded model.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub fn start_with(
        service: Arc<Service>,
        limits: ServerLimits,
        access: Access,
    ) -> Result<Arc<Self>, ServerError> {
        let metrics = Arc::new(Metrics::new(&service)?);
        let queue = QueueLimits {
            jobs: limits.queue_jobs,
            tokens: limits.queue_tokens,
            batch_tokens: limits.batch_tokens,
        };
        let scheduler = Scheduler::start(Arc::clone(&service), queue, {
            let metrics = Arc::clone(&metrics);
            move |report| metrics.observe_batch(report)
        })?;
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Arc::new(Self {
            service,
            scheduler,
            preparing: Preparing::new(threads, limits.queue_jobs),
            preparing_media: Preparing::new(threads, limits.queue_jobs),
            metrics,
            limits,
            fetcher: limits.fetch.map(|limits| Arc::new(Fetcher::new(limits))),
            keys: access.keys,
            cors: access.cors,
            room: BodyRoom::new(limits.all_bodies_bytes),
            stopping: AtomicBool::new(false),
            aborted: watch::Sender::new(false),
        }))
    }

    /// Takes no more jobs and waits until the engine thread ends, at most `limit`; blocks. Returns whether it ended.
    pub fn finish(&self, limit: Duration) -> bool {
        self.scheduler.finish(limit)
    }

    pub(super) fn body_limits(&self) -> BodyLimits {
        let parts = self.service.takes_media();
        BodyLimits {
            bytes: if parts {
                self.limits.media_body_bytes.max(self.limits.body_bytes)
            } else {
                self.limits.body_bytes
            },
            time: self.limits.body_time,
            parts,
            room: self.room.clone(),
        }
    }

    /// Refuses new requests from now on.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Gives up what is unanswered: every such request gets a 503.
    pub(super) fn abort(&self) {
        self.stop();
        self.aborted.send_replace(true);
        self.scheduler.abort();
    }

    /// Resolves once the server gives up.
    pub(super) async fn aborted(&self) {
        // The sender lives as long as `self`.
        let _ = self.aborted.subscribe().wait_for(|aborted| *aborted).await;
    }

    /// Whether the server was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// What a request hears that arrives after the stop.
    pub(super) fn stopping_problem() -> Problem {
        Problem {
            retry_after: Some(Duration::from_secs(1)),
            close: true,
            ..Problem::new(
                ProblemKind::Unavailable,
                "the server is stopping; try again in 1 s",
            )
        }
    }
}
