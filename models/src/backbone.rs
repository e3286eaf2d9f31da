//! The one trait of every engine, and what it returns.

use serde::{Deserialize, Serialize};

use crate::{DecoderDescription, Interrupt, ModelError, PackedBatch, ReadIndex, TokenId};

/// The arithmetic of the linear layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE single precision throughout.
    Float32,
    /// Linear layers in bfloat16 with float32 sums, everything else in single precision.
    #[serde(rename = "bf16")]
    Bfloat16,
    /// 8-bit weights and activations with scales fine enough to keep the answers.
    Int8,
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Precision::Float32 => "float32",
            Precision::Bfloat16 => "bf16",
            Precision::Int8 => "int8",
        })
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "float32" | "f32" | "fp32" => Ok(Precision::Float32),
            "bf16" | "bfloat16" => Ok(Precision::Bfloat16),
            "int8" | "i8" => Ok(Precision::Int8),
            other => Err(format!(
                "unknown precision {other:?}: use float32, int8 or, on the engine torch, bf16"
            )),
        }
    }
}

/// Which engine runs a model, as said in the log, in `/v1/models` and in every answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineInfo {
    /// Engine name: `onnx` or `torch`.
    pub name: &'static str,
    /// Version of the library behind it.
    pub version: String,
    /// Arithmetic of the linear layers.
    pub precision: Precision,
    /// The kernels chosen for this host, for example `avx512vnni`.
    pub kernels: String,
    /// Threads of one forward pass.
    pub threads: usize,
}

/// Hidden states after the final norm: one row of `width` numbers per read of the batch, in that order.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenStates {
    width: usize,
    values: Vec<f32>,
}

impl HiddenStates {
    /// Wraps `values`, row-major `[reads, width]`.
    ///
    /// # Errors
    /// The length is no multiple of `width`.
    pub fn new(width: usize, values: Vec<f32>) -> Result<Self, ModelError> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(ModelError::InvalidBatch(format!(
                "{} values in rows of {width}",
                values.len()
            )));
        }
        Ok(Self { width, values })
    }

    /// The hidden state of one read, `None` out of range.
    pub fn row(&self, read: ReadIndex) -> Option<&[f32]> {
        let start = read.0 as usize * self.width;
        self.values.get(start..start + self.width)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Width of one row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All rows, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// A loaded model on one engine. One call is one non-cached forward pass; nothing is remembered between calls.
pub trait Backbone: Send + Sync {
    /// What was loaded.
    fn description(&self) -> &DecoderDescription;

    /// What runs it.
    fn engine(&self) -> &EngineInfo;

    /// Bytes of weights that this engine holds or maps.
    fn weight_bytes(&self) -> u64;

    /// Runs the batch and returns the hidden state of every read.
    ///
    /// # Errors
    /// A token id outside the vocabulary, a path longer than the context, no reads, a medium that the model does not read or
    /// of another size than it takes, or an engine failure.
    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError>;

    /// Like [`Self::forward`], unless `interrupt` is asked first. An engine that cannot end a pass runs it to its end.
    ///
    /// # Errors
    /// Those of [`Self::forward`], and [`ModelError::Interrupted`].
    fn forward_unless(&self, batch: &PackedBatch, interrupt: &Interrupt) -> Result<HiddenStates, ModelError> {
        if interrupt.is_asked() {
            return Err(ModelError::Interrupted);
        }
        self.forward(batch)
    }

    /// Logits of some tokens for one hidden state, in float32: only those rows of the output matrix are multiplied.
    ///
    /// # Errors
    /// A token id outside the vocabulary or a hidden state of the wrong width.
    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError>;

    /// Logits over the whole vocabulary, row-major `[hidden.len(), vocabulary]`; for tests and small calls.
    ///
    /// # Errors
    /// A hidden state of the wrong width.
    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError>;

    /// log sum exp of the logits over the whole vocabulary, one number per row of `hidden`.
    ///
    /// # Errors
    /// A hidden state of the wrong width.
    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError>;
}
