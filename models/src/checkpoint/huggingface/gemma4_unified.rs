//! `gemma4_unified` configurations: a Gemma 4 decoder that takes pictures and sound without encoders.
//!
//! Facts as in the configuration and modelling code of transformers 5.24. Published files give the sizes of layers
//! without a window as `global_head_dim` and `num_global_key_value_heads`; that release saves `per_layer_config` instead.

use serde_json::Value;

use super::Config;
use super::description::{listed_kinds, reject_foreign, rounded};
use super::rope_parameters::{LayerType, rope_parameters};
use crate::checkpoint::extent;
use crate::checkpoint::rotary::rope;
use crate::{
    Activation, Architecture, AudioEmbedder, DecoderDescription, LayerDescription, MaskStyle,
    MediaDescription, MediaTokens, ModelError, TensorType, VisionEmbedder,
};

/// Epsilon of norms whose configuration is silent.
const EPSILON: f32 = 1e-6;
/// Epsilon of the norms with a bias; the reference leaves it to torch's default, so no configuration names it.
const NORM_WITH_BIAS_EPSILON: f32 = 1e-5;
/// Head width of layers without a window where no field gives it.
const GLOBAL_HEAD_DIM: usize = 512;
/// Rotary base of sliding layers where no field gives it.
const SLIDING_THETA: f32 = 10_000.0;
/// Rotary base of full layers where no field gives it.
const FULL_THETA: f32 = 1_000_000.0;
/// Every n-th layer is full where `layer_types` is missing.
const PATTERN: usize = 6;

/// Fields that change the arithmetic in ways no engine here does, with the values that leave it alone.
const FOREIGN_FIELDS: [(&str, &[&str]); 9] = [
    ("attention_bias", &["false"]),
    ("mlp_bias", &["false"]),
    ("attn_logit_softcapping", &[]),
    ("partial_rotary_factor", &["1", "1.0"]),
    ("num_kv_shared_layers", &["0"]),
    ("use_double_wide_mlp", &["false"]),
    ("enable_moe_block", &["false"]),
    ("hidden_size_per_layer_input", &["0"]),
    ("use_bidirectional_attention", &["\"vision\""]),
];

/// Reads the description of the decoder that `config` configures and whose embedding is stored as `embedding`.
///
/// # Errors
/// A field is missing or impossible, or asks for a feature that no engine here has.
pub(super) fn description(config: &Config, embedding: TensorType) -> Result<DecoderDescription, ModelError> {
    reject_foreign(config, &FOREIGN_FIELDS)?;
    match config.text("hidden_activation")? {
        None | Some("gelu_pytorch_tanh") => {}
        Some(other) => {
            return Err(config.unsupported(format!(
                "hidden_activation is {other:?}; gelu_pytorch_tanh is read"
            )));
        }
    }
    let hidden = config.size("hidden_size", None, extent::WIDTH)?;
    let vocabulary = config.size("vocab_size", None, extent::VOCABULARY)?;
    let media = media(config, vocabulary)?;
    let reads_pictures = media.as_ref().is_some_and(|media| media.vision.is_some());
    if reads_pictures && config.get("use_bidirectional_attention").is_none() {
        return Err(config.unsupported(
            "use_bidirectional_attention is missing in a model that reads pictures; \"vision\" is read",
        ));
    }
    Ok(DecoderDescription {
        architecture: Architecture::Gemma4Unified,
        vocabulary,
        hidden,
        context: config.size("max_position_embeddings", None, extent::CONTEXT)?,
        embedding_scale: rounded((hidden as f64).sqrt() as f32, embedding),
        norm_epsilon: config.number("rms_norm_eps")?.unwrap_or(EPSILON),
        norm_offset: 0.0,
        activation: Activation::GeluTanh,
        tied_output: config.tied(true)?,
        logit_softcap: config.number("final_logit_softcapping")?,
        layers: layers(config)?,
        media,
    })
}

