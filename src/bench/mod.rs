//! Benchmarks: speed of the engine, of HTTP and of media, agreement with float32, zero-shot quality, and the peer.

mod agreement;
mod divergence;
mod error;
mod host;
mod http;
mod identity;
mod latency;
mod layer;
mod layer_reference;
mod media;
mod memory;
mod peaks;
#[cfg(feature = "peer-llama")]
pub mod peer;
mod prefill;
mod prompts;
mod random_checkpoint;
mod report;
mod round_robin;
mod shared_state;
mod statistics;
mod subject;
mod task;
#[cfg(feature = "peer-llama")]
mod versus;
mod zero_shot;

pub use agreement::{AgreementRecord, NextToken, Variant, agreement, real_prompts};
pub use divergence::{Divergence, kl_divergence};
pub use error::BenchError;
pub use host::{Host, memory_mib, peak_memory_mib};
pub use http::{Address, Client, HttpOptions, HttpRecord, Server, http, http_steps};
pub use identity::Identity;
pub use latency::{LatencyOptions, LatencyRecord, LatencySubject, latency};
pub use layer::{EngineVariant, LayerKind, LayerOptions, LayerRecord, layer};
pub use media::{
    MediaFiles, MediaMemoryRecord, MediaOptions, MediaRecord, media, media_memory, media_memory_probe,
};
pub use memory::{MemoryOptions, MemoryRecord, memory};
pub use peaks::{Arithmetic, PeakRecord, measure as measure_peaks};
#[cfg(feature = "peer-llama")]
pub use peer::PeerFile;
pub use prefill::{PrefillOptions, PrefillRecord, prefill};
pub use random_checkpoint::RandomCheckpoint;
pub use report::{Output, Record, write};
pub use round_robin::{BackboneRunner, Runner, round_robin};
pub use shared_state::{SharedStateOptions, SharedStateRecord, shared_state};
pub use statistics::{Summary, paired_ratio, quantile};
pub use subject::Subject;
pub use task::{CLEAR_RATING, Task, TaskOptions, TaskRow, TaskShape};
#[cfg(feature = "peer-llama")]
pub use versus::{Versus, VersusOptions, VersusRecord};
pub use zero_shot::{ZeroShotForm, ZeroShotRecord, ZeroShotSubject, readout_name, zero_shot};
