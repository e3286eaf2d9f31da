//! The service behind the `assize` binary: command line, HTTP and scheduler.

pub mod bench;
pub mod datasets;
pub mod http;
pub mod scheduler;
pub mod service;
