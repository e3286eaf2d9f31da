//! The weights of a Hugging Face folder under their canonical names.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use crate::checkpoint::finite::{all_finite, stored_finite};
use crate::checkpoint::mapped::MappedFile;
use crate::checkpoint::shapes::weight_shapes;
use crate::{
    DecoderDescription, LayerWeight, MediaWeight, ModelError, StoredTensor, TensorData, TensorType, Weight,
    WeightSource,
};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Largest shard index that is read.
const MOST_INDEX_BYTES: u64 = 64 << 20;
/// Where a decoder's tensors may lie: alone, as the text half of a multimodal model (two spellings), without a head.
const PREFIXES: [&str; 4] = ["model.", "model.language_model.", "language_model.model.", ""];
/// Tensors with these beginnings belong to other halves of a multimodal model.
const OTHER_HALVES: [&str; 6] = [
    "model.vision_tower.",
    "model.multi_modal_projector.",
    "vision_tower.",
    "multi_modal_projector.",
    "model.vision_model.",
    "vision_model.",
];

/// Read access to the tensors of one or more safetensors files.
pub(crate) struct SafetensorsWeights {
    folder: PathBuf,
    files: Vec<MappedFile>,
    stored: HashMap<String, Located>,
    tensors: HashMap<Weight, String>,
}

struct Located {
    file: usize,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Range<usize>,
}

#[derive(Deserialize)]
struct ShardIndex {
    weight_map: HashMap<String, String>,
}

/// The safetensors files of `folder`: one, or those that the shard index names.
///
/// # Errors
/// There are none, or the index is damaged or names a file outside the folder.
pub(crate) fn weight_files(folder: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let single = folder.join(SINGLE);
    if single.is_file() {
        return Ok(vec![single]);
    }
    let index = folder.join(INDEX);
    if !index.is_file() {
        return Err(ModelError::NotFound(format!(
            "{}: neither {SINGLE} nor {INDEX}; a model folder holds config.json, safetensors weights and tokenizer.json",
            folder.display()
        )));
    }
    let len = std::fs::metadata(&index)
        .map_err(|source| ModelError::io(&index, source))?
        .len();
    if len > MOST_INDEX_BYTES {
        return Err(ModelError::corrupt(
            &index,
            format!("{len} bytes is no shard index"),
        ));
    }
    let bytes = std::fs::read(&index).map_err(|source| ModelError::io(&index, source))?;
    let parsed: ShardIndex = serde_json::from_slice(&bytes)
        .map_err(|error| ModelError::corrupt(&index, format!("not a shard index: {error}")))?;
    let names: BTreeSet<String> = parsed.weight_map.into_values().collect();
    if names.is_empty() {
        return Err(ModelError::corrupt(&index, "weight_map is empty"));
    }
    names
        .into_iter()
        .map(|name| {
            let plain = !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
            if plain && name.ends_with(".safetensors") {
                Ok(folder.join(name))
            } else {
                Err(ModelError::corrupt(
                    &index,
                    format!("weight_map names {name:?}; expected a plain .safetensors name"),
                ))
            }
        })
        .collect()
}

fn name_of(weight: Weight) -> String {
    let (layer, part) = match weight {
        Weight::Embedding => return "embed_tokens.weight".into(),
        Weight::Output => return "lm_head.weight".into(),
        Weight::FinalNorm => return "norm.weight".into(),
        Weight::Layer(layer, LayerWeight::OutputScale) => return format!("layers.{layer}.layer_scalar"),
        Weight::Layer(layer, part) => (layer, part),
        Weight::Media(_) => return String::new(),
    };
    let part = match part {
        LayerWeight::InputNorm => "input_layernorm",
        LayerWeight::Query => "self_attn.q_proj",
        LayerWeight::Key => "self_attn.k_proj",
        LayerWeight::Value => "self_attn.v_proj",
        LayerWeight::AttentionOutput => "self_attn.o_proj",
        LayerWeight::QueryNorm => "self_attn.q_norm",
        LayerWeight::KeyNorm => "self_attn.k_norm",
        LayerWeight::Gate => "mlp.gate_proj",
        LayerWeight::Up => "mlp.up_proj",
        LayerWeight::Down => "mlp.down_proj",
        LayerWeight::PostAttentionNorm
        | LayerWeight::FeedForwardNorm
        | LayerWeight::PostFeedForwardNorm
        | LayerWeight::OutputScale => return String::new(),
    };
    format!("layers.{layer}.{part}.weight")
}

/// The norms around the feed-forward block: with post norms, `post_attention_layernorm` is what its name says; without
/// them it is the norm before the feed-forward block.
fn norm_name(layer: usize, part: LayerWeight, post_norms: bool) -> Option<String> {
    let part = match (part, post_norms) {
        (LayerWeight::FeedForwardNorm, false) | (LayerWeight::PostAttentionNorm, true) => {
            "post_attention_layernorm"
        }
        (LayerWeight::FeedForwardNorm, true) => "pre_feedforward_layernorm",
        (LayerWeight::PostFeedForwardNorm, true) => "post_feedforward_layernorm",
        _ => return None,
    };
    Some(format!("layers.{layer}.{part}.weight"))
}

