//! The way of one request: prepare on a blocking thread, queue, run, answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::app::App;
use super::asking::Asking;
use super::deadline::Deadline;
use super::media::Attached;
use super::problem::{Problem, ProblemKind};
use super::timings::StageTimings;
use crate::scheduler::JobError;
use crate::service::{Answer, MediumReport, Prepared, Service};

/// When a request's head was read, and whether the server was stopping then: what arrived before is still answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    at: Instant,
    stopping: bool,
}

impl Arrival {
    pub(super) fn now(app: &App) -> Self {
        Self {
            at: Instant::now(),
            stopping: app.is_stopping(),
        }
    }
}

/// An answered request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered<X> {
    /// In the order of the questions.
    pub answers: Vec<Answer>,
    /// Rows that the forward pass computed for it.
    pub input_tokens: usize,
    /// Tokens of the state that the truncation policy dropped.
    pub truncated_tokens: usize,
    /// How many times the state, with its media, was computed: once for each way in which it was cut.
    pub state_copies: usize,
    /// What became of each medium, in the order given.
    pub media: Vec<MediumReport>,
    /// Time by stage.
    pub timings: StageTimings,
    /// What the protocol needs for its response.
    pub extra: X,
}

/// Bounds the blocking work before the queue: how many run at once, and how many wait for that.
#[derive(Debug)]
pub(super) struct Preparing {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
}

impl Preparing {
    pub(super) fn new(threads: usize, most_waiting: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(threads)),
            waiting: AtomicUsize::new(0),
            most_waiting,
        }
    }

    /// Waits for a thread, unless too many wait already.
    async fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _guard = Waiting(&self.waiting);
        if waiting >= self.most_waiting {
            return Err(Problem {
                retry_after: Some(Duration::from_secs(1)),
                ..Problem::new(
                    ProblemKind::QueueFull,
                    format!("{waiting} requests wait to be tokenised; try again in 1 s"),
                )
            });
        }
        Arc::clone(&self.running)
            .acquire_owned()
            .await
            .map_err(|_| Problem::new(ProblemKind::Unavailable, "the server is stopping"))
    }
}

/// A request whose fields are read, and what is known of its media and tokens so far.
struct InWork<A> {
    asking: A,
    attached: Attached,
    prepared: Option<Prepared>,
}

impl<A: Asking> InWork<A> {
    /// Fetches and decodes the media, up to `deadline`, and writes the prompt.
    fn prepare(&mut self, service: &Service, deadline: &Deadline) -> Result<(), Problem> {
        self.attached = self.asking.attach(&deadline.until())?;
        let prepared = service
            .read_media(&self.attached.media, &deadline.until())
            .and_then(|media| {
                service.prepare_with_media(self.asking.decision(), media, self.asking.settings())
            });
        let prepared = prepared.map_err(|error| {
            let of_medium = self.attached.blame(&error);
            of_medium.unwrap_or_else(|| self.asking.blame(&error))
        })?;
        self.prepared = Some(prepared);
        Ok(())
    }
}

impl App {
    /// Reads, prepares, queues and runs one request. Dropping the future takes the request out of the queue.
    ///
    /// # Errors
    /// What `read` and its request say; a full queue, a passed deadline, a stopping server, a failed engine.
    pub(super) async fn answer<A, F>(&self, arrival: Arrival, read: F) -> Result<Answered<A::Extra>, Problem>
    where
        A: Asking,
        F: FnOnce(&Service) -> Result<A, Problem> + Send + 'static,
    {
        let deadline = Arc::new(Deadline::new(arrival.at, self.limits.deadline));
        // Dropped with this future, when the caller leaves or was answered.
        let _caller = deadline.caller();
        let (asking, prepared) = self.prepared(arrival, &deadline, read).await?;
        let (decision, extra) = asking.into_parts();
        let tokens = prepared.tokens();
        let truncated_tokens = prepared.truncated_tokens();
        let state_copies = prepared.state_copies();
        let media = prepared.media().to_vec();
        let before = StageTimings::of_prepared(&prepared);
        let ticket = self.scheduler.submit(prepared, tokens, deadline.at())?;
        let done = ticket.wait().await.map_err(|error| match error {
            JobError::DeadlineExceeded => deadline.passed(),
            error => error.into(),
        })?;
        let answers = self.service.answers(&decision, &done.output).map_err(|error| {
            tracing::error!(%error, "scores could not be turned into answers");
            Problem::new(
                ProblemKind::Internal,
                "the model gave no usable scores; the server's log says why",
            )
        })?;
        let timings = StageTimings {
            queue: done.queued,
            forward: done.output.forward,
            readout: done.output.readout,
            total: arrival.at.elapsed(),
            ..before
        };
        self.metrics.observe_answer(&timings, tokens, answers.len());
        Ok(Answered {
            answers,
            input_tokens: tokens,
            truncated_tokens,
            state_copies,
            media,
            timings,
            extra,
        })
    }