/// Head sizes of one layer.
#[derive(Debug, Clone, Copy)]
struct HeadSizes {
    head_dim: usize,
    kv_heads: usize,
}

fn layers(config: &Config) -> Result<Vec<LayerDescription>, ModelError> {
    let count = config.size("num_hidden_layers", None, extent::LAYERS)?;
    let heads = config.size("num_attention_heads", None, extent::HEADS)?;
    let intermediate = config.size("intermediate_size", None, extent::WIDTH)?;
    let window = config.size("sliding_window", None, extent::CONTEXT)?;
    let shared = config.bool("attention_k_eq_v")?.unwrap_or(false);
    let mut kinds = listed_kinds(config, count)?.unwrap_or_else(|| {
        (1..=count)
            .map(|place| {
                if place % PATTERN == 0 {
                    LayerType::Full
                } else {
                    LayerType::Sliding
                }
            })
            .collect()
    });
    // The reference's configuration forces the last layer, whatever the file lists.
    if let Some(last) = kinds.last_mut() {
        *last = LayerType::Full;
    }
    let sizes = head_sizes(config, &kinds, shared)?;
    for kind in ["sliding_attention", "full_attention"] {
        let found = config
            .object("rope_parameters")?
            .and_then(|all| all.get(kind))
            .is_some_and(Value::is_object);
        if !found {
            return Err(config.corrupt(format!(
                "the field {} is missing",
                config.name(&format!("rope_parameters.{kind}"))
            )));
        }
    }
    kinds
        .into_iter()
        .zip(sizes)
        .enumerate()
        .map(|(index, (kind, HeadSizes { head_dim, kv_heads }))| {
            if heads % kv_heads != 0 || head_dim % 2 != 0 {
                return Err(config.corrupt(format!(
                    "layer {index} has {kv_heads} key heads of width {head_dim} for num_attention_heads {heads}; the heads must divide evenly and the width be even"
                )));
            }
            let full = kind == LayerType::Full;
            let parameters = rope_parameters(config, kind, FULL_THETA, Some(SLIDING_THETA))?;
            Ok(LayerDescription {
                heads,
                kv_heads,
                head_dim,
                intermediate,
                attention_scale: 1.0,
                window: (!full).then_some(window),
                rope: rope(head_dim, parameters.theta, parameters.scaling),
                qk_norm: true,
                post_norms: true,
                shared_key_value: full && shared,
                value_norm: true,
                output_scale: true,
            })
        })
        .collect()
}

/// Head sizes of every layer: `per_layer_config` first, then the fields for layers without a window, then those for all.
fn head_sizes(config: &Config, kinds: &[LayerType], shared: bool) -> Result<Vec<HeadSizes>, ModelError> {
    let head_dim = config.size("head_dim", None, extent::WIDTH)?;
    let kv_heads = config.size("num_key_value_heads", None, extent::HEADS)?;
    let overrides = config.object("per_layer_config")?;
    // A file that lists layers one by one leaves out those that differ in nothing.
    let silent = if overrides.is_some() {
        head_dim
    } else {
        GLOBAL_HEAD_DIM
    };
    let global_head_dim = config.size("global_head_dim", Some(silent), extent::WIDTH)?;
    let global_kv_heads = if shared {
        config.size("num_global_key_value_heads", Some(kv_heads), extent::HEADS)?
    } else {
        kv_heads
    };
    let mut sizes: Vec<HeadSizes> = kinds
        .iter()
        .map(|kind| match kind {
            LayerType::Sliding => HeadSizes { head_dim, kv_heads },
            LayerType::Full => HeadSizes {
                head_dim: global_head_dim,
                kv_heads: global_kv_heads,
            },
        })
        .collect();
    let mut seen = vec![false; sizes.len()];
    for (key, fields) in overrides.into_iter().flatten() {
        let name = format!("per_layer_config.{key}");
        let digits = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        let index = digits.then(|| key.parse::<usize>().ok()).flatten();
        let Some((index, size)) = index.and_then(|index| Some((index, sizes.get_mut(index)?))) else {
            return Err(config.corrupt(format!("{} names no layer", config.name(&name))));
        };
        if std::mem::replace(&mut seen[index], true) {
            return Err(config.corrupt(format!("{} names a layer twice", config.name(&name))));
        }
        let Value::Object(fields) = fields else {
            return Err(config.corrupt(format!("{} is {fields}; expected an object", config.name(&name))));
        };
        for (field, value) in fields {
            let (place, most) = match field.as_str() {
                "head_dim" => (&mut size.head_dim, extent::WIDTH),
                "num_key_value_heads" => (&mut size.kv_heads, extent::HEADS),
                other => {
                    return Err(config.unsupported(format!(
                        "{name}.{other} is {value}; head_dim and num_key_value_heads are read"
                    )));
                }
            };
            let number = value.as_u64().unwrap_or(0);
            *place = extent::within(&config.name(&format!("{name}.{field}")), number, most)
                .map_err(|reason| config.corrupt(reason))?;
        }
    }
    Ok(sizes)
}

