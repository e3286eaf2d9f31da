//! Checkpoints, decoder descriptions, artifact ids and the engines that run one forward pass.
//!
//! A checkpoint (GGUF file or Hugging Face folder) is read into a [`DecoderDescription`] and a [`WeightSource`];
//! an engine lowers that description; a [`Backbone`] is the loaded result.

mod artifact;
mod backbone;
mod checkpoint;
mod decoder;
pub mod engines;
mod error;
mod interrupt;
mod kernels;
mod media;
mod packed;
mod soft_tokens;
pub mod store;
mod weights;

pub use artifact::{ArtifactDescription, ArtifactId, Difference};
pub use backbone::{Backbone, EngineInfo, HiddenStates, Precision};
pub use checkpoint::{Checkpoint, FileHash, ModelCard, available_bytes, check_fit, weight_shapes};
pub use decoder::{Activation, Architecture, DecoderDescription, LayerDescription, Rope};
pub use error::ModelError;
pub use interrupt::Interrupt;
pub use media::{AudioEmbedder, MaskStyle, MediaDescription, MediaTokens, PictureSight, VisionEmbedder};
pub use packed::{PackedBatch, Part, PlacedMedium, ReadIndex, Segment, SegmentIndex, TokenId};
pub use soft_tokens::{Medium, PatchPosition, PatchValues, Picture, PixelScale, Sound};
pub use store::DEFAULT_MODEL;
pub use weights::{LayerWeight, MediaWeight, StoredTensor, TensorData, TensorType, Weight, WeightSource};
