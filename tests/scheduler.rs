//! The scheduler against a runner whose every step the test controls.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assize::scheduler::{BatchReport, BatchRunner, JobError, QueueLimits, Scheduler, SubmitError, Ticket};
use assize_models::Interrupt;

/// What a job does when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Echo(u32),
    Fail,
    Panic,
    /// Runs, without the test's leave, until nobody waits for it; at most half a second.
    UntilUnwanted,
}

/// Tells of every batch when it starts and holds it until the test lets it go.
struct Gated {
    started: Sender<Vec<Act>>,
    go: Mutex<Receiver<()>>,
}

impl BatchRunner for Gated {
    type Job = Act;
    type Output = u32;

    fn run(&self, jobs: &[&Act], interrupt: &Interrupt) -> Result<Vec<u32>, String> {
        let stopped = |_| "the test is over".to_owned();
        self.started
            .send(jobs.iter().map(|job| **job).collect())
            .map_err(|_| "the test is over".to_owned())?;
        if jobs.contains(&&Act::UntilUnwanted) {
            let end = Instant::now() + Duration::from_millis(500);
            while !interrupt.is_asked() {
                if Instant::now() >= end {
                    return Ok(vec![0; jobs.len()]);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            return Err("ended early".to_owned());
        }
        self.go
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .recv()
            .map_err(stopped)?;
        jobs.iter()
            .map(|job| match job {
                Act::Echo(value) => Ok(*value),
                Act::Fail => Err("a bad job".to_owned()),
                Act::Panic => panic!("a worse job"),
                Act::UntilUnwanted => Ok(0),
            })
            .collect()
    }
}

struct Rig {
    scheduler: Scheduler<Gated>,
    started: Receiver<Vec<Act>>,
    go: Sender<()>,
    reports: Arc<Mutex<Vec<BatchReport>>>,
}

impl Rig {
    fn new(jobs: usize, tokens: usize, batch_tokens: usize) -> Self {
        let (started_tx, started) = channel();
        let (go, go_rx) = channel();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let runner = Arc::new(Gated {
            started: started_tx,
            go: Mutex::new(go_rx),
        });
        let scheduler = Scheduler::start(
            runner,
            QueueLimits {
                jobs,
                tokens,
                batch_tokens,
            },
            {
                let reports = Arc::clone(&reports);
                move |report: &BatchReport| reports.lock().unwrap().push(report.clone())
            },
        )
        .unwrap();
        Self {
            scheduler,
            started,
            go,
            reports,
        }
    }

    fn submit(&self, act: Act, tokens: usize) -> Ticket<Gated> {
        self.scheduler
            .submit(act, tokens, Instant::now() + Duration::from_secs(60))
            .unwrap()
    }

    fn next_batch(&self) -> Vec<Act> {
        self.started
            .recv_timeout(Duration::from_secs(20))
            .expect("a batch starts")
    }

    fn release(&self) {
        self.go.send(()).unwrap();
    }
}

#[tokio::test]
async fn a_single_job_runs_at_once_and_alone() {
    let rig = Rig::new(8, 1000, 100);
    let ticket = rig.submit(Act::Echo(7), 10);
    assert_eq!(rig.next_batch(), [Act::Echo(7)]);
    rig.release();
    let done = ticket.wait().await.unwrap();
    assert_eq!((done.output, done.batch_jobs), (7, 1));
}

#[tokio::test]
async fn a_batch_is_ended_when_its_last_caller_has_left() {
    let rig = Rig::new(8, 1000, 100);
    let first = rig.submit(Act::Echo(1), 1);
    assert_eq!(rig.next_batch(), [Act::Echo(1)]);
    let soon = Instant::now() + Duration::from_millis(20);
    let late = rig.scheduler.submit(Act::UntilUnwanted, 1, soon).unwrap();
    let gone = rig.submit(Act::UntilUnwanted, 1);
    rig.release();
    assert_eq!(first.wait().await.unwrap().output, 1);
    assert_eq!(rig.next_batch(), [Act::UntilUnwanted, Act::UntilUnwanted]);
    assert_eq!(late.wait().await, Err(JobError::DeadlineExceeded));
    // One caller is still there.
    assert!(
        !rig.reports
            .lock()
            .unwrap()
            .iter()
            .any(|report| report.interrupted)
    );
    let left = Instant::now();
    drop(gone);
    let next = rig.submit(Act::Echo(2), 1);
    assert_eq!(rig.next_batch(), [Act::Echo(2)]);
    assert!(
        left.elapsed() < Duration::from_millis(250),
        "{:?}",
        left.elapsed()
    );
    rig.release();
    assert_eq!(next.wait().await.unwrap().output, 2);
    let reports = rig.reports.lock().unwrap();
    assert!(
        reports[1].interrupted && reports[1].failure.is_none(),
        "{:?}",
        reports[1]
    );
    // Neither job ran again alone.
    assert_eq!(reports.len(), 3, "{reports:?}");
}

#[tokio::test]
async fn a_batch_that_one_caller_waits_for_runs_to_its_end() {
    let rig = Rig::new(8, 1000, 100);
    let first = rig.submit(Act::Echo(1), 1);
    assert_eq!(rig.next_batch(), [Act::Echo(1)]);
    let gone = rig.submit(Act::UntilUnwanted, 1);
    let stays = rig.submit(Act::Echo(2), 1);
    rig.release();
    first.wait().await.unwrap();
    assert_eq!(rig.next_batch(), [Act::UntilUnwanted, Act::Echo(2)]);
    drop(gone);
    assert_eq!(stays.wait().await.unwrap().batch_jobs, 2);
    assert!(
        !rig.reports
            .lock()
            .unwrap()
            .iter()
            .any(|report| report.interrupted)
    );
}

#[tokio::test]
async fn batches_reach_past_a_large_job_without_starving_it() {
    let rig = Rig::new(16, 10_000, 100);
    let mut tickets = vec![rig.submit(Act::Echo(0), 1)];
    assert_eq!(rig.next_batch(), [Act::Echo(0)]);
    for (value, tokens) in [(1, 40), (2, 500), (3, 60), (4, 1), (5, 99)] {
        tickets.push(rig.submit(Act::Echo(value), tokens));
    }
    rig.release();
    // 40 + 60 fill the budget of 100; the job of 500 is then the oldest and runs next, with nothing beside it.
    assert_eq!(rig.next_batch(), [Act::Echo(1), Act::Echo(3)]);
    rig.release();
    assert_eq!(rig.next_batch(), [Act::Echo(2)]);
    rig.release();
    assert_eq!(rig.next_batch(), [Act::Echo(4), Act::Echo(5)]);
    rig.release();
    for (value, ticket) in tickets.into_iter().enumerate() {
        assert_eq!(ticket.wait().await.unwrap().output, value as u32);
    }
}

#[tokio::test]
async fn a_job_whose_caller_left_never_runs() {
    let rig = Rig::new(8, 1000, 100);
    let first = rig.submit(Act::Echo(0), 1);
    rig.next_batch();
    let gone = rig.submit(Act::Echo(1), 10);
    let stays = rig.submit(Act::Echo(2), 10);
    let waiting = tokio::spawn(gone.wait());
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let snapshot = rig.scheduler.snapshot();
    assert_eq!((snapshot.jobs, snapshot.tokens, snapshot.withdrawn), (1, 10, 1));
    rig.release();
    assert_eq!(rig.next_batch(), [Act::Echo(2)]);
    rig.release();
    first.wait().await.unwrap();
    stays.wait().await.unwrap();
}

#[tokio::test]
async fn a_deadline_passes_in_the_queue_and_the_job_never_runs() {
    let rig = Rig::new(8, 1000, 100);
    let first = rig.submit(Act::Echo(0), 1);
    rig.next_batch();
    let soon = Instant::now() + Duration::from_millis(5);
    let late = rig.scheduler.submit(Act::Echo(1), 10, soon).unwrap();
    assert_eq!(late.wait().await.unwrap_err(), JobError::DeadlineExceeded);
    let snapshot = rig.scheduler.snapshot();
    assert_eq!((snapshot.jobs, snapshot.expired, snapshot.withdrawn), (0, 1, 0));
    let last = rig.submit(Act::Echo(2), 1);
    rig.release();
    assert_eq!(rig.next_batch(), [Act::Echo(2)]);
    rig.release();
    first.wait().await.unwrap();
    last.wait().await.unwrap();
}

#[tokio::test]
async fn the_engine_thread_drops_expired_jobs_that_nobody_polls() {
    let rig = Rig::new(8, 1000, 100);
    let first = rig.submit(Act::Echo(0), 1);
    rig.next_batch();
    let unpolled = rig.scheduler.submit(Act::Echo(1), 10, Instant::now()).unwrap();
    let last = rig.submit(Act::Echo(2), 1);
    rig.release();
    assert_eq!(rig.next_batch(), [Act::Echo(2)]);
    rig.release();
    assert_eq!(unpolled.wait().await.unwrap_err(), JobError::DeadlineExceeded);
    first.wait().await.unwrap();
    last.wait().await.unwrap();
}

#[tokio::test]
async fn a_deadline_passes_while_the_job_runs() {
    let rig = Rig::new(8, 1000, 100);
    let soon = Instant::now() + Duration::from_millis(100);
    let late = rig.scheduler.submit(Act::Echo(1), 10, soon).unwrap();
    rig.next_batch();
    assert_eq!(late.wait().await.unwrap_err(), JobError::DeadlineExceeded);
    rig.release();
}

#[tokio::test]
async fn a_full_queue_refuses_by_jobs_and_by_tokens() {
    let rig = Rig::new(2, 100, 1000);
    let mut tickets = vec![rig.submit(Act::Echo(0), 1)];
    rig.next_batch();
    let later = Instant::now() + Duration::from_secs(60);
    tickets.push(rig.submit(Act::Echo(1), 60));
    let Err(SubmitError::Full {
        jobs: 1,
        tokens: 60,
        retry_after,
    }) = rig.scheduler.submit(Act::Echo(2), 41, later)
    else {
        panic!("full by tokens");
    };
    assert!(retry_after >= Duration::from_secs(1));
    tickets.push(rig.submit(Act::Echo(2), 40));
    assert!(matches!(
        rig.scheduler.submit(Act::Echo(3), 0, later),
        Err(SubmitError::Full { jobs: 2, .. })
    ));
    rig.release();
    assert_eq!(rig.next_batch().len(), 2);
    // A job above the whole token bound is still admitted when nothing else waits.
    tickets.push(rig.submit(Act::Echo(3), 5_000));
    rig.release();
    rig.next_batch();
    rig.release();
    for ticket in tickets {
        ticket.wait().await.unwrap();
    }
}

#[tokio::test]
async fn a_bad_job_fails_alone() {
    for bad in [Act::Fail, Act::Panic] {
        let rig = Rig::new(8, 1000, 100);
        let first = rig.submit(Act::Echo(0), 1);
        rig.next_batch();
        let good = rig.submit(Act::Echo(1), 1);
        let broken = rig.submit(bad, 1);
        let other = rig.submit(Act::Echo(2), 1);
        rig.release();
        assert_eq!(rig.next_batch(), [Act::Echo(1), bad, Act::Echo(2)]);
        rig.release();
        for alone in [Act::Echo(1), bad, Act::Echo(2)] {
            assert_eq!(rig.next_batch(), [alone]);
            rig.release();
        }
        first.wait().await.unwrap();
        assert_eq!(good.wait().await.unwrap().output, 1);
        assert_eq!(other.wait().await.unwrap().output, 2);
        let expected = if bad == Act::Fail {
            "a bad job"
        } else {
            "panic: a worse job"
        };
        assert_eq!(
            broken.wait().await.unwrap_err(),
            JobError::Failed(expected.into())
        );
        // The engine thread goes on.
        let after = rig.submit(Act::Echo(9), 1);
        rig.next_batch();
        rig.release();
        assert_eq!(after.wait().await.unwrap().output, 9);
        assert!(rig.scheduler.finish(Duration::from_secs(20)));
        let reports = rig.reports.lock().unwrap();
        let failures: Vec<_> = reports.iter().filter(|report| report.failure.is_some()).collect();
        assert_eq!(failures.len(), 2);
        assert!(
            failures
                .iter()
                .all(|report| report.panicked == (bad == Act::Panic))
        );
    }
}

#[tokio::test]
async fn closing_finishes_what_is_queued_and_refuses_the_rest() {
    let rig = Rig::new(8, 1000, 10);
    let tickets: Vec<_> = (0..3).map(|value| rig.submit(Act::Echo(value), 10)).collect();
    rig.next_batch();
    rig.scheduler.close();
    let refused = rig
        .scheduler
        .submit(Act::Echo(9), 1, Instant::now() + Duration::from_secs(9));
    assert!(matches!(refused, Err(SubmitError::Draining { .. })));
    assert!(
        !rig.scheduler.finish(Duration::from_millis(1)),
        "a batch is still running"
    );
    for _ in 0..3 {
        rig.release();
    }
    for ticket in tickets {
        ticket.wait().await.unwrap();
    }
    assert!(rig.scheduler.finish(Duration::from_secs(20)));
}
