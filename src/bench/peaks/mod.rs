//! The arithmetic peak of this machine: dot-product instructions issued from registers on all threads at once.
//!
//! Nothing is loaded or stored inside the loops, so this is the ceiling that no matrix product can pass; a share of it
//! is a lower bound on the share of what a real GEMM reaches. Two operations are counted per multiply-add.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::report::Record;
use super::{Host, Summary};

/// The number type of the factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// 8-bit integers, 32-bit sums.
    Int8,
    /// bfloat16, float32 sums.
    Bf16,
    /// float32.
    Fp32,
}

/// A register-only loop.
pub(super) struct Loop {
    pub arithmetic: Arithmetic,
    /// The instruction that is repeated.
    pub instruction: &'static str,
    /// Operations of one iteration.
    pub operations: u64,
    /// Runs so many iterations.
    pub run: fn(u64),
}

/// One peak.
#[derive(Debug, Clone, Serialize)]
pub struct PeakRecord {
    /// Always `peak`.
    pub test: &'static str,
    /// Factors of the products.
    pub arithmetic: Arithmetic,
    /// The instruction that was repeated.
    pub instruction: &'static str,
    /// Threads that ran at once.
    pub threads: usize,
    /// 10^9 operations a second over all threads, median; two per multiply-add.
    pub median_gops: f64,
    /// Largest sample.
    pub max_gops: f64,
    /// Every sample.
    pub samples_gops: Vec<f64>,
    /// What was run, in words.
    pub method: &'static str,
    /// The processor.
    pub cpu: String,
    /// Version and features of this binary.
    pub build: String,
}

impl Record for PeakRecord {
    const COLUMNS: &'static [&'static str] = &[
        "arithmetic",
        "instruction",
        "threads",
        "median_gops",
        "max_gops",
        "cpu",
    ];
}

/// Measures every peak that this host has instructions for, `samples` times each.
pub fn measure(threads: usize, samples: usize) -> Vec<PeakRecord> {
    let host = Host::read();
    loops()
        .iter()
        .map(|found| {
            let iterations = calibrate(found.run);
            let samples_gops: Vec<f64> = (0..samples.max(1))
                .map(|_| sample(found, threads, iterations))
                .collect();
            let summary = Summary::of(&samples_gops);
            PeakRecord {
                test: "peak",
                arithmetic: found.arithmetic,
                instruction: found.instruction,
                threads,
                median_gops: summary.median,
                max_gops: summary.max,
                samples_gops,
                method: "dot products from registers, no loads",
                cpu: host.cpu.clone(),
                build: host.build.clone(),
            }
        })
        .collect()
}

fn loops() -> Vec<Loop> {
    #[cfg(target_arch = "x86_64")]
    return x86_64::loops();
    #[cfg(target_arch = "aarch64")]
    return aarch64::loops();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

/// Iterations that take about 50 ms on one thread.
fn calibrate(run: fn(u64)) -> u64 {
    let mut iterations = 1 << 12;
    loop {
        let start = Instant::now();
        run(iterations);
        if start.elapsed() >= Duration::from_millis(50) || iterations >= 1 << 40 {
            return iterations;
        }
        iterations *= 2;
    }
}

/// 10^9 operations a second of all threads together, from a common start to the last end.
fn sample(found: &Loop, threads: usize, iterations: u64) -> f64 {
    let threads = threads.max(1);
    let barrier = Barrier::new(threads + 1);
    let elapsed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    (found.run)(iterations);
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        for worker in workers {
            // A loop cannot panic; its end is all that matters.
            let _ = worker.join();
        }
        start.elapsed()
    });
    (found.operations * iterations * threads as u64) as f64 / elapsed.as_secs_f64() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_of_ours_has_a_float32_loop() {
        let found = loops();
        assert!(found.iter().any(|found| found.arithmetic == Arithmetic::Fp32));
        for found in found {
            (found.run)(3);
        }
    }

    #[test]
    fn one_record_per_loop_with_the_samples_asked_for() {
        let records = measure(1, 2);
        assert_eq!(records.len(), loops().len());
        for record in records {
            assert_eq!(record.samples_gops.len(), 2);
            assert!(record.median_gops > 0.0 && record.max_gops >= record.median_gops);
        }
    }
}