/// Embedders and token ids of the model around the decoder; `None` for a decoder on its own.
fn media(config: &Config, vocabulary: usize) -> Result<Option<MediaDescription>, ModelError> {
    let Some(outer) = config.outer() else {
        return Ok(None);
    };
    let vision = outer
        .inner("vision_config", "vision_config.")?
        .map(|vision| vision_embedder(&vision))
        .transpose()?;
    let audio = outer
        .inner("audio_config", "audio_config.")?
        .map(|audio| audio_embedder(&audio))
        .transpose()?;
    if vision.is_none() && audio.is_none() {
        return Ok(None);
    }
    let end_audio = if outer.get("eoa_token_index").is_some() {
        "eoa_token_index"
    } else {
        "eoa_token_id"
    };
    let token = |field: &str| outer.token(field, vocabulary);
    Ok(Some(MediaDescription {
        vision,
        audio,
        tokens: MediaTokens {
            begin_image: token("boi_token_id")?,
            image: token("image_token_id")?,
            end_image: token("eoi_token_id")?,
            begin_audio: token("boa_token_id")?,
            audio: token("audio_token_id")?,
            end_audio: token(end_audio)?,
            video: token("video_token_id")?,
        },
        mask_style: MaskStyle::default(),
    }))
}

fn vision_embedder(config: &Config) -> Result<VisionEmbedder, ModelError> {
    // The bound keeps the numbers of a patch within the widest layer.
    const EDGE: u64 = 512;
    let patch = config.size("patch_size", Some(16), EDGE)?;
    let pooled = config.size("pooling_kernel_size", Some(3), EDGE)?;
    let patch_edge = config.size("model_patch_size", Some(patch * pooled), EDGE)?;
    if patch_edge != patch * pooled {
        return Err(config.unsupported(format!(
            "model_patch_size is {patch_edge}; patch_size {patch} times pooling_kernel_size {pooled} is read"
        )));
    }
    let width = config.size("mm_embed_dim", None, extent::WIDTH)?;
    let projected = config.size("output_proj_dims", Some(width), extent::WIDTH)?;
    if projected != width {
        return Err(config.unsupported(format!(
            "output_proj_dims is {projected} and mm_embed_dim {width}; equal ones are read"
        )));
    }
    Ok(VisionEmbedder {
        patch_edge,
        width,
        positions: config.size("mm_posemb_size", None, extent::WIDTH)?,
        norm_epsilon: NORM_WITH_BIAS_EPSILON,
        rms_epsilon: config.number("rms_norm_eps")?.unwrap_or(EPSILON),
    })
}

fn audio_embedder(config: &Config) -> Result<AudioEmbedder, ModelError> {
    Ok(AudioEmbedder {
        frame: config.size("audio_embed_dim", None, extent::WIDTH)?,
        rms_epsilon: config.number("rms_norm_eps")?.unwrap_or(EPSILON),
    })
}
