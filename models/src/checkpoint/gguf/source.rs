//! The weights of a GGUF file under their canonical names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::{BlockType, GgufFile, GgufTensor};
use crate::checkpoint::finite::all_finite;
use crate::checkpoint::shapes::weight_shapes;
use crate::{Architecture, DecoderDescription, LayerWeight, ModelError, TensorData, Weight, WeightSource};

/// Read access to a GGUF file's tensors.
pub(crate) struct GgufWeights {
    file: GgufFile,
    tensors: HashMap<Weight, Located>,
}

struct Located {
    name: String,
    tensor: GgufTensor,
    /// Heads whose rows the file holds in interleaved rotary order.
    interleaved_heads: Option<usize>,
}

fn name_of(weight: Weight) -> String {
    let (layer, part) = match weight {
        Weight::Embedding => return "token_embd.weight".into(),
        Weight::Output => return "output.weight".into(),
        Weight::FinalNorm => return "output_norm.weight".into(),
        Weight::Layer(layer, part) => (layer, part),
        // No GGUF description has media.
        Weight::Media(part) => return format!("media.{part:?}"),
    };
    let part = match part {
        LayerWeight::InputNorm => "attn_norm",
        LayerWeight::Query => "attn_q",
        LayerWeight::Key => "attn_k",
        LayerWeight::Value => "attn_v",
        LayerWeight::AttentionOutput => "attn_output",
        LayerWeight::QueryNorm => "attn_q_norm",
        LayerWeight::KeyNorm => "attn_k_norm",
        LayerWeight::PostAttentionNorm => "post_attention_norm",
        LayerWeight::FeedForwardNorm => "ffn_norm",
        LayerWeight::Gate => "ffn_gate",
        LayerWeight::Up => "ffn_up",
        LayerWeight::Down => "ffn_down",
        LayerWeight::PostFeedForwardNorm => "post_ffw_norm",
        LayerWeight::OutputScale => "layer_output_scale",
    };
    format!("blk.{layer}.{part}.weight")
}

/// Heads of a q or k projection whose rows the file interleaves: llama's converter does so, the others do not.
fn interleaved_heads(description: &DecoderDescription, weight: Weight) -> Option<usize> {
    if description.architecture != Architecture::Llama {
        return None;
    }
    let Weight::Layer(layer, part) = weight else {
        return None;
    };
    let layer = description.layers.get(layer)?;
    match part {
        LayerWeight::Query => Some(layer.heads),
        LayerWeight::Key => Some(layer.kv_heads),
        _ => None,
    }
}

impl GgufWeights {
    /// Finds every tensor of `description` in `file` and checks its shape.
    ///
    /// # Errors
    /// A tensor is missing or misshapen, or the file holds one that the description has no place for.
    pub(crate) fn new(file: GgufFile, description: &DecoderDescription) -> Result<Self, ModelError> {
        let mut tensors = HashMap::new();
        let mut used: HashSet<String> = HashSet::from(["rope_freqs.weight".to_owned()]);
        for (weight, shape) in weight_shapes(description) {
            let name = name_of(weight);
            let tensor = file
                .tensor(&name)
                .ok_or_else(|| file.corrupt(format!("the tensor {name} is missing")))?
                .clone();
            if tensor.shape != shape {
                return Err(file.corrupt(format!(
                    "tensor {name} has shape {:?}; the header's configuration asks for {shape:?}",
                    tensor.shape
                )));
            }
            used.insert(name.clone());
            let interleaved_heads = interleaved_heads(description, weight);
            tensors.insert(
                weight,
                Located {
                    name,
                    tensor,
                    interleaved_heads,
                },
            );
        }
        if let Some((name, _)) = file.tensors().find(|(name, _)| !used.contains(*name)) {
            return Err(ModelError::Unsupported(format!(
                "{}: the tensor {name} has no place in this architecture",
                file.path().display()
            )));
        }
        Ok(Self { file, tensors })
    }
}

/// The row of an interleaved file that holds row `row` of the "half" layout: element j of a head's first half stands at
/// 2j, of its second half at 2j + 1.
fn interleaved_row(row: usize, head_dim: usize) -> usize {
    let (head, within) = (row / head_dim, row % head_dim);
    let half = head_dim / 2;
    head * head_dim + 2 * (within % half) + within / half
}

impl WeightSource for GgufWeights {
    fn tensor(&self, weight: Weight) -> Result<TensorData<'_>, ModelError> {
        let located = self
            .tensors
            .get(&weight)
            .ok_or_else(|| self.file.corrupt(format!("no tensor {}", name_of(weight))))?;
        let tensor = &located.tensor;
        let bytes = self.file.tensor_bytes(tensor);
        let [rows, columns] = tensor.shape;
        let values = match located.interleaved_heads {
            Some(heads) => {
                let head_dim = rows / heads.max(1);
                let row_bytes = tensor.len / rows;
                let mut values = vec![0.0; rows * columns];
                for (row, out) in values.chunks_exact_mut(columns).enumerate() {
                    let start = interleaved_row(row, head_dim) * row_bytes;
                    tensor
                        .block
                        .dequantise(bytes.get(start..start + row_bytes).unwrap_or_default(), out);
                }
                Cow::Owned(values)
            }
            None => whole(tensor.block, bytes, rows * columns),
        };
        if !all_finite(&values) {
            return Err(self.file.corrupt(format!(
                "tensor {} holds a number that is not finite; fetch the file again",
                located.name
            )));
        }
        Ok(TensorData {
            shape: tensor.shape,
            stored: tensor.block.stored(),
            values,
        })
    }

    fn stored_bytes(&self) -> u64 {
        self.tensors
            .values()
            .map(|located| located.tensor.len as u64)
            .sum()
    }
}

fn whole(block: BlockType, bytes: &[u8], len: usize) -> Cow<'_, [f32]> {
    if block == BlockType::F32
        && cfg!(target_endian = "little")
        && let Ok(values) = bytemuck::try_cast_slice(bytes)
    {
        return Cow::Borrowed(values);
    }
    let mut values = vec![0.0; len];
    block.dequantise(bytes, &mut values);
    Cow::Owned(values)
}
