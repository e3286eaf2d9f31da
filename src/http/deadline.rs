//! Until when a request is worth answering.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use assize_preprocess::Until;
use tokio::sync::watch;

use super::problem::{Fault, Problem, ProblemKind};
use crate::strict_json::Place;

/// The server's limit, and from when the request's body is read its own, which may be earlier.
#[derive(Debug)]
pub(super) struct Deadline {
    arrival: Instant,
    limit: Duration,
    asked: watch::Sender<Option<Duration>>,
    until: Until,
}

/// Says on its way out that nobody waits any more.
pub(super) struct CallerLeft(Until);

impl Drop for CallerLeft {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl Deadline {
    /// Of a request that arrived at `arrival`, at a server that gives each at most `limit` unless it asks for another.
    pub(super) fn new(arrival: Instant, limit: Duration) -> Self {
        Self {
            arrival,
            limit,
            asked: watch::Sender::new(None),
            until: Until::default(),
        }
    }

    /// Notes what the request asks for.
    pub(super) fn ask(&self, deadline: Option<Duration>) {
        self.asked.send_replace(deadline);
    }

    /// When it passes, as far as is known.
    pub(super) fn at(&self) -> Instant {
        self.arrival + self.asked.borrow().unwrap_or(self.limit)
    }

    /// Until when work for the request is worth while.
    pub(super) fn until(&self) -> Until {
        self.until.at(self.at())
    }

    /// Whoever holds this waits for the answer; work for the request ends when it is dropped.
    pub(super) fn caller(&self) -> CallerLeft {
        CallerLeft(self.until.clone())
    }

    /// What the caller hears once it has passed.
    pub(super) fn passed(&self) -> Problem {
        let asked = *self.asked.borrow();
        let fault = match asked {
            Some(asked) => Fault::value(
                Place::body().key("deadline_ms"),
                format!(
                    "the {} ms passed before the answer was ready: allow more, or send less at once",
                    asked.as_millis()
                ),
            ),
            None => Fault::value(
                Place::body(),
                format!(
                    "the {} s that this server gives a request passed before the answer was ready: send less at once, or \
                     start the server with a larger --deadline",
                    self.limit.as_secs_f64()
                ),
            ),
        };
        Problem::of_fault(ProblemKind::DeadlineExceeded, fault)
    }

    /// Waits for `work`, not beyond the deadline, which may become known meanwhile.
    ///
    /// # Errors
    /// It passed.
    pub(super) async fn bound<F: Future>(&self, work: F) -> Result<F::Output, Problem> {
        let mut work = pin!(work);
        let mut asked = self.asked.subscribe();
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return Ok(done),
                () = tokio::time::sleep_until(self.at().into()) => return Err(self.passed()),
                // The sender is `self`.
                _ = asked.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deadline_that_becomes_known_during_the_work_ends_it() {
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(60));
        assert_eq!(deadline.bound(async { 1 }).await, Ok(1));
        let work = async {
            deadline.ask(Some(Duration::from_millis(5)));
            std::future::pending::<()>().await;
        };
        let problem = deadline.bound(work).await.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::DeadlineExceeded);
        assert!(
            problem.message().contains("deadline_ms: the 5 ms"),
            "{}",
            problem.message()
        );
    }
}
