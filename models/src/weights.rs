//! Where weights come from: one canonical name per tensor, whatever the file format called it.

use std::borrow::Cow;

use crate::ModelError;

/// A tensor of the decoder. Linear weights are `[out, in]`, norms `[width]`, q/k rows in "half" rotary layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// `[vocabulary, hidden]`
    Embedding,
    /// `[vocabulary, hidden]`, absent where the output is tied.
    Output,
    /// `[hidden]`
    FinalNorm,
    /// A tensor of the n-th layer.
    Layer(usize, LayerWeight),
    /// A tensor of the embedders of pictures and sound.
    Media(MediaWeight),
}

/// The tensors of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerWeight {
    /// Norm before attention.
    InputNorm,
    /// Query projection `[heads * head_dim, hidden]`.
    Query,
    /// Key projection `[kv_heads * head_dim, hidden]`.
    Key,
    /// Value projection `[kv_heads * head_dim, hidden]`.
    Value,
    /// Output projection `[hidden, heads * head_dim]`.
    AttentionOutput,
    /// Norm of each query head `[head_dim]`.
    QueryNorm,
    /// Norm of each key head `[head_dim]`.
    KeyNorm,
    /// Norm after attention, before the residual.
    PostAttentionNorm,
    /// Norm before the feed-forward block.
    FeedForwardNorm,
    /// Gate projection `[intermediate, hidden]`.
    Gate,
    /// Up projection `[intermediate, hidden]`.
    Up,
    /// Down projection `[hidden, intermediate]`.
    Down,
    /// Norm after the feed-forward block, before the residual.
    PostFeedForwardNorm,
    /// Factor on the layer's output `[1]`.
    OutputScale,
}

/// The tensors that turn pictures and sound into soft tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaWeight {
    /// Norm of a patch `[patch width]`.
    PatchNorm,
    /// Its bias.
    PatchNormBias,
    /// Projection of a patch `[width, patch width]`.
    Patch,
    /// Its bias `[width]`.
    PatchBias,
    /// Norm after it `[width]`.
    ProjectedNorm,
    /// Its bias.
    ProjectedNormBias,
    /// Positions `[2 * positions, width]`: a row for a column, then one for a row, and so on.
    Positions,
    /// Norm after the position was added `[width]`.
    PositionNorm,
    /// Its bias.
    PositionNormBias,
    /// Projection into the residual stream `[hidden, width]`.
    Picture,
    /// Projection of a frame of samples `[hidden, frame]`.
    Sound,
}

/// How a tensor's numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorType {
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// bfloat16.
    Bf16,
    /// A block-quantised type of GGUF, by its GGUF name (`Q4_1`, `Q8_0`, ...).
    Quantised(&'static str),
}

/// A tensor as float32, borrowed where the file already holds float32.
#[derive(Debug, Clone)]
pub struct TensorData<'a> {
    /// `[rows, columns]`; vectors are `[1, width]`.
    pub shape: [usize; 2],
    /// How the file stores it.
    pub stored: TensorType,
    /// Row-major numbers.
    pub values: Cow<'a, [f32]>,
}

/// A tensor as the bytes of its file, without a copy.
#[derive(Debug, Clone, Copy)]
pub struct StoredTensor<'a> {
    /// `[rows, columns]`; vectors are `[1, width]`.
    pub shape: [usize; 2],
    /// Of which type: F32, F16 or Bf16.
    pub stored: TensorType,
    /// Row-major numbers, little endian.
    pub bytes: &'a [u8],
}

/// Read access to a checkpoint's weights.
pub trait WeightSource: Send + Sync {
    /// One whole tensor as float32 (dequantised, q/k rows un-permuted).
    ///
    /// # Errors
    /// The tensor is missing, of an unknown type, or its file is cut short.
    fn tensor(&self, weight: Weight) -> Result<TensorData<'_>, ModelError>;

    /// One whole tensor as it is stored, where that is a plain number type in canonical row order; else `None`, and
    /// [`Self::tensor`] converts it. An engine that computes in the stored type needs no float32 copy.
    ///
    /// # Errors
    /// As [`Self::tensor`].
    fn stored(&self, _weight: Weight) -> Result<Option<StoredTensor<'_>>, ModelError> {
        Ok(None)
    }

    /// Says that a tensor was read and is not needed soon: its part of the file may leave the memory.
    fn release(&self, _weight: Weight) {}

    /// Bytes on disk of all tensors.
    fn stored_bytes(&self) -> u64;
}
