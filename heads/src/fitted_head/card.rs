//! The card of a fitted head.

use assize_models::{ArtifactDescription, ArtifactId};
use assize_preprocess::prompt::Truncate;
use serde::{Deserialize, Serialize};

use super::HeadQuestion;
use crate::fit::{Folds, TriedStrength};

/// What a head is for and where it comes from; `head.json`. It holds no times, so equal fits have equal cards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadCard {
    /// Always [`HeadCard::SCHEMA`].
    pub schema: String,
    /// Version of the program that fitted it.
    pub program: String,
    /// sha256 (hex) of `head.safetensors`.
    pub weights_sha256: String,
    /// [`super::FittedHead::fingerprint`] of the fit, by which a card is known that was changed since.
    pub fingerprint: String,
    /// What gave the hidden states.
    pub base: HeadBase,
    /// The question that it answers.
    pub question: HeadQuestion,
    /// Numbers of a hidden state.
    pub width: usize,
    /// How long texts were cut.
    pub prompt: PromptCut,
    /// The rows.
    pub data: HeadData,
    /// The fit.
    pub training: HeadTraining,
    /// On the training rows, each under the head that was fitted without the row's fold.
    pub cross_validated: HeadQuality,
    /// On rows that had no part in the fit, where there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeadQuality>,
}

/// The artifact whose hidden states a head reads. Its readout is that of the model's own card, which a head replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadBase {
    /// The model's name.
    pub model: String,
    /// The hash of the description.
    pub id: ArtifactId,
    /// Weights, tokenizer, prompt form, readout, precision and engine.
    pub description: ArtifactDescription,
}

/// How prompts are cut. A head that was fitted to cut texts reads texts that are cut in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptCut {
    /// Most tokens of a prompt, the longest option included.
    pub max_tokens: usize,
    /// What is dropped of the text of a longer one.
    pub truncate: Truncate,
}

/// The rows that a head was fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadData {
    /// Name of the data set or file.
    pub name: String,
    /// sha256 (hex) over id, prompt tokens, gold option and group of every row, in order.
    pub sha256: String,
    /// sha256 (hex) of the file, or of the package that the data set came in, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_sha256: Option<String>,
    /// Which rows were taken, in words.
    pub split: String,
    /// Rows.
    pub rows: usize,
    /// Groups of rows that no fold divides.
    pub groups: usize,
    /// Rows of each option.
    pub per_option: Vec<usize>,
    /// Rows whose text was cut.
    pub truncated_rows: usize,
}

/// How a head was fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadTraining {
    /// `L2-regularised multinomial logistic regression`.
    pub method: String,
    /// The folds of cross-validation.
    pub folds: Folds,
    /// Every C that was tried, with its cross-validated NLL.
    pub tried: Vec<TriedStrength>,
    /// The chosen C.
    pub c: f64,
    /// Every number of decoder layers that was tried, where these were several: the lowest NLL was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<TriedDepth>,
    /// Temperature that was fitted on the cross-validated scores and is folded into the head's numbers; 1 where none was.
    pub temperature: f64,
}

/// One number of decoder layers below a head, and how good the head on them was by cross-validation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedDepth {
    /// Decoder layers that were run.
    pub layers: usize,
    /// Mean negative log-likelihood, nats.
    pub nll: f64,
    /// Share of rows whose most probable option is the gold one.
    pub accuracy: f64,
}

/// How good answers were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadQuality {
    /// Rows.
    pub rows: usize,
    /// Share of rows whose most probable option is the gold one.
    pub accuracy: f64,
    /// Mean negative log-likelihood of the gold option, nats.
    pub nll: f64,
    /// Expected calibration error of the most probable option, 15 bins of equal mass.
    pub ece15: f64,
}

impl HeadCard {
    /// The format that is read and written.
    pub const SCHEMA: &str = "assize.head/1";

    /// What contradicts itself.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.schema != Self::SCHEMA {
            return Err(format!(
                "`schema` is {:?}: this program reads {:?}",
                self.schema,
                Self::SCHEMA
            ));
        }
        let id = self.base.description.id();
        if self.base.id != id {
            return Err(format!(
                "`base.id` is {} and the description's is {id}: the card was changed; fit the head again",
                self.base.id
            ));
        }
        if self.prompt.max_tokens == 0 {
            return Err("`prompt.max_tokens` is 0: it must be at least 1".into());
        }
        if self.prompt.truncate == Truncate::Error {
            return Err("`prompt.truncate` is error: it must be start, middle or end".into());
        }
        Ok(())
    }
}
