//! Rotary parameters in their three spellings: `rope_theta` with `rope_scaling`, `rope_parameters`, and
//! `rope_parameters` per layer type.

use serde_json::{Map, Value};

use super::Config;
use crate::ModelError;
use crate::checkpoint::rotary::RopeScaling;

/// The kind of a layer's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerType {
    Full,
    Sliding,
}

/// Base and scaling of one kind of layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RopeParameters {
    pub(super) theta: f32,
    pub(super) scaling: RopeScaling,
}

/// The parameters of layers of kind `layer`.
///
/// `local_theta` is the base of sliding layers where the architecture keeps a separate one (Gemma 3), whose sliding layers
/// also ignore `rope_scaling`.
///
/// # Errors
/// A value is impossible, or the scaling is of a kind that is not read.
pub(super) fn rope_parameters(
    config: &Config,
    layer: LayerType,
    default_theta: f32,
    local_theta: Option<f32>,
) -> Result<RopeParameters, ModelError> {
    let kind = match layer {
        LayerType::Full => "full_attention",
        LayerType::Sliding => "sliding_attention",
    };
    let local = layer == LayerType::Sliding && local_theta.is_some();
    let old_theta = config.number(if local {
        "rope_local_base_freq"
    } else {
        "rope_theta"
    })?;
    let fallback = if local {
        local_theta.unwrap_or(default_theta)
    } else {
        default_theta
    };
    let (object, prefix) = match config.object("rope_parameters")? {
        Some(all) if is_per_layer(all) => {
            let inner = match all.get(kind).filter(|value| !value.is_null()) {
                None => None,
                Some(Value::Object(inner)) => Some(inner),
                Some(other) => {
                    return Err(
                        config.corrupt(format!("rope_parameters.{kind} is {other}; expected an object"))
                    );
                }
            };
            (inner, format!("rope_parameters.{kind}."))
        }
        Some(flat) if !local => (Some(flat), "rope_parameters.".to_owned()),
        // A flat object says nothing about the separate base of sliding layers.
        Some(_) => (None, String::new()),
        None if local => (None, String::new()),
        None => (config.object("rope_scaling")?, "rope_scaling.".to_owned()),
    };
    let Some(object) = object else {
        return Ok(RopeParameters {
            theta: old_theta.unwrap_or(fallback),
            scaling: RopeScaling::Default,
        });
    };
    let theta = config
        .number_in(object, &prefix, "rope_theta")?
        .or(old_theta)
        .unwrap_or(fallback);
    Ok(RopeParameters {
        theta,
        scaling: scaling(config, object, &prefix)?,
    })
}

fn is_per_layer(object: &Map<String, Value>) -> bool {
    object.contains_key("full_attention") || object.contains_key("sliding_attention")
}

fn scaling(config: &Config, object: &Map<String, Value>, prefix: &str) -> Result<RopeScaling, ModelError> {
    let share = config.number_in(object, prefix, "partial_rotary_factor")?;
    let kind = object.get("rope_type").or_else(|| object.get("type"));
    if kind.and_then(Value::as_str) == Some("proportional") {
        let share = share.unwrap_or(1.0);
        let factor = config.number_in(object, prefix, "factor")?.unwrap_or(1.0);
        if share > 1.0 || factor != 1.0 {
            return Err(config.unsupported(format!(
                "{prefix}partial_rotary_factor is {share} and factor {factor}; proportional frequencies take a part of at most 1 and factor 1"
            )));
        }
        return Ok(RopeScaling::Proportional { share });
    }
    if let Some(share) = share
        && share != 1.0
    {
        return Err(config.unsupported(format!("{prefix}partial_rotary_factor is {share}")));
    }
    let number = |field: &str| -> Result<f32, ModelError> {
        config.number_in(object, prefix, field)?.ok_or_else(|| {
            config.corrupt(format!(
                "the field {} is missing",
                config.name(&format!("{prefix}{field}"))
            ))
        })
    };
    match kind.filter(|value| !value.is_null()) {
        None => Ok(RopeScaling::Default),
        Some(Value::String(kind)) => match kind.as_str() {
            "default" => Ok(RopeScaling::Default),
            "linear" => Ok(RopeScaling::Linear {
                factor: number("factor")?,
            }),
            "llama3" => {
                let (low_freq_factor, high_freq_factor) =
                    (number("low_freq_factor")?, number("high_freq_factor")?);
                if low_freq_factor >= high_freq_factor {
                    return Err(config.corrupt(format!(
                        "{prefix}low_freq_factor is {low_freq_factor}; it must be below high_freq_factor, {high_freq_factor}"
                    )));
                }
                Ok(RopeScaling::Llama3 {
                    factor: number("factor")?,
                    low_freq_factor,
                    high_freq_factor,
                    original_context: number("original_max_position_embeddings")?,
                })
            }
            other => Err(config.unsupported(format!(
                "{prefix}rope_type is {other:?}; default, linear, llama3 and proportional are read"
            ))),
        },
        Some(other) => Err(config.corrupt(format!("{prefix}rope_type is {other}; expected a text"))),
    }
}
