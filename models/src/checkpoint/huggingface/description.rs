//! From `config.json` to a decoder description.
//!
//! Defaults of absent fields are those of the architecture's configuration class in `transformers`, because published
//! files leave out what equals them.

use serde_json::Value;

use super::rope_parameters::{LayerType, rope_parameters};
use super::{Config, gemma4_unified};
use crate::checkpoint::extent;
use crate::checkpoint::rotary::rope;
use crate::{Activation, Architecture, DecoderDescription, LayerDescription, ModelError, TensorType};

/// What an architecture's configuration class assumes and fixes.
struct Family {
    architecture: Architecture,
    vocabulary: usize,
    hidden: usize,
    intermediate: usize,
    layers: usize,
    heads: usize,
    /// `None`: as many as query heads.
    kv_heads: Option<usize>,
    /// `None`: hidden / heads.
    head_dim: Option<usize>,
    context: usize,
    tied: bool,
    theta: f32,
    /// Separate rotary base of sliding layers.
    local_theta: Option<f32>,
    activation: Activation,
    activation_field: &'static str,
    qk_norm: bool,
    post_norms: bool,
    norm_offset: f32,
}

const LLAMA: Family = Family {
    architecture: Architecture::Llama,
    vocabulary: 32_000,
    hidden: 4096,
    intermediate: 11_008,
    layers: 32,
    heads: 32,
    kv_heads: None,
    head_dim: None,
    context: 2048,
    tied: false,
    theta: 10_000.0,
    local_theta: None,
    activation: Activation::Silu,
    activation_field: "hidden_act",
    qk_norm: false,
    post_norms: false,
    norm_offset: 0.0,
};

const QWEN3: Family = Family {
    architecture: Architecture::Qwen3,
    vocabulary: 151_936,
    hidden: 4096,
    intermediate: 22_016,
    layers: 32,
    heads: 32,
    kv_heads: Some(32),
    head_dim: Some(128),
    context: 32_768,
    tied: false,
    theta: 10_000.0,
    local_theta: None,
    activation: Activation::Silu,
    activation_field: "hidden_act",
    qk_norm: true,
    post_norms: false,
    norm_offset: 0.0,
};

const GEMMA3: Family = Family {
    architecture: Architecture::Gemma3,
    vocabulary: 262_208,
    hidden: 2304,
    intermediate: 9216,
    layers: 26,
    heads: 8,
    kv_heads: Some(4),
    head_dim: Some(256),
    context: 131_072,
    tied: true,
    theta: 1_000_000.0,
    local_theta: Some(10_000.0),
    activation: Activation::GeluTanh,
    activation_field: "hidden_activation",
    qk_norm: true,
    post_norms: true,
    norm_offset: 1.0,
};

/// Fields that change the arithmetic in ways no engine here does, with the values that leave it alone.
const FOREIGN_FIELDS: [(&str, &[&str]); 20] = [
    ("attention_bias", &["false"]),
    ("mlp_bias", &["false"]),
    ("attn_logit_softcapping", &[]),
    ("use_bidirectional_attention", &["false"]),
    ("partial_rotary_factor", &["1", "1.0"]),
    ("rotary_pct", &["1", "1.0"]),
    ("rope_interleaved", &["false"]),
    ("clip_qkv", &[]),
    ("num_experts", &["0"]),
    ("num_local_experts", &["0"]),
    ("n_routed_experts", &["0"]),
    ("embedding_multiplier", &["1", "1.0"]),
    ("residual_multiplier", &["1", "1.0"]),
    ("attention_multiplier", &[]),
    ("logits_scaling", &["1", "1.0"]),
    ("logit_scale", &["1", "1.0"]),
    ("no_rope_layers", &["[]"]),
    ("use_qk_norm", &["false"]),
    ("is_encoder_decoder", &["false"]),
    ("alibi", &["false"]),
];

