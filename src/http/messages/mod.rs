//! `POST /v1/messages`: Anthropic's Messages API, as its official client speaks it.

mod content;
mod errors;
mod request;
mod response;
mod stream;
mod written_bounds;
