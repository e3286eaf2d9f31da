//! Comparing the whole way from media files to probabilities with a folder of a reference's values.
//!
//! The folder has the shape of `tests/golden/gemma4_unified_tiny`: a checkpoint, media, and what transformers made of them
//! (`golden/`). Everything that the product does on the way is compared: grid sizes, patches, sound frames, token ids,
//! hidden states and head probabilities, under both mask styles.

mod cases;
mod checkpoint;
mod fixtures;
mod media;
mod report;

use std::path::Path;

use assize_models::engines::EngineOptions;

pub use fixtures::FixtureError;
pub use report::{Area, Check, Report};

use fixtures::Fixtures;

use crate::service::ServiceError;

/// Largest absolute difference of a hidden state in float32.
const HIDDEN_BOUND: f64 = 1e-4;
/// Largest absolute difference of a probability in float32.
const PROBABILITY_BOUND: f64 = 1e-5;

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The folder is not of the shape.
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Compares everything, calling `done` after each check.
///
/// # Errors
/// The folder lacks a file or holds one of another shape, or the checkpoint cannot be loaded. A value that differs is no
/// error, but a check that failed.
pub fn verify<'d>(
    folder: &Path,
    options: &EngineOptions,
    done: &'d mut dyn FnMut(&Check),
) -> Result<Report<'d>, VerifyError> {
    let fixtures = Fixtures::open(folder)?;
    let mut report = Report::new(done);
    media::grids(&fixtures, &mut report)?;
    media::images(&fixtures, &mut report)?;
    media::sounds(&fixtures, &mut report)?;
    media::frames(&fixtures, &mut report)?;
    checkpoint::spellings(&fixtures, &mut report)?;
    checkpoint::rotary(&fixtures, &mut report)?;
    cases::all(&fixtures, options, &mut report)?;
    Ok(report)
}
