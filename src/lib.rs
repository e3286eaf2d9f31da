//! The service behind the `assize` binary: command line, HTTP, scheduler, and the comparisons with references.

pub mod bench;
pub mod datasets;
pub mod evaluation;
pub mod head_fit;
pub mod http;
pub mod keys;
pub mod scheduler;
pub mod service;
mod strict_json;
pub mod verify;