/// Reads the description of the decoder that `config` configures and whose embedding is stored as `embedding`.
///
/// # Errors
/// A field is missing or impossible, or asks for an architecture or feature that no engine here has.
pub(crate) fn description(config: &Config, embedding: TensorType) -> Result<DecoderDescription, ModelError> {
    let family = match config.text("model_type")? {
        Some("llama") => LLAMA,
        Some("qwen3") => QWEN3,
        Some("gemma3_text") => GEMMA3,
        Some("gemma4_unified_text") => return gemma4_unified::description(config, embedding),
        other => {
            return Err(config.unsupported(format!(
                "model_type is {}; llama, qwen3, gemma3, gemma3_text and gemma4_unified are read",
                other.map_or("missing".to_owned(), |name| format!("{name:?}"))
            )));
        }
    };
    reject_foreign(config, &FOREIGN_FIELDS)?;
    let hidden = config.size("hidden_size", Some(family.hidden), extent::WIDTH)?;
    let heads = config.size("num_attention_heads", Some(family.heads), extent::HEADS)?;
    let kv_heads = config.size(
        "num_key_value_heads",
        family.kv_heads.or(Some(heads)),
        extent::HEADS,
    )?;
    if heads % kv_heads != 0 {
        return Err(config.corrupt(format!(
            "num_attention_heads is {heads}, which does not divide among num_key_value_heads, {kv_heads}"
        )));
    }
    let head_dim = config.size(
        "head_dim",
        family.head_dim.or(Some(hidden / heads)),
        extent::WIDTH,
    )?;
    if head_dim == 0 || head_dim % 2 != 0 {
        return Err(config.corrupt(format!("head_dim is {head_dim}; it must be even and above 0")));
    }
    let score_scalar = match family.architecture {
        Architecture::Gemma3 => config.number("query_pre_attn_scalar")?.unwrap_or(256.0),
        _ => head_dim as f32,
    };
    let intermediate = config.size("intermediate_size", Some(family.intermediate), extent::WIDTH)?;
    let mut layers = Vec::new();
    for (kind, window) in layer_windows(config, &family)? {
        let parameters = rope_parameters(config, kind, family.theta, family.local_theta)?;
        layers.push(LayerDescription {
            heads,
            kv_heads,
            head_dim,
            intermediate,
            attention_scale: f64::from(score_scalar).powf(-0.5) as f32,
            window,
            rope: rope(head_dim, parameters.theta, parameters.scaling),
            qk_norm: family.qk_norm,
            post_norms: family.post_norms,
            shared_key_value: false,
            value_norm: false,
            output_scale: false,
        });
    }
    let embedding_scale = match family.architecture {
        Architecture::Gemma3 => rounded((hidden as f64).sqrt() as f32, embedding),
        _ => 1.0,
    };
    Ok(DecoderDescription {
        architecture: family.architecture,
        vocabulary: config.size("vocab_size", Some(family.vocabulary), extent::VOCABULARY)?,
        hidden,
        context: config.size("max_position_embeddings", Some(family.context), extent::CONTEXT)?,
        embedding_scale,
        norm_epsilon: config.number("rms_norm_eps")?.unwrap_or(1e-6),
        norm_offset: family.norm_offset,
        activation: activation(config, &family)?,
        tied_output: config.tied(family.tied)?,
        logit_softcap: config.number("final_logit_softcapping")?,
        layers,
        media: None,
    })
}

/// Refuses a field of `foreign` that holds another value than those listed beside it.
pub(super) fn reject_foreign(config: &Config, foreign: &[(&str, &[&str])]) -> Result<(), ModelError> {
    for (field, harmless) in foreign {
        if let Some(value) = config.get(field)
            && !harmless.contains(&value.to_string().as_str())
        {
            return Err(config.unsupported(format!("{field} is {value}")));
        }
    }
    Ok(())
}