/// Names of a tensor of the media embedders: as `save_pretrained` of transformers writes it, then as the model in memory
/// calls it, which is what a plain state dict holds.
fn media_names(weight: MediaWeight) -> Vec<String> {
    let vision = |name: &str| {
        vec![
            format!("model.vision_embedder.{name}"),
            format!("model.embed_vision.{name}"),
        ]
    };
    let projection = |half: &str| {
        vec![
            format!("model.{half}.embedding_projection.weight"),
            format!("model.{half}.multimodal_embedder.embedding_projection.weight"),
        ]
    };
    match weight {
        MediaWeight::PatchNorm => vision("patch_ln1.weight"),
        MediaWeight::PatchNormBias => vision("patch_ln1.bias"),
        MediaWeight::Patch => vision("patch_dense.weight"),
        MediaWeight::PatchBias => vision("patch_dense.bias"),
        MediaWeight::ProjectedNorm => vision("patch_ln2.weight"),
        MediaWeight::ProjectedNormBias => vision("patch_ln2.bias"),
        MediaWeight::Positions => vision("pos_embedding"),
        MediaWeight::PositionNorm => vision("pos_norm.weight"),
        MediaWeight::PositionNormBias => vision("pos_norm.bias"),
        MediaWeight::Picture => projection("embed_vision"),
        MediaWeight::Sound => projection("embed_audio"),
    }
}

pub(super) fn canonical_name(description: &DecoderDescription, weight: Weight) -> String {
    if let Weight::Media(part) = weight {
        return media_names(part).swap_remove(0);
    }
    if let Weight::Layer(index, part) = weight
        && let Some(layer) = description.layers.get(index)
        && let Some(name) = norm_name(index, part, layer.post_norms)
    {
        return name;
    }
    name_of(weight)
}

fn stored_type(dtype: Dtype) -> Option<TensorType> {
    match dtype {
        Dtype::F32 => Some(TensorType::F32),
        Dtype::F16 => Some(TensorType::F16),
        Dtype::BF16 => Some(TensorType::Bf16),
        _ => None,
    }
}

impl SafetensorsWeights {
    /// Maps the weight files of `folder` and reads their headers.
    ///
    /// # Errors
    /// A file is missing, damaged or cut short, or two files hold one tensor.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let mut files = Vec::new();
        let mut stored = HashMap::new();
        for path in weight_files(folder)? {
            let mapped = MappedFile::open(&path)?;
            let (header, metadata) = SafeTensors::read_metadata(mapped.bytes()).map_err(|error| {
                ModelError::corrupt(
                    &path,
                    format!("damaged or cut short ({error}); fetch the file again"),
                )
            })?;
            // `read_metadata` has checked that header and tensors fill the file exactly.
            let data = header + 8;
            for (name, info) in metadata.tensors() {
                let (start, end) = info.data_offsets;
                let tensor = Located {
                    file: files.len(),
                    dtype: info.dtype,
                    shape: info.shape.clone(),
                    bytes: data + start..data + end,
                };
                if stored.insert(name.clone(), tensor).is_some() {
                    return Err(ModelError::corrupt(
                        &path,
                        format!("the tensor {name} stands in two files"),
                    ));
                }
            }
            files.push(mapped);
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            files,
            stored,
            tensors: HashMap::new(),
        })
    }

    /// How the embedding matrix is stored.
    ///
    /// # Errors
    /// There is no embedding matrix, or it is of a type that is not read.
    pub(crate) fn embedding_type(&self) -> Result<TensorType, ModelError> {
        let (name, tensor) = PREFIXES
            .iter()
            .find_map(|prefix| {
                self.stored
                    .get_key_value(&format!("{prefix}{}", name_of(Weight::Embedding)))
            })
            .ok_or_else(|| self.corrupt("no tensor model.embed_tokens.weight"))?;
        self.supported_type(name, tensor)
    }

    /// Finds every tensor of `description` and checks its type and shape.
    ///
    /// # Errors
    /// A tensor is missing or misshapen, or the folder holds one that the description has no place for.
    pub(crate) fn bind(mut self, description: &DecoderDescription) -> Result<Self, ModelError> {
        let embedding = name_of(Weight::Embedding);
        let prefix = PREFIXES
            .iter()
            .find(|prefix| self.stored.contains_key(&format!("{prefix}{embedding}")))
            .ok_or_else(|| self.corrupt("no tensor model.embed_tokens.weight"))?;
        let mut used = HashSet::new();
        for (weight, shape) in weight_shapes(description) {
            let canonical = canonical_name(description, weight);
            let candidates = match weight {
                Weight::Output => vec![canonical.clone(), format!("language_model.{canonical}")],
                Weight::Media(part) => media_names(part),
                _ => vec![format!("{prefix}{canonical}")],
            };
            let (name, tensor) = candidates
                .iter()
                .find_map(|name| self.stored.get_key_value(name))
                .ok_or_else(|| self.corrupt(format!("the tensor {} is missing", candidates.join(" or "))))?;
            self.supported_type(name, tensor)?;
            let found: &[usize] = &tensor.shape;
            let fits = match (weight, shape) {
                (Weight::Media(MediaWeight::Positions), [rows, width]) => found == [rows / 2, 2, width],
                (_, [1, width]) => found == [width] || found == [1, width],
                _ => found == shape,
            };
            if !fits {
                return Err(self.corrupt(format!(
                    "tensor {name} has shape {found:?}; config.json asks for {shape:?}"
                )));
            }
            used.insert(name.clone());
            self.tensors.insert(weight, name.clone());
        }
        for name in self.stored.keys().filter(|name| !used.contains(*name)) {
            let tied_copy = description.tied_output && name.ends_with("lm_head.weight");
            // Old checkpoints stored the rotary frequencies, which follow from the configuration.
            let rotary_copy = name.ends_with(".rotary_emb.inv_freq");
            let other_half = OTHER_HALVES.iter().any(|prefix| name.starts_with(prefix));
            if !tied_copy && !rotary_copy && !other_half {
                return Err(ModelError::Unsupported(format!(
                    "{}: the tensor {name} has no place in this architecture",
                    self.folder.display()
                )));
            }
        }
        Ok(self)
    }

    fn supported_type(&self, name: &str, tensor: &Located) -> Result<TensorType, ModelError> {
        stored_type(tensor.dtype).ok_or_else(|| {
            ModelError::Unsupported(format!(
                "{}: tensor {name} is stored as {:?}; F32, F16 and BF16 are read",
                self.folder.display(),
                tensor.dtype
            ))
        })
    }

    fn corrupt(&self, reason: impl Into<String>) -> ModelError {
        ModelError::corrupt(&self.folder, reason)
    }
}

