//! Fitting a head: from labelled rows over hidden states, which are kept on disk, to a head's folder.

mod cache;
mod error;
mod extract;
mod fit;
mod row;

pub use cache::{HiddenCache, PromptKey};
pub use error::HeadFitError;
pub use extract::{Extracted, TOKENS_OF_A_PASS, extract};
pub use fit::{HeadFit, HeadFitOptions, HeadFitReport, Progress, fit_head};
pub use row::FitRow;
