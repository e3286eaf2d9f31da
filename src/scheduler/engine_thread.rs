//! The loop of the engine thread: take a batch, run it, answer every job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use assize_models::Interrupt;

use super::queue::{Batch, Entry, Queue};
use super::{BatchReport, BatchRunner, Completed, JobError};

struct Failure {
    message: String,
    panicked: bool,
}

/// Serves until the queue is closed and empty.
pub(super) fn serve<R: BatchRunner>(
    queue: &Queue<R::Job, R::Output>,
    runner: &R,
    report: &impl Fn(&BatchReport),
) {
    while let Some(Batch { entries, interrupt }) = queue.take() {
        let taken: usize = entries.iter().map(|entry| entry.tokens).sum();
        let started = Instant::now();
        let answered = run_batch(entries, &interrupt, runner, report);
        queue.finished(taken, answered.then(|| started.elapsed()));
    }
}

/// Runs a batch; if it fails, every job of it that is still wanted runs once more alone. Returns whether it succeeded.
fn run_batch<R: BatchRunner>(
    batch: Vec<Entry<R::Job, R::Output>>,
    interrupt: &Interrupt,
    runner: &R,
    report: &impl Fn(&BatchReport),
) -> bool {
    let started = Instant::now();
    let jobs: Vec<&R::Job> = batch.iter().map(|entry| &entry.job).collect();
    let outcome = attempt(runner, &jobs, interrupt);
    drop(jobs);
    let interrupted = outcome.is_err() && interrupt.is_asked();
    let failure = outcome.as_ref().err().filter(|_| !interrupted);
    report(&BatchReport {
        jobs: batch.len(),
        tokens: batch.iter().map(|entry| entry.tokens).sum(),
        took: started.elapsed(),
        failure: failure.map(|failure| failure.message.clone()),
        panicked: failure.is_some_and(|failure| failure.panicked),
        interrupted,
    });
    match outcome {
        Ok(outputs) => {
            let batch_jobs = batch.len();
            for (entry, output) in batch.into_iter().zip(outputs) {
                let queued = started.saturating_duration_since(entry.queued_at);
                // A caller who left meanwhile does not need the answer.
                let _ = entry.reply.send(Ok(Completed {
                    output,
                    queued,
                    batch_jobs,
                }));
            }
            true
        }
        // Nobody waits any more, or the server stops at once: then a dropped sender says so.
        Err(_) if interrupted => false,
        Err(failure) if batch.len() == 1 => {
            for entry in batch {
                let _ = entry.reply.send(Err(JobError::Failed(failure.message.clone())));
            }
            false
        }
        Err(_) => {
            for entry in batch {
                if entry.reply.is_closed() {
                    continue;
                }
                if entry.deadline <= Instant::now() {
                    let _ = entry.reply.send(Err(JobError::DeadlineExceeded));
                    continue;
                }
                run_batch(vec![entry], interrupt, runner, report);
            }
            false
        }
    }
}

fn attempt<R: BatchRunner>(
    runner: &R,
    jobs: &[&R::Job],
    interrupt: &Interrupt,
) -> Result<Vec<R::Output>, Failure> {
    // A runner holds no state between batches, so nothing broken can be seen after a panic.
    match catch_unwind(AssertUnwindSafe(|| runner.run(jobs, interrupt))) {
        Ok(Ok(outputs)) if outputs.len() == jobs.len() => Ok(outputs),
        Ok(Ok(outputs)) => Err(Failure {
            message: format!("{} outputs for {} jobs", outputs.len(), jobs.len()),
            panicked: false,
        }),
        Ok(Err(message)) => Err(Failure {
            message,
            panicked: false,
        }),
        Err(payload) => Err(Failure {
            message: panic_message(payload.as_ref()),
            panicked: true,
        }),
    }
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("no message"))
}
