//! What `assize model show` tells.

use std::path::PathBuf;

use serde::Serialize;

use super::Entry;
use crate::{Architecture, Checkpoint};

/// A model of the cache, opened and described.
#[derive(Debug, Clone, Serialize)]
pub struct ModelReport {
    /// Source, files and hashes.
    #[serde(flatten)]
    pub entry: Entry,
    /// One line from the card.
    pub description: String,
    /// SPDX identifier or `unknown`.
    pub license: String,
    /// `YYYY-MM-DD`.
    pub release_date: String,
    /// The family.
    pub architecture: Architecture,
    /// Parameters, embedding included.
    pub parameters: u64,
    /// Layers.
    pub layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Rows of the embedding matrix.
    pub vocabulary: usize,
    /// Longest input in tokens.
    pub context: usize,
    /// sha256 of the tokenizer.
    pub tokenizer_hash: String,
    /// Where engines keep their own form.
    pub lowered_dir: PathBuf,
    /// Whether every byte was read again and its hash compared.
    pub verified: bool,
}

impl ModelReport {
    pub(super) fn new(entry: Entry, checkpoint: &Checkpoint, lowered_dir: PathBuf, verified: bool) -> Self {
        let description = checkpoint.description();
        let card = checkpoint.card();
        Self {
            entry,
            description: card.description.clone(),
            license: card.license.clone(),
            release_date: card.release_date.clone(),
            architecture: description.architecture,
            parameters: description.parameters(),
            layers: description.layers.len(),
            hidden: description.hidden,
            vocabulary: description.vocabulary,
            context: description.context,
            tokenizer_hash: checkpoint.tokenizer_hash(),
            lowered_dir,
            verified,
        }
    }
}
