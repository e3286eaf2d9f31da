//! Split-conformal prediction sets: instead of one option, a set of options that holds the gold one with a promised
//! frequency.
//!
//! The promise is on average over the draw of calibration rows and of the new row, for rows that are exchangeable, whatever
//! the probabilities: coverage of at least the wish (Vovk et al. 2005; Angelopoulos and Bates 2023, "Conformal prediction: a
//! gentle introduction"). With given calibration rows it varies a little around that; [`Coverage`] measures it on others.

mod coverage;
mod quantile;
mod sets;

pub use coverage::Coverage;
pub use quantile::conformal_quantile;
pub use sets::{PredictionSets, Rule};
