//! Connections that wait for a request, and make room when every place is taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How often waiting connections are looked through while every place is taken.
const LOOK: Duration = Duration::from_millis(50);

/// The places of a server for connections.
#[derive(Debug, Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    crowded: Arc<Notify>,
    /// How long a connection may wait for a request while every place is taken.
    patience: Duration,
}

impl Places {
    pub(super) fn new(places: usize, patience: Duration) -> Self {
        Self {
            free: Arc::new(Semaphore::new(places)),
            crowded: Arc::new(Notify::new()),
            patience,
        }
    }

    /// Takes a place as soon as one is free.
    pub(super) async fn take(&self) -> OwnedSemaphorePermit {
        loop {
            tokio::select! {
                // The semaphore is never closed.
                Ok(place) = Arc::clone(&self.free).acquire_owned() => return place,
                () = tokio::time::sleep(LOOK) => self.crowded.notify_waiters(),
            }
        }
    }

    /// Resolves once every place is taken and `connection` has waited too long for a request.
    pub(super) async fn wanted(&self, connection: &Waiting) {
        loop {
            self.crowded.notified().await;
            if connection.time().is_some_and(|time| time >= self.patience) {
                return;
            }
        }
    }
}

/// Since when a connection has been waiting for a request.
#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` while a request is served.
    since: Mutex<Option<Instant>>,
    asked: AtomicBool,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self {
            since: Mutex::new(Some(Instant::now())),
            asked: AtomicBool::new(false),
        }
    }

    pub(super) fn begin_request(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.set(None);
    }

    pub(super) fn end_request(&self) {
        self.set(Some(Instant::now()));
    }

    /// Whether it ever asked anything.
    pub(super) fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    fn time(&self) -> Option<Duration> {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}
