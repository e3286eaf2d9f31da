//! Benchmarks: speed of the engine and of HTTP, agreement with float32, zero-shot quality, and the peer.

mod host;
mod peaks;
mod report;
mod statistics;

pub use host::{Host, memory_mib, peak_memory_mib};
pub use peaks::{Arithmetic, PeakRecord, measure as measure_peaks};
pub use report::{Output, Record, write};
pub use statistics::{Summary, paired_ratio, quantile};

mod error;
pub use error::BenchError;
