//! From GGUF keys to a decoder description.

use super::{GgufFile, Metadata};
use crate::checkpoint::extent::{self, positive, within};
use crate::checkpoint::rotary::{RopeScaling, rope};
use crate::{Activation, Architecture, DecoderDescription, LayerDescription, ModelError, Rope};

/// Keys under the architecture's prefix that change the arithmetic in ways no engine here does, and their harmless value.
const FOREIGN_KEYS: [(&str, f64); 12] = [
    ("expert_count", 0.0),
    ("attention.clamp_kqv", 0.0),
    ("attention.max_alibi_bias", 0.0),
    ("attention.scale", 0.0),
    ("attn_logit_softcapping", 0.0),
    ("logit_scale", 0.0),
    ("residual_scale", 0.0),
    ("embedding_scale", 0.0),
    ("rope.scaling.attn_factor", 1.0),
    ("rope.scaling.yarn_log_multiplier", 0.0),
    ("nextn_predict_layers", 0.0),
    ("pooling_type", 0.0),
];

/// The keys of one architecture, read with their full names in every message.
struct Keys<'a> {
    metadata: &'a Metadata,
    prefix: &'a str,
}

impl Keys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    fn size(&self, key: &str, most: u64) -> Result<Option<usize>, String> {
        let name = self.name(key);
        self.metadata
            .unsigned(&name)?
            .map(|value| within(&name, value, most))
            .transpose()
    }

    fn required(&self, key: &str, most: u64) -> Result<usize, String> {
        self.size(key, most)?
            .ok_or_else(|| format!("the key {} is missing", self.name(key)))
    }

    fn number(&self, key: &str) -> Result<Option<f32>, String> {
        let name = self.name(key);
        self.metadata
            .float(&name)?
            .map(|value| positive(&name, value))
            .transpose()
    }

    /// One number for all layers, or an array with one per layer.
    fn per_layer(
        &self,
        bytes: &[u8],
        key: &str,
        most: u64,
        layers: usize,
    ) -> Result<Option<Vec<usize>>, String> {
        let name = self.name(key);
        let Some(super::metadata::Value::Array(array)) = self.metadata.get(&name) else {
            return Ok(self.size(key, most)?.map(|value| vec![value; layers]));
        };
        if array.count != layers as u64 {
            return Err(format!("{name} has {} values for {layers} layers", array.count));
        }
        array
            .integers(bytes, &name)?
            .map(|value| within(&name, u64::try_from(value?).unwrap_or(0), most))
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }
}

/// Reads the description of `file`'s decoder.
///
/// # Errors
/// A key is missing or impossible, or asks for an architecture or feature that no engine here has.
pub(crate) fn description(file: &GgufFile) -> Result<DecoderDescription, ModelError> {
    let corrupt = |reason: String| file.corrupt(reason);
    let name = file
        .metadata
        .text("general.architecture")
        .map_err(corrupt)?
        .ok_or_else(|| file.corrupt("the key general.architecture is missing"))?;
    let architecture = match name {
        "llama" => Architecture::Llama,
        "qwen3" => Architecture::Qwen3,
        other => {
            return Err(ModelError::Unsupported(format!(
                "{}: architecture {other:?} in a GGUF file; llama and qwen3 are read (Gemma 3: use its Hugging Face folder)",
                file.path().display()
            )));
        }
    };
    let keys = Keys {
        metadata: &file.metadata,
        prefix: name,
    };
    for (key, harmless) in FOREIGN_KEYS {
        let key = keys.name(key);
        if let Some(value) = file.metadata.float(&key).map_err(corrupt)?
            && value != harmless
        {
            return Err(ModelError::Unsupported(format!(
                "{}: {key} is {value}",
                file.path().display()
            )));
        }
    }
    let scaling = rope_scaling(file, &keys)?;
    read(file, &keys, architecture, scaling).map_err(corrupt)
}

fn rope_scaling(file: &GgufFile, keys: &Keys<'_>) -> Result<RopeScaling, ModelError> {
    let corrupt = |reason: String| file.corrupt(reason);
    let key = keys.name("rope.scaling.type");
    match file.metadata.text(&key).map_err(corrupt)? {
        None | Some("none") => Ok(RopeScaling::Default),
        Some("linear") => {
            let factor = keys.number("rope.scaling.factor").map_err(corrupt)?;
            Ok(RopeScaling::Linear {
                factor: factor.unwrap_or(1.0),
            })
        }
        Some(other) => Err(ModelError::Unsupported(format!(
            "{}: {key} is {other:?}; none and linear are read",
            file.path().display()
        ))),
    }
}