/// A tensor of this folder that was found.
struct Found<'a> {
    name: &'a str,
    tensor: &'a Located,
    stored: TensorType,
    bytes: &'a [u8],
}

impl Found<'_> {
    fn shape(&self) -> [usize; 2] {
        match self.tensor.shape.as_slice() {
            [rows, columns] => [*rows, *columns],
            [rows, pair, columns] => [rows * pair, *columns],
            shape => [1, shape.iter().product()],
        }
    }
}

impl SafetensorsWeights {
    fn find(&self, weight: Weight) -> Result<Found<'_>, ModelError> {
        let (name, tensor) = self
            .tensors
            .get(&weight)
            .and_then(|name| self.stored.get_key_value(name))
            .ok_or_else(|| self.corrupt(format!("no tensor for {weight:?}")))?;
        let stored = self.supported_type(name, tensor)?;
        let bytes = self
            .files
            .get(tensor.file)
            .and_then(|file| file.bytes().get(tensor.bytes.clone()))
            .ok_or_else(|| self.corrupt(format!("cut short: tensor {name}")))?;
        Ok(Found {
            name,
            tensor,
            stored,
            bytes,
        })
    }

    fn finite(&self, name: &str, finite: bool) -> Result<(), ModelError> {
        match finite {
            true => Ok(()),
            false => Err(self.corrupt(format!(
                "tensor {name} holds a number that is not finite; fetch it again"
            ))),
        }
    }
}

impl WeightSource for SafetensorsWeights {
    fn tensor(&self, weight: Weight) -> Result<TensorData<'_>, ModelError> {
        let found = self.find(weight)?;
        let values = match found.stored {
            TensorType::F16 => pairs(found.bytes, |pair| f16::from_le_bytes(pair).to_f32()),
            TensorType::Bf16 => pairs(found.bytes, |pair| bf16::from_le_bytes(pair).to_f32()),
            _ => singles(found.bytes),
        };
        self.finite(found.name, all_finite(&values))?;
        Ok(TensorData {
            shape: found.shape(),
            stored: found.stored,
            values,
        })
    }

    fn stored(&self, weight: Weight) -> Result<Option<StoredTensor<'_>>, ModelError> {
        let found = self.find(weight)?;
        self.finite(found.name, stored_finite(found.stored, found.bytes))?;
        Ok(Some(StoredTensor {
            shape: found.shape(),
            stored: found.stored,
            bytes: found.bytes,
        }))
    }

    fn release(&self, weight: Weight) {
        if let Ok(found) = self.find(weight)
            && let Some(file) = self.files.get(found.tensor.file)
        {
            file.release(found.tensor.bytes.clone());
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.tensors
            .values()
            .filter_map(|name| self.stored.get(name))
            .map(|tensor| tensor.bytes.len() as u64)
            .sum()
    }
}

fn pairs(bytes: &[u8], convert: impl Fn([u8; 2]) -> f32) -> Cow<'_, [f32]> {
    Cow::Owned(
        bytes
            .chunks_exact(2)
            .map(|pair| convert([pair[0], pair[1]]))
            .collect(),
    )
}

fn singles(bytes: &[u8]) -> Cow<'_, [f32]> {
    if cfg!(target_endian = "little")
        && let Ok(values) = bytemuck::try_cast_slice(bytes)
    {
        return Cow::Borrowed(values);
    }
    let values = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    Cow::Owned(values.collect())
}
