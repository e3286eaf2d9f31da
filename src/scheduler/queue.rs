//! The bounded queue between async callers and the engine thread.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assize_models::Interrupt;
use tokio::sync::oneshot;

use super::rate::RecentRate;
use super::ticket::Reply;
use super::{JobError, SubmitError};

/// Bounds of the queue and of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Most jobs that wait.
    pub jobs: usize,
    /// Most tokens that wait. A single job above this is admitted when nothing else waits.
    pub tokens: usize,
    /// Packed rows of a batch; a larger job runs alone.
    pub batch_tokens: usize,
}

/// The state of the queue at one moment, and what it dropped since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Jobs that wait.
    pub jobs: usize,
    /// Tokens that wait.
    pub tokens: usize,
    /// Jobs in the running batch.
    pub running_jobs: usize,
    /// Jobs taken out because their caller left.
    pub withdrawn: u64,
    /// Jobs taken out because their deadline passed in the queue.
    pub expired: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct JobId(u64);

/// Jobs that run together.
pub(super) struct Batch<J, O> {
    pub(super) entries: Vec<Entry<J, O>>,
    /// Asked when the last caller of the batch has left.
    pub(super) interrupt: Arc<Interrupt>,
}

/// The batch that runs, as the callers' side needs it.
#[derive(Default)]
struct Running {
    jobs: usize,
    tokens: usize,
    /// The jobs whose callers have not left.
    wanted: HashSet<JobId>,
    interrupt: Arc<Interrupt>,
}

/// A queued job.
pub(super) struct Entry<J, O> {
    id: JobId,
    pub(super) job: J,
    pub(super) tokens: usize,
    pub(super) deadline: Instant,
    pub(super) queued_at: Instant,
    pub(super) reply: oneshot::Sender<Reply<O>>,
}

struct State<J, O> {
    /// Oldest first, so sorted by id.
    entries: VecDeque<Entry<J, O>>,
    tokens: usize,
    running: Running,
    next_id: u64,
    closed: bool,
    withdrawn: u64,
    expired: u64,
    rate: RecentRate,
}

pub(super) struct Queue<J, O> {
    state: Mutex<State<J, O>>,
    ready: Condvar,
    limits: QueueLimits,
}

impl<J, O> Queue<J, O> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self {
            state: Mutex::new(State {
                entries: VecDeque::new(),
                tokens: 0,
                running: Running::default(),
                next_id: 0,
                closed: false,
                withdrawn: 0,
                expired: 0,
                rate: RecentRate::default(),
            }),
            ready: Condvar::new(),
            limits,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<J, O>> {
        // No code under the lock can leave the state half changed, so a poisoned lock is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(
        &self,
        job: J,
        tokens: usize,
        deadline: Instant,
    ) -> Result<(JobId, oneshot::Receiver<Reply<O>>), SubmitError> {
        let mut state = self.state();
        if state.closed {
            let retry_after = state.rate.time_for(state.tokens + state.running.tokens);
            return Err(SubmitError::Draining { retry_after });
        }
        let fits = state.entries.len() < self.limits.jobs && state.tokens + tokens <= self.limits.tokens;
        if !fits && !state.entries.is_empty() {
            return Err(SubmitError::Full {
                jobs: state.entries.len(),
                tokens: state.tokens,
                retry_after: state.rate.time_for(state.tokens + state.running.tokens),
            });
        }
        let id = JobId(state.next_id);
        state.next_id += 1;
        state.tokens += tokens;
        let (reply, answer) = oneshot::channel();
        state.entries.push_back(Entry {
            id,
            job,
            tokens,
            deadline,
            queued_at: Instant::now(),
            reply,
        });
        drop(state);
        self.ready.notify_one();
        Ok((id, answer))
    }

    /// Takes a job out if it still waits; ends the running batch if nobody waits for any of it any more.
    pub(super) fn withdraw(&self, id: JobId) {
        let mut state = self.state();
        let Ok(place) = state.entries.binary_search_by_key(&id, |entry| entry.id) else {
            let running = &mut state.running;
            if running.wanted.remove(&id) && running.wanted.is_empty() {
                running.interrupt.ask();
            }
            return;
        };
        let removed = state.entries.remove(place);
        if let Some(entry) = &removed {
            state.tokens -= entry.tokens;
            if entry.deadline <= Instant::now() {
                state.expired += 1;
            } else {
                state.withdrawn += 1;
            }
        }
        drop(state);
        drop(removed);
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.ready.notify_all();
    }

    /// Closes the queue, drops every entry, and with it the sender that its caller waits for, and ends the running batch.
    pub(super) fn abort(&self) {
        let mut state = self.state();
        state.closed = true;
        state.tokens = 0;
        let dropped = std::mem::take(&mut state.entries);
        state.running.interrupt.ask();
        drop(state);
        drop(dropped);
        self.ready.notify_all();
    }

    pub(super) fn snapshot(&self) -> QueueSnapshot {
        let state = self.state();
        QueueSnapshot {
            jobs: state.entries.len(),
            tokens: state.tokens,
            running_jobs: state.running.jobs,
            withdrawn: state.withdrawn,
            expired: state.expired,
        }
    }

    /// Waits for work and takes the next batch: the oldest job always, then later ones in order as far as they fit.
    ///
    /// The oldest is taken even where it exceeds the budget, so a large job that smaller ones overtook runs as soon as
    /// everything older is done. `None` once the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Batch<J, O>> {
        let mut state = self.state();
        loop {
            drop_expired(&mut state);
            let entries = self.select(&mut state);
            if !entries.is_empty() {
                let interrupt = Arc::clone(&state.running.interrupt);
                return Some(Batch { entries, interrupt });
            }
            if state.closed {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn select(&self, state: &mut State<J, O>) -> Vec<Entry<J, O>> {
        let mut batch = Vec::new();
        let mut room = self.limits.batch_tokens;
        let mut kept = VecDeque::with_capacity(state.entries.len());
        for entry in state.entries.drain(..) {
            if batch.is_empty() || entry.tokens <= room {
                room = room.saturating_sub(entry.tokens);
                batch.push(entry);
            } else {
                kept.push_back(entry);
            }
        }
        state.entries = kept;
        let taken: usize = batch.iter().map(|entry| entry.tokens).sum();
        state.tokens -= taken;
        state.running = Running {
            jobs: batch.len(),
            tokens: taken,
            wanted: batch.iter().map(|entry| entry.id).collect(),
            interrupt: Arc::default(),
        };
        batch
    }

    /// Notes that the running batch is over; `took` is `None` where it says nothing about the engine's speed.
    pub(super) fn finished(&self, tokens: usize, took: Option<Duration>) {
        let mut state = self.state();
        state.running = Running::default();
        if let Some(took) = took {
            state.rate.record(tokens, took);
        }
    }
}

fn drop_expired<J, O>(state: &mut State<J, O>) {
    let now = Instant::now();
    if state
        .entries
        .iter()
        .all(|entry| entry.deadline > now && !entry.reply.is_closed())
    {
        return;
    }
    let mut kept = VecDeque::with_capacity(state.entries.len());
    for entry in std::mem::take(&mut state.entries) {
        if entry.reply.is_closed() {
            state.withdrawn += 1;
        } else if entry.deadline <= now {
            state.expired += 1;
            // The caller may have left in this very moment; then nobody reads the reply.
            let _ = entry.reply.send(Err(JobError::DeadlineExceeded));
        } else {
            kept.push_back(entry);
            continue;
        }
        state.tokens -= entry.tokens;
    }
    state.entries = kept;
}
