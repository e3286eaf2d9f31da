//! Judging a model on labelled rows: reading them, the predictions about them, and what follows from those.

pub mod rows;
