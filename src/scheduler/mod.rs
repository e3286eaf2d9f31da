//! The queue in front of the engine: bounded, batched by tokens, with deadlines, cancelling and draining.
//!
//! Async callers [`submit`](Scheduler::submit) prepared jobs and await a [`Ticket`]. One engine thread takes the oldest
//! jobs that fit a token budget, runs them as one batch and answers each. A job never waits for company: whatever is
//! queued when the engine becomes free is the next batch.

mod engine_thread;
mod error;
mod queue;
mod rate;
mod runner;
mod ticket;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use error::{JobError, SubmitError, whole_seconds};
pub use queue::{QueueLimits, QueueSnapshot};
pub use runner::{BatchReport, BatchRunner};
pub use ticket::{Completed, Ticket};

use queue::Queue;

/// Handle to the queue and its engine thread; dropping it closes the queue.
pub struct Scheduler<R: BatchRunner> {
    queue: Arc<Queue<R::Job, R::Output>>,
    engine: Mutex<Option<JoinHandle<()>>>,
}

impl<R: BatchRunner> Scheduler<R> {
    /// Starts the engine thread. `report` is called on that thread after every batch.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        runner: Arc<R>,
        limits: QueueLimits,
        report: impl Fn(&BatchReport) + Send + 'static,
    ) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::new(limits));
        let engine = std::thread::Builder::new().name("engine".into()).spawn({
            let queue = Arc::clone(&queue);
            move || engine_thread::serve(&queue, runner.as_ref(), &report)
        })?;
        Ok(Self {
            queue,
            engine: Mutex::new(Some(engine)),
        })
    }

    /// Queues a job of `tokens` rows that is worth answering until `deadline`.
    ///
    /// # Errors
    /// The queue is full, the job is larger than the queue ever admits, or the scheduler is draining.
    pub fn submit(&self, job: R::Job, tokens: usize, deadline: Instant) -> Result<Ticket<R>, SubmitError> {
        let (id, answer) = self.queue.push(job, tokens, deadline)?;
        Ok(Ticket::new(Arc::clone(&self.queue), id, answer, deadline))
    }

    /// What is queued and running now, and what was dropped so far.
    pub fn snapshot(&self) -> QueueSnapshot {
        self.queue.snapshot()
    }

    /// Refuses new jobs from now on; queued jobs are still run.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Closes the queue, drops what waits in it and ends the running batch; their callers get [`JobError::Stopped`].
    pub fn abort(&self) {
        self.queue.abort();
    }

    /// Closes the queue and waits until everything queued is answered, at most `limit`. Blocks the calling thread.
    /// Returns whether the engine thread ended in time.
    pub fn finish(&self, limit: Duration) -> bool {
        self.close();
        let end = Instant::now() + limit;
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        while engine.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // A join error would repeat a panic that was already reported on the engine thread.
        let _ = engine.take().map(JoinHandle::join);
        true
    }
}

impl<R: BatchRunner> Drop for Scheduler<R> {
    fn drop(&mut self) {
        self.close();
    }
}
