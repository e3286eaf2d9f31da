//! Strict JSON, where in it something stands, and short quotes of it for messages: what bodies of requests and rows of files
//! are read with.

mod excerpt;
mod parse;
mod place;

pub(crate) use excerpt::excerpt;
pub(crate) use parse::{JsonError, parse};
pub(crate) use place::{Place, Step};