/// The reference casts the embedding scale to the type of the weights; training saw the rounded value.
pub(super) fn rounded(scale: f32, stored: TensorType) -> f32 {
    match stored {
        TensorType::Bf16 => half::bf16::from_f32(scale).to_f32(),
        TensorType::F16 => half::f16::from_f32(scale).to_f32(),
        _ => scale,
    }
}

fn activation(config: &Config, family: &Family) -> Result<Activation, ModelError> {
    let named = config.text(family.activation_field)?;
    // Gemma configurations carry `hidden_act` too, which their reference ignores.
    match (family.activation, named) {
        (known, None) => Ok(known),
        (_, Some("silu" | "swish")) => Ok(Activation::Silu),
        (_, Some("gelu_pytorch_tanh" | "gelu_new" | "gelu_fast")) => Ok(Activation::GeluTanh),
        (_, Some(other)) => Err(config.unsupported(format!(
            "{} is {other:?}; silu and gelu_pytorch_tanh are read",
            family.activation_field
        ))),
    }
}

/// Kind and window of every layer.
fn layer_windows(config: &Config, family: &Family) -> Result<Vec<(LayerType, Option<usize>)>, ModelError> {
    let layers = config.size("num_hidden_layers", Some(family.layers), extent::LAYERS)?;
    let sliding_allowed = match family.architecture {
        Architecture::Llama => match config.get("sliding_window") {
            None => false,
            Some(value) => {
                return Err(config.unsupported(format!("sliding_window is {value} in a llama model")));
            }
        },
        Architecture::Qwen3 => config.bool("use_sliding_window")?.unwrap_or(false),
        _ => true,
    };
    let kinds = match listed_kinds(config, layers)? {
        Some(kinds) => kinds,
        None => default_kinds(config, family, layers, sliding_allowed)?,
    };
    let window = if kinds.contains(&LayerType::Sliding) {
        if !sliding_allowed {
            return Err(
                config.unsupported("layer_types holds \"sliding_attention\" while no sliding window is on")
            );
        }
        Some(config.size("sliding_window", Some(4096), extent::CONTEXT)?)
    } else {
        None
    };
    Ok(kinds
        .into_iter()
        .map(|kind| (kind, if kind == LayerType::Sliding { window } else { None }))
        .collect())
}

/// The kinds that `layer_types` lists, where it is there.
pub(super) fn listed_kinds(config: &Config, layers: usize) -> Result<Option<Vec<LayerType>>, ModelError> {
    let Some(names) = config.texts("layer_types")? else {
        return Ok(None);
    };
    if names.len() != layers {
        return Err(config.corrupt(format!(
            "layer_types has {} entries for num_hidden_layers {layers}",
            names.len()
        )));
    }
    names
        .into_iter()
        .map(|name| match name {
            "full_attention" => Ok(LayerType::Full),
            "sliding_attention" => Ok(LayerType::Sliding),
            other => Err(config.unsupported(format!(
                "layer_types holds {other:?}; full_attention and sliding_attention are read"
            ))),
        })
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
}

fn default_kinds(
    config: &Config,
    family: &Family,
    layers: usize,
    sliding_allowed: bool,
) -> Result<Vec<LayerType>, ModelError> {
    let pattern = match family.architecture {
        Architecture::Gemma3 => config.size("sliding_window_pattern", Some(6), extent::LAYERS)?,
        _ => 1,
    };
    let first_sliding = match config.get("max_window_layers").map(Value::as_u64) {
        _ if family.architecture != Architecture::Qwen3 || !sliding_allowed => u64::MAX,
        None => 28,
        Some(Some(value)) => value,
        Some(None) => return Err(config.corrupt("max_window_layers is no whole number")),
    };
    Ok((0..layers)
        .map(|index| {
            let sliding = match family.architecture {
                Architecture::Gemma3 => (index + 1) % pattern != 0,
                _ => index as u64 >= first_sliding,
            };
            if sliding {
                LayerType::Sliding
            } else {
                LayerType::Full
            }
        })
        .collect())
}
