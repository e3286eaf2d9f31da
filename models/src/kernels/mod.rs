//! CPU kernels of the decoder: packed matrix products, row quantisation, norms and attention.
//!
//! Every kernel computes a row from that row's inputs alone and in one fixed order, so a result never depends on
//! what else shares the batch, nor on the number of threads. One set per instruction set, chosen at run time.

pub(crate) mod attention;
pub(crate) mod elementary;
mod isa;
pub(crate) mod matrix;
pub(crate) mod output;
mod parallel;
pub(crate) mod quantised_rows;
pub(crate) mod rows;
pub(crate) mod tile_f32;
pub(crate) mod tile_int8;

pub use isa::Isa;
pub(crate) use isa::per_isa;
pub(crate) use parallel::{Parallel, SharedMut};

/// Columns of one packed panel.
pub(crate) const PANEL: usize = 64;
/// Rows of one register tile.
pub(crate) const TILE_ROWS: usize = 6;