fn read(
    file: &GgufFile,
    keys: &Keys<'_>,
    architecture: Architecture,
    scaling: RopeScaling,
) -> Result<DecoderDescription, String> {
    let layers = keys.required("block_count", extent::LAYERS)?;
    let hidden = keys.required("embedding_length", extent::WIDTH)?;
    let per_layer = |key, most| keys.per_layer(file.bytes(), key, most, layers);
    let missing = |key: &str| format!("the key {} is missing", keys.name(key));
    let heads =
        per_layer("attention.head_count", extent::HEADS)?.ok_or_else(|| missing("attention.head_count"))?;
    let kv_heads = per_layer("attention.head_count_kv", extent::HEADS)?.unwrap_or_else(|| heads.clone());
    let intermediate =
        per_layer("feed_forward_length", extent::WIDTH)?.ok_or_else(|| missing("feed_forward_length"))?;
    let first_heads = heads.first().copied().unwrap_or(1);
    let head_dim = keys
        .size("attention.key_length", extent::WIDTH)?
        .unwrap_or(hidden / first_heads);
    let value_dim = keys
        .size("attention.value_length", extent::WIDTH)?
        .unwrap_or(head_dim);
    let rotary = keys
        .size("rope.dimension_count", extent::WIDTH)?
        .unwrap_or(head_dim);
    if head_dim == 0 || head_dim % 2 != 0 || value_dim != head_dim || rotary != head_dim {
        return Err(format!(
            "heads of {head_dim} (keys), {value_dim} (values) and {rotary} (rotary) numbers: they must be equal and even"
        ));
    }
    let theta = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let rope = rope_with_factors(file, rope(head_dim, theta, scaling))?;
    let embedding = file
        .tensor("token_embd.weight")
        .ok_or("the tensor token_embd.weight is missing")?;
    let vocabulary = within(
        "rows of token_embd.weight",
        embedding.shape[0] as u64,
        extent::VOCABULARY,
    )?;
    let layers = heads
        .iter()
        .zip(&kv_heads)
        .zip(&intermediate)
        .map(|((&heads, &kv_heads), &intermediate)| {
            if heads % kv_heads != 0 {
                return Err(format!(
                    "{heads} query heads do not divide among {kv_heads} key heads"
                ));
            }
            Ok(LayerDescription {
                heads,
                kv_heads,
                head_dim,
                intermediate,
                attention_scale: (1.0 / (head_dim as f64).sqrt()) as f32,
                window: None,
                rope: rope.clone(),
                qk_norm: architecture == Architecture::Qwen3,
                post_norms: false,
                shared_key_value: false,
                value_norm: false,
                output_scale: false,
            })
        })
        .collect::<Result<Vec<_>, String>>()?;
    Ok(DecoderDescription {
        architecture,
        vocabulary,
        hidden,
        context: keys.required("context_length", extent::CONTEXT)?,
        embedding_scale: 1.0,
        norm_epsilon: keys
            .number("attention.layer_norm_rms_epsilon")?
            .ok_or_else(|| missing("attention.layer_norm_rms_epsilon"))?,
        norm_offset: 0.0,
        activation: Activation::Silu,
        tied_output: file.tensor("output.weight").is_none(),
        logit_softcap: None,
        layers,
        media: None,
    })
}

/// Llama 3 files carry their frequency ramp as a tensor of divisors.
fn rope_with_factors(file: &GgufFile, mut rope: Rope) -> Result<Rope, String> {
    let Some(tensor) = file.tensor("rope_freqs.weight") else {
        return Ok(rope);
    };
    let wanted = rope.inverse_frequencies.len();
    if tensor.shape != [1, wanted] {
        return Err(format!(
            "rope_freqs.weight has shape {:?}; expected [1, {wanted}]",
            tensor.shape
        ));
    }
    let mut factors = vec![0.0; wanted];
    tensor.block.dequantise(file.tensor_bytes(tensor), &mut factors);
    for (frequency, factor) in rope.inverse_frequencies.iter_mut().zip(factors) {
        *frequency /= positive("a value of rope_freqs.weight", factor.into())?;
    }
    Ok(rope)
}
