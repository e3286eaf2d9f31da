//! A head that was fitted to labelled rows: its numbers (`head.safetensors`) and what they are for (`head.json`).

mod card;
mod question;
mod write;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use card::{HeadBase, HeadCard, HeadData, HeadQuality, HeadTraining, PromptCut, TriedDepth};
pub use question::{HeadOption, HeadQuestion};
pub use write::write;

use crate::{HeadError, SlotHead};

/// File names in a head's folder.
const WEIGHTS_FILE: &str = "head.safetensors";
const CARD_FILE: &str = "head.json";
/// Largest card that is read.
const MOST_CARD_BYTES: u64 = 16 << 20;

/// A fitted head with its card.
#[derive(Debug)]
pub struct FittedHead {
    head: SlotHead,
    card: HeadCard,
    fingerprint: String,
}

impl FittedHead {
    /// Reads a head's folder, or its `.safetensors` file with the card beside it (`X.json` for `X.safetensors`).
    ///
    /// # Errors
    /// A file is missing or damaged, or the two do not belong together.
    pub fn open(path: &Path) -> Result<Self, HeadError> {
        let (weights_path, card_path) = files_of(path);
        let bytes = read_bounded(&card_path, MOST_CARD_BYTES)?;
        let damaged = |reason: String| HeadError::HeadCard {
            path: card_path.clone(),
            reason,
        };
        let card: HeadCard = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        card.check().map_err(damaged)?;
        let head = SlotHead::open(&weights_path)?;
        if head.fingerprint() != card.weights_sha256 {
            return Err(damaged(format!(
                "`weights_sha256` is {} and that of {} is {}: the two files are not of one fit; fit the head again",
                card.weights_sha256,
                weights_path.display(),
                head.fingerprint()
            )));
        }
        let options = card.question.option_names().len();
        if head.slots() != options || head.width() != card.width {
            return Err(damaged(format!(
                "it names {options} options and a width of {}, and {} has {} and {}; fit the head again",
                card.width,
                weights_path.display(),
                head.slots(),
                head.width()
            )));
        }
        let fingerprint = fingerprint(&card).map_err(|error| damaged(error.to_string()))?;
        if fingerprint != card.fingerprint {
            return Err(damaged(format!(
                "`fingerprint` is {} and that of its numbers, question and cut {fingerprint}: the card was changed; fit the \
                 head again",
                card.fingerprint
            )));
        }
        Ok(Self {
            head,
            card,
            fingerprint,
        })
    }

    /// The numbers.
    pub fn head(&self) -> &SlotHead {
        &self.head
    }

    /// What they are for.
    pub fn card(&self) -> &HeadCard {
        &self.card
    }

    /// sha256 (hex) of what answers depend on: the numbers, the question and the cut. Figures in the card do not change it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// `head-` and the first 16 hex digits of [`Self::fingerprint`].
    pub fn id(&self) -> String {
        format!("head-{}", self.fingerprint.get(..16).unwrap_or_default())
    }
}

fn fingerprint(card: &HeadCard) -> serde_json::Result<String> {
    let parts = serde_json::to_vec(&(&card.weights_sha256, &card.question, &card.prompt))?;
    Ok(hex::encode(Sha256::digest(parts)))
}

/// The files of weights and card that `path` stands for.
fn files_of(path: &Path) -> (PathBuf, PathBuf) {
    if path.is_dir() {
        (path.join(WEIGHTS_FILE), path.join(CARD_FILE))
    } else {
        (path.to_path_buf(), path.with_extension("json"))
    }
}

fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, HeadError> {
    let io = |source| HeadError::Io {
        path: path.to_path_buf(),
        source,
    };
    let bytes = std::fs::metadata(path).map_err(io)?.len();
    if bytes > most {
        return Err(HeadError::HeadCard {
            path: path.to_path_buf(),
            reason: format!("{bytes} bytes are more than the {most} that are read"),
        });
    }
    std::fs::read(path).map_err(io)
}
