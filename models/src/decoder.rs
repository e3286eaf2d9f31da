//! The configuration-driven description of a decoder, which every engine lowers.

use serde::{Deserialize, Serialize};

use crate::{MediaDescription, PictureSight};

/// The family a checkpoint belongs to; for names and messages only, never branched on by an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// Llama and everything with its layout (SmolLM2 among them).
    Llama,
    /// Qwen3, dense.
    Qwen3,
    /// Gemma 3, text.
    Gemma3,
    /// Gemma 4 Unified: text, pictures and sound in one decoder, without encoders.
    Gemma4Unified,
}

/// The gate function of the feed-forward block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x * sigmoid(x)
    Silu,
    /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    GeluTanh,
}

/// Rotary position embedding of one layer, "half" layout: element j is paired with j + head_dim / 2. A pair of frequency
/// zero passes through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// head_dim / 2 angular frequencies, scaling already applied.
    pub inverse_frequencies: Vec<f32>,
}

/// One decoder layer: norm, attention, residual, norm, gated feed-forward, residual, and a factor where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerDescription {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Width of the feed-forward block.
    pub intermediate: usize,
    /// Factor on q·k before the softmax.
    pub attention_scale: f32,
    /// Keys a token sees, itself included; `None` sees all.
    pub window: Option<usize>,
    /// Rotary embedding of q and k.
    pub rope: Rope,
    /// Whether q and k pass an RMS norm per head before the rotary embedding.
    pub qk_norm: bool,
    /// Whether the outputs of attention and feed-forward pass an RMS norm before they join the residual stream.
    pub post_norms: bool,
    /// Whether values are the key projection as it leaves the matrix, before its norm and rotary embedding.
    pub shared_key_value: bool,
    /// Whether values pass an RMS norm per head without a weight.
    pub value_norm: bool,
    /// Whether the layer's output, residual included, is multiplied by a stored number; only with `post_norms`.
    pub output_scale: bool,
}

impl LayerDescription {
    /// Outputs of the key projection, and of the value projection where the layer has one.
    pub fn key_value_width(&self) -> usize {
        let matrices = if self.shared_key_value { 1 } else { 2 };
        matrices * self.kv_heads * self.head_dim
    }
}

/// A decoder in the terms that engines need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecoderDescription {
    /// The family.
    pub architecture: Architecture,
    /// Rows of the embedding matrix.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Longest path of positions.
    pub context: usize,
    /// Factor on embedding rows.
    pub embedding_scale: f32,
    /// Epsilon of every RMS norm.
    pub norm_epsilon: f32,
    /// Added to every norm weight as stored (1 for Gemma 3 from Hugging Face, else 0).
    pub norm_offset: f32,
    /// Gate function of the feed-forward blocks.
    pub activation: Activation,
    /// Whether logits use the embedding matrix.
    pub tied_output: bool,
    /// c of c * tanh(logit / c), where the model has it.
    pub logit_softcap: Option<f32>,
    /// The layers, first to last.
    pub layers: Vec<LayerDescription>,
    /// How pictures and sound enter; `None` reads text only.
    pub media: Option<MediaDescription>,
}

impl DecoderDescription {
    /// Multiply-adds of the linear layers for one token, without the output matrix.
    pub fn linear_macs_per_token(&self) -> u64 {
        self.layers
            .iter()
            .map(|layer| {
                let attention = layer.heads * layer.head_dim * 2 + layer.key_value_width();
                (self.hidden * (attention + 3 * layer.intermediate)) as u64
            })
            .sum()
    }

    /// Parameters of the linear layers, embeddings of text and media included.
    pub fn parameters(&self) -> u64 {
        let matrices = if self.tied_output { 1 } else { 2 };
        let media = self
            .media
            .as_ref()
            .map_or(0, |media| media.parameters(self.hidden));
        self.linear_macs_per_token() + (matrices * self.vocabulary * self.hidden) as u64 + media
    }

    /// What the soft tokens of a picture see of each other in one layer.
    pub fn picture_sight(&self, layer: &LayerDescription) -> PictureSight {
        match (&self.media, layer.window) {
            (None, _) => PictureSight::Causal,
            (Some(media), window) => media.mask_style.sight(window.is_some()),
        }
    }
}
