//! Ollama's API, as its official client speaks it.

mod errors;
mod library;
mod request;
