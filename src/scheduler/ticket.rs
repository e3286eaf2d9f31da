//! A caller's place in the queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::queue::{JobId, Queue};
use super::{BatchRunner, JobError};

/// An answered job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed<O> {
    /// What the runner gave.
    pub output: O,
    /// Time between queueing and the start of the batch.
    pub queued: Duration,
    /// Jobs that shared the batch, this one included.
    pub batch_jobs: usize,
}

pub(super) type Reply<O> = Result<Completed<O>, JobError>;

/// A queued job. Dropping the ticket takes the job out of the queue, so that nobody works for a caller who left.
pub struct Ticket<R: BatchRunner> {
    queue: Arc<Queue<R::Job, R::Output>>,
    id: JobId,
    answer: oneshot::Receiver<Reply<R::Output>>,
    deadline: Instant,
    answered: bool,
}

impl<R: BatchRunner> Ticket<R> {
    pub(super) fn new(
        queue: Arc<Queue<R::Job, R::Output>>,
        id: JobId,
        answer: oneshot::Receiver<Reply<R::Output>>,
        deadline: Instant,
    ) -> Self {
        Self {
            queue,
            id,
            answer,
            deadline,
            answered: false,
        }
    }

    /// Waits for the answer, not beyond the deadline.
    ///
    /// # Errors
    /// See [`JobError`].
    pub async fn wait(mut self) -> Reply<R::Output> {
        let answer = tokio::time::timeout_at(self.deadline.into(), &mut self.answer).await;
        match answer {
            Ok(Ok(reply)) => {
                self.answered = true;
                reply
            }
            Ok(Err(_)) => Err(JobError::Stopped),
            Err(_) => Err(JobError::DeadlineExceeded),
        }
    }
}

impl<R: BatchRunner> Drop for Ticket<R> {
    fn drop(&mut self) {
        if !self.answered {
            self.queue.withdraw(self.id);
        }
    }
}