    /// Reads and prepares one request, and counts the tokens that answering it would take.
    ///
    /// # Errors
    /// As [`Self::answer`], for as far as it goes.
    pub(super) async fn count<A, F>(&self, arrival: Arrival, read: F) -> Result<usize, Problem>
    where
        A: Asking,
        F: FnOnce(&Service) -> Result<A, Problem> + Send + 'static,
    {
        let deadline = Arc::new(Deadline::new(arrival.at, self.limits.deadline));
        let _caller = deadline.caller();
        let (_, prepared) = self.prepared(arrival, &deadline, read).await?;
        Ok(prepared.tokens())
    }

    /// Reads one request, for a route that has to look at it before it knows whether anything is to be decided.
    ///
    /// # Errors
    /// What `read` says; a passed deadline, a stopping server.
    pub(super) async fn read<T, F>(&self, arrival: Arrival, read: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
    {
        if arrival.stopping {
            return Err(App::stopping_problem());
        }
        let deadline = Arc::new(Deadline::new(arrival.at, self.limits.deadline));
        let _caller = deadline.caller();
        self.prepare_on(&self.preparing, &deadline, |service, _| read(service))
            .await
    }

    /// Reads one request, with its media, and writes its prompt.
    async fn prepared<A, F>(
        &self,
        arrival: Arrival,
        deadline: &Arc<Deadline>,
        read: F,
    ) -> Result<(A, Prepared), Problem>
    where
        A: Asking,
        F: FnOnce(&Service) -> Result<A, Problem> + Send + 'static,
    {
        if arrival.stopping {
            return Err(App::stopping_problem());
        }
        let mut work = self
            .prepare_on(&self.preparing, deadline, move |service, deadline| {
                let asking = read(service)?;
                deadline.ask(asking.deadline());
                let mut work = InWork {
                    asking,
                    attached: Attached::default(),
                    prepared: None,
                };
                if !work.asking.brings_media() {
                    work.prepare(service, deadline)?;
                }
                Ok(work)
            })
            .await?;
        if work.prepared.is_none() {
            work = self
                .prepare_on(&self.preparing_media, deadline, move |service, deadline| {
                    work.prepare(service, deadline)?;
                    Ok(work)
                })
                .await?;
        }
        let Some(prepared) = work.prepared else {
            return Err(Problem::new(
                ProblemKind::Internal,
                "the request was not prepared",
            ));
        };
        let most = self.limits.request_tokens;
        if prepared.tokens() > most {
            return Err(Problem::new(
                ProblemKind::StateTooLong,
                format!(
                    "the request needs {} tokens in one forward pass and this server runs at most {most}: \
                     ask fewer questions or options at once, or start the server with a larger --request-tokens",
                    prepared.tokens()
                ),
            ));
        }
        Ok((work.asking, prepared))
    }

    /// Runs `work` on a blocking thread, once `lane` has room for it and up to the deadline.
    async fn prepare_on<T, F>(
        &self,
        lane: &Preparing,
        deadline: &Arc<Deadline>,
        work: F,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Service, &Deadline) -> Result<T, Problem> + Send + 'static,
    {
        let permit = deadline.bound(lane.enter()).await??;
        let service = Arc::clone(&self.service);
        let known = Arc::clone(deadline);
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&service, &known);
            // Held by the work and not by the request, so that requests that were dropped still count.
            drop(permit);
            done
        });
        deadline.bound(done).await?.map_err(|error| {
            tracing::error!(%error, "preparing a request panicked");
            Problem::new(
                ProblemKind::Internal,
                "the server failed on this request; its log says why",
            )
        })?
    }
}
