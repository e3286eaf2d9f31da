//! `gemma4_unified` configurations in both spellings, and what is refused.

use serde_json::{Value, json};

use super::{of, says, with};
use crate::checkpoint::rotary::{RopeScaling, rope};
use crate::{Architecture, ModelError};

fn gemma4() -> Value {
    let text = json!({
        "model_type": "gemma4_unified_text", "vocab_size": 32, "hidden_size": 8, "intermediate_size": 12,
        "num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
        "global_head_dim": 8, "num_global_key_value_heads": 1, "attention_k_eq_v": true, "sliding_window": 16,
        "max_position_embeddings": 64, "final_logit_softcapping": 30.0, "use_bidirectional_attention": "vision",
        "num_kv_shared_layers": 0, "use_double_wide_mlp": false, "enable_moe_block": false,
        "hidden_size_per_layer_input": 0, "attention_bias": false, "num_experts": null,
        "rope_parameters": {
            "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    });
    json!({
        "model_type": "gemma4_unified", "text_config": text,
        "boi_token_id": 20, "image_token_id": 21, "eoi_token_id": 22, "boa_token_id": 23, "audio_token_id": 24,
        "eoa_token_index": 25, "video_token_id": 26,
        "vision_config": {"patch_size": 2, "pooling_kernel_size": 2, "mm_embed_dim": 6, "mm_posemb_size": 10},
        "audio_config": {"audio_embed_dim": 5, "rms_norm_eps": 1e-6},
    })
}

/// `gemma4` with a field of its decoder changed.
fn gemma4_text(field: &str, value: Value) -> Value {
    let mut config = gemma4();
    config["text_config"][field] = value;
    config
}

#[test]
fn gemma4_unified_is_described() {
    let description = of(gemma4()).unwrap();
    assert_eq!(description.architecture, Architecture::Gemma4Unified);
    assert_eq!((description.norm_offset, description.norm_epsilon), (0.0, 1e-6));
    assert_eq!(description.embedding_scale, 8_f32.sqrt());
    assert!(description.tied_output);
    // Every sixth layer is full, and the last whatever its place.
    let full: Vec<bool> = description
        .layers
        .iter()
        .map(|layer| layer.window.is_none())
        .collect();
    assert_eq!(full, [false, false, false, false, false, true, true]);
    let (sliding, full) = (&description.layers[0], &description.layers[5]);
    assert_eq!(
        (sliding.head_dim, sliding.kv_heads, sliding.shared_key_value),
        (4, 2, false)
    );
    assert_eq!(
        (full.head_dim, full.kv_heads, full.shared_key_value),
        (8, 1, true)
    );
    for layer in &description.layers {
        assert_eq!(layer.attention_scale, 1.0);
        assert!(layer.qk_norm && layer.post_norms && layer.value_norm && layer.output_scale);
    }
    assert_eq!(sliding.rope, rope(4, 1e4, RopeScaling::Default));
    assert_eq!(full.rope, rope(8, 1e6, RopeScaling::Proportional { share: 0.25 }));
    assert_eq!(full.rope.inverse_frequencies[1..], [0.0; 3]);
    let media = description.media.unwrap();
    let vision = media.vision.unwrap();
    assert_eq!((vision.patch_edge, vision.patch_width()), (4, 48));
    assert_eq!((vision.norm_epsilon, vision.rms_epsilon), (1e-5, 1e-6));
    assert_eq!(media.audio.unwrap().frame, 5);
    assert_eq!((media.tokens.begin_image, media.tokens.video), (20, 26));
}

#[test]
fn gemma4_layers_listed_one_by_one_win() {
    let mut listed = gemma4();
    let text = listed["text_config"].as_object_mut().unwrap();
    text.remove("global_head_dim");
    text.remove("num_global_key_value_heads");
    text.insert(
        "per_layer_config".into(),
        json!({"05": {"head_dim": 8, "num_key_value_heads": 1}, "6": {"head_dim": 8, "num_key_value_heads": 1}}),
    );
    assert_eq!(of(listed.clone()).unwrap(), of(gemma4()).unwrap());
    // Over the fields for all full layers too.
    listed["text_config"]["global_head_dim"] = 16.into();
    assert_eq!(of(listed.clone()).unwrap(), of(gemma4()).unwrap());
    // A listed file leaves out layers that differ in nothing.
    listed["text_config"]["per_layer_config"] = json!({});
    listed["text_config"]["global_head_dim"] = Value::Null;
    assert_eq!(of(listed).unwrap().layers[5].head_dim, 4);
    // Without a list, the class assumes 512.
    let silent = of(gemma4_text("global_head_dim", Value::Null)).unwrap();
    assert_eq!(silent.layers[5].head_dim, 512);
    // Key heads of full layers only count where keys are values.
    let apart = of(gemma4_text("attention_k_eq_v", false.into())).unwrap();
    assert_eq!(
        (apart.layers[5].kv_heads, apart.layers[5].shared_key_value),
        (2, false)
    );
    for (map, part) in [
        (json!({"7": {}}), "per_layer_config.7 names no layer"),
        (json!({"x": {}}), "per_layer_config.x names no layer"),
        (json!({"5": {}, "05": {}}), "names a layer twice"),
        (json!({"5": 3}), "expected an object"),
        (json!({"5": {"head_dim": 0}}), "per_layer_config.5.head_dim"),
        (json!({"5": {"sliding_window": 3}}), "sliding_window"),
        (json!({"5": {"head_dim": 5}}), "layer 5"),
    ] {
        says(of(gemma4_text("per_layer_config", map)), &[part]);
    }
}

#[test]
fn what_gemma4_unified_asks_beyond_this_is_refused_by_name() {
    for (field, value) in [
        ("num_kv_shared_layers", json!(2)),
        ("use_double_wide_mlp", json!(true)),
        ("enable_moe_block", json!(true)),
        ("hidden_size_per_layer_input", json!(256)),
        ("use_bidirectional_attention", json!("all")),
        ("use_bidirectional_attention", Value::Null),
        ("attention_bias", json!(true)),
        ("hidden_activation", json!("silu")),
    ] {
        let error = of(gemma4_text(field, value)).unwrap_err();
        assert!(matches!(error, ModelError::Unsupported(_)), "{error}");
        says::<()>(Err(error), &[field]);
    }
    for field in [
        "hidden_size",
        "sliding_window",
        "head_dim",
        "max_position_embeddings",
    ] {
        let missing = of(gemma4_text(field, Value::Null));
        says(missing, &[&format!("text_config.{field} is missing")]);
    }
    says(
        of(gemma4_text("rope_parameters", json!({"rope_theta": 1e4}))),
        &["rope_parameters.sliding_attention is missing"],
    );
    for (field, value) in [("image_token_id", json!(32)), ("boi_token_id", json!("x"))] {
        says(of(with(gemma4(), field, value)), &[field, "below vocab_size, 32"]);
    }
    says(
        of(with(gemma4(), "eoa_token_index", Value::Null)),
        &["eoa_token_id is missing"],
    );
    let mut odd = gemma4();
    odd["vision_config"]["output_proj_dims"] = 7.into();
    says(of(odd), &["vision_config.output_proj_dims is 7"]);
    let mut odd = gemma4();
    odd["vision_config"]["model_patch_size"] = 5.into();
    says(of(odd), &["model_patch_size is 5"]);
}

#[test]
fn a_gemma4_decoder_alone_and_one_without_sound_are_read() {
    let alone = of(gemma4()["text_config"].clone()).unwrap();
    assert_eq!((alone.media, alone.layers), (None, of(gemma4()).unwrap().layers));
    let media = of(with(gemma4(), "audio_config", Value::Null))
        .unwrap()
        .media
        .unwrap();
    assert!(media.vision.is_some() && media.audio.is_none());
}
