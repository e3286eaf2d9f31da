//! The server end to end: real sockets, the real service on a tiny checkpoint with random weights.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod answers;
mod bodies;
mod client;
mod decisions;
mod drain;
mod errors;
mod heads;
mod keys;
mod limits;
mod media;
mod messages;
mod ollama;
mod openapi;
mod option_counts;
mod playground;
mod rig;
mod shared_batch;
mod slow_clients;
mod system_one;
