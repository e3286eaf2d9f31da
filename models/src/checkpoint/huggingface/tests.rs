//! Configurations and small folders made here, sound and damaged.

mod gemma4_unified;

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize_to_file};
use serde_json::{Value, json};

use super::*;
use crate::checkpoint::rotary::{RopeScaling, rope};
use crate::{
    Activation, Architecture, Checkpoint, DecoderDescription, LayerWeight, ModelError, TensorType, Weight,
    weight_shapes,
};

fn described(config: &Value, stored: TensorType) -> Result<DecoderDescription, ModelError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    description(&Config::open(dir.path())?, stored)
}

fn of(config: Value) -> Result<DecoderDescription, ModelError> {
    described(&config, TensorType::F32)
}

fn llama() -> Value {
    json!({
        "model_type": "llama", "vocab_size": 16, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 32,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true,
    })
}

fn gemma3() -> Value {
    json!({
        "model_type": "gemma3_text", "vocab_size": 16, "hidden_size": 640, "intermediate_size": 12,
        "num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
        "query_pre_attn_scalar": 64, "sliding_window": 512,
    })
}

fn with(mut config: Value, field: &str, value: Value) -> Value {
    config[field] = value;
    config
}

fn says<T: std::fmt::Debug>(result: Result<T, ModelError>, parts: &[&str]) {
    let error = result.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

#[test]
fn llama_is_described() {
    let description = of(llama()).unwrap();
    assert_eq!(description.architecture, Architecture::Llama);
    assert_eq!(
        (description.vocabulary, description.hidden, description.context),
        (16, 8, 32)
    );
    assert_eq!(
        (
            description.embedding_scale,
            description.norm_offset,
            description.norm_epsilon
        ),
        (1.0, 0.0, 1e-5)
    );
    assert!(description.tied_output);
    let layer = &description.layers[1];
    assert_eq!(
        (layer.heads, layer.kv_heads, layer.head_dim, layer.attention_scale),
        (2, 1, 4, 0.5)
    );
    assert_eq!(
        (layer.window, layer.qk_norm, layer.post_norms),
        (None, false, false)
    );
    assert_eq!(layer.rope.inverse_frequencies, [1.0, 0.01]);
    // What the class assumes where the file is silent.
    let silent = of(json!({"model_type": "llama"})).unwrap();
    assert_eq!(
        (silent.vocabulary, silent.layers.len(), silent.layers[0].kv_heads),
        (32_000, 32, 32)
    );
    assert!(!silent.tied_output);
}

#[test]
fn all_spellings_of_rope_agree() {
    let llama3 = json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    });
    let old = of(with(llama(), "rope_scaling", llama3.clone())).unwrap();
    let renamed = with(llama3.clone(), "type", "llama3".into());
    let oldest = of(with(llama(), "rope_scaling", renamed)).unwrap();
    let mut config = llama();
    config.as_object_mut().unwrap().remove("rope_theta");
    let new = of(with(
        config,
        "rope_parameters",
        with(llama3, "rope_theta", 10_000.0.into()),
    ))
    .unwrap();
    assert_eq!(old, new);
    assert_eq!(old, oldest);
    assert_ne!(old.layers[0].rope, of(llama()).unwrap().layers[0].rope);
    let linear = of(with(
        llama(),
        "rope_scaling",
        json!({"type": "linear", "factor": 2}),
    ))
    .unwrap();
    assert_eq!(linear.layers[0].rope.inverse_frequencies, [0.5, 0.005]);
    let plain = of(with(
        llama(),
        "rope_parameters",
        json!({"rope_type": "default", "rope_theta": 10000}),
    ))
    .unwrap();
    assert_eq!(plain, of(llama()).unwrap());
}

#[test]
fn qwen3_is_described() {
    let mut config = with(llama(), "model_type", "qwen3".into());
    config["head_dim"] = 128.into();
    config["sliding_window"] = Value::Null;
    config["attention_bias"] = false.into();
    let description = of(config.clone()).unwrap();
    let layer = &description.layers[0];
    assert_eq!(
        (layer.head_dim, layer.qk_norm, layer.post_norms, layer.window),
        (128, true, false, None)
    );
    assert_eq!(layer.attention_scale, (128_f64).powf(-0.5) as f32);
    let mut sliding = with(config, "use_sliding_window", true.into());
    sliding["sliding_window"] = 4.into();
    sliding["max_window_layers"] = 1.into();
    let windows: Vec<_> = of(sliding)
        .unwrap()
        .layers
        .iter()
        .map(|layer| layer.window)
        .collect();
    assert_eq!(windows, [None, Some(4)]);
}

#[test]
fn gemma3_is_described() {
    let description = of(gemma3()).unwrap();
    assert_eq!(description.activation, Activation::GeluTanh);
    assert_eq!((description.norm_offset, description.norm_epsilon), (1.0, 1e-6));
    assert_eq!(description.embedding_scale, 640_f32.sqrt());
    assert!(description.tied_output);
    let windows: Vec<_> = description.layers.iter().map(|layer| layer.window).collect();
    assert_eq!(
        windows,
        [
            Some(512),
            Some(512),
            Some(512),
            Some(512),
            Some(512),
            None,
            Some(512)
        ]
    );
    let layer = &description.layers[0];
    assert_eq!(
        (layer.attention_scale, layer.qk_norm, layer.post_norms),
        (0.125, true, true)
    );
    assert_eq!(layer.rope, rope(256, 10_000.0, RopeScaling::Default));
    assert_eq!(
        description.layers[5].rope,
        rope(256, 1_000_000.0, RopeScaling::Default)
    );
    // The reference multiplies in the type of the weights.
    assert_eq!(
        described(&gemma3(), TensorType::Bf16).unwrap().embedding_scale,
        25.25
    );
}

#[test]
fn gemma3_rope_has_two_bases() {
    let scaled = |value: Value| {
        let layers = of(value).unwrap().layers;
        (layers[0].rope.clone(), layers[5].rope.clone())
    };
    let linear = json!({"rope_type": "linear", "factor": 8.0});
    let mut old = with(gemma3(), "rope_scaling", linear);
    old["rope_theta"] = 500_000.into();
    old["rope_local_base_freq"] = 20_000.into();
    let new = with(
        gemma3(),
        "rope_parameters",
        json!({
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 500_000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20_000.0},
        }),
    );
    let expected = (
        rope(256, 20_000.0, RopeScaling::Default),
        rope(256, 500_000.0, RopeScaling::Linear { factor: 8.0 }),
    );
    assert_eq!(scaled(old), expected);
    assert_eq!(scaled(new), expected);
}

#[test]
fn gemma3_layers_by_pattern_and_by_list() {
    let windows = |config: Value| -> Vec<bool> {
        of(config)
            .unwrap()
            .layers
            .iter()
            .map(|layer| layer.window.is_some())
            .collect()
    };
    assert_eq!(
        windows(with(gemma3(), "sliding_window_pattern", 2.into())),
        [true, false, true, false, true, false, true]
    );
    let listed: Vec<&str> = vec!["full_attention", "sliding_attention"]
        .into_iter()
        .cycle()
        .take(7)
        .collect();
    assert_eq!(
        windows(with(gemma3(), "layer_types", json!(listed))),
        [false, true, false, true, false, true, false]
    );
    says(
        of(with(gemma3(), "layer_types", json!(["full_attention"]))),
        &["layer_types has 1 entries"],
    );
    says(
        of(with(gemma3(), "layer_types", json!(vec!["chunked_attention"; 7]))),
        &["unsupported", "chunked_attention"],
    );
    says(
        of(with(llama(), "layer_types", json!(vec!["sliding_attention"; 2]))),
        &["unsupported", "sliding"],
    );
}

#[test]
fn a_multimodal_gemma_is_its_text_half() {
    let nested = json!({"model_type": "gemma3", "vision_config": {"x": 1}, "text_config": gemma3()});
    assert_eq!(of(nested).unwrap(), of(gemma3()).unwrap());
    let untied = json!({"model_type": "gemma3", "tie_word_embeddings": false, "text_config": gemma3()});
    assert!(!of(untied).unwrap().tied_output);
    says(of(json!({"model_type": "gemma3"})), &["text_config"]);
    let odd = json!({"model_type": "gemma3", "text_config": with(gemma3(), "attention_bias", true.into())});
    says(of(odd), &["unsupported", "text_config.attention_bias is true"]);
}

#[test]
fn what_no_engine_does_is_refused_by_name() {
    for (config, parts) in [
        (
            with(llama(), "attention_bias", true.into()),
            ["attention_bias", "true"],
        ),
        (with(llama(), "mlp_bias", true.into()), ["mlp_bias", "true"]),
        (
            with(gemma3(), "attn_logit_softcapping", 50.0.into()),
            ["attn_logit_softcapping", "50"],
        ),
        (
            with(gemma3(), "use_bidirectional_attention", true.into()),
            ["use_bidirectional_attention", "true"],
        ),
        (
            with(llama(), "partial_rotary_factor", 0.5.into()),
            ["partial_rotary_factor", "0.5"],
        ),
        (
            with(llama(), "rope_scaling", json!({"rope_type": "yarn", "factor": 4})),
            ["rope_scaling.rope_type", "yarn"],
        ),
        (
            with(llama(), "rope_scaling", json!({"type": "dynamic", "factor": 4})),
            ["rope_type", "dynamic"],
        ),
        (
            with(
                llama(),
                "rope_parameters",
                json!({"rope_theta": 1, "partial_rotary_factor": 0.25}),
            ),
            ["rope_parameters.partial_rotary_factor", "0.25"],
        ),
        (
            with(llama(), "quantization_config", json!({"bits": 4})),
            ["quantization_config", "GGUF"],
        ),
        (with(llama(), "hidden_act", "gelu".into()), ["hidden_act", "gelu"]),
        (
            with(llama(), "model_type", "mistral".into()),
            ["model_type", "mistral"],
        ),
        (
            with(llama(), "model_type", Value::Null),
            ["model_type", "missing"],
        ),
        (
            with(llama(), "sliding_window", 4096.into()),
            ["sliding_window", "4096"],
        ),
        (
            with(llama(), "num_local_experts", 8.into()),
            ["num_local_experts", "8"],
        ),
        (
            with(llama(), "rope_interleaved", true.into()),
            ["rope_interleaved", "true"],
        ),
    ] {
        let error = of(config).unwrap_err();
        assert!(matches!(error, ModelError::Unsupported(_)), "{error}");
        says::<()>(Err(error), &parts);
    }
    // Fields that leave the arithmetic alone, as published files carry them.
    let mut harmless = with(llama(), "attn_logit_softcapping", Value::Null);
    harmless["transformers.js_config"] = json!({"dtype": "q4"});
    harmless["pretraining_tp"] = 1.into();
    harmless["rope_interleaved"] = false.into();
    assert_eq!(of(harmless).unwrap(), of(llama()).unwrap());
    let capped = of(with(gemma3(), "final_logit_softcapping", 30.0.into())).unwrap();
    assert_eq!(capped.logit_softcap, Some(30.0));
}

#[test]
fn impossible_values_are_named() {
    for (field, value) in [
        ("num_hidden_layers", json!(0)),
        ("num_hidden_layers", json!(1_000_000_000_u64)),
        ("num_hidden_layers", json!(-1)),
        ("hidden_size", json!("8")),
        ("hidden_size", json!(1e300)),
        ("vocab_size", json!(u64::MAX)),
        ("num_key_value_heads", json!(3)),
        ("head_dim", json!(3)),
        ("rms_norm_eps", json!(-1e-5)),
        ("rope_theta", json!(0)),
        ("tie_word_embeddings", json!("yes")),
        ("max_position_embeddings", json!([])),
        ("rope_scaling", json!("linear")),
        ("layer_types", json!([1, 2])),
    ] {
        let error = of(with(llama(), field, value)).unwrap_err();
        assert!(matches!(error, ModelError::Corrupt { .. }), "{error}");
        says::<()>(Err(error), &[field]);
    }
    says(
        of(with(
            llama(),
            "rope_scaling",
            json!({"rope_type": "llama3", "factor": 8}),
        )),
        &["rope_scaling.low_freq_factor is missing"],
    );
    says(of(json!([])), &["not a JSON object"]);
}

/// A folder with every tensor of `config` at `prefix`, as float32 or bfloat16.
fn folder(config: &Value, prefix: &str, dtype: Dtype) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    std::fs::write(dir.path().join("tokenizer.json"), r#"{"added_tokens": []}"#).unwrap();
    write_weights(
        &dir.path().join("model.safetensors"),
        &tensors(config, prefix),
        dtype,
    );
    dir
}

type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

fn tensors(config: &Value, prefix: &str) -> Tensors {
    let description = described(config, TensorType::F32).unwrap();
    let mut tensors = Tensors::new();
    for (index, (weight, [rows, columns])) in weight_shapes(&description).into_iter().enumerate() {
        let name = source::canonical_name(&description, weight);
        let name = if weight == Weight::Output {
            name
        } else {
            format!("{prefix}{name}")
        };
        let shape = if rows == 1 {
            vec![columns]
        } else {
            vec![rows, columns]
        };
        let values = (0..rows * columns)
            .map(|at| index as f32 + (at % 64) as f32 / 64.0)
            .collect();
        tensors.insert(name, (shape, values));
    }
    tensors
}

fn write_weights(path: &Path, tensors: &Tensors, dtype: Dtype) {
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| {
            let bytes = match dtype {
                Dtype::BF16 => values
                    .iter()
                    .flat_map(|v| half::bf16::from_f32(*v).to_le_bytes())
                    .collect(),
                Dtype::F16 => values
                    .iter()
                    .flat_map(|v| half::f16::from_f32(*v).to_le_bytes())
                    .collect(),
                Dtype::I32 => values.iter().flat_map(|v| (*v as i32).to_le_bytes()).collect(),
                _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            };
            (name.clone(), shape.clone(), bytes)
        })
        .collect();
    let views = bytes
        .iter()
        .map(|(name, shape, bytes)| (name, TensorView::new(dtype, shape.clone(), bytes).unwrap()));
    serialize_to_file(views, None, path).unwrap();
}

fn open(dir: &tempfile::TempDir) -> Result<Checkpoint, ModelError> {
    Checkpoint::open_as(dir.path(), Some("tiny"), None)
}

#[test]
fn tensors_are_found_under_every_prefix() {
    for prefix in ["model.", "model.language_model.", "language_model.model.", ""] {
        let dir = folder(&llama(), prefix, Dtype::F32);
        let checkpoint = open(&dir).unwrap();
        let tensor = checkpoint
            .weights()
            .tensor(Weight::Layer(1, LayerWeight::FeedForwardNorm))
            .unwrap();
        assert_eq!(
            (tensor.shape, tensor.stored),
            ([1, 8], TensorType::F32),
            "{prefix}"
        );
        assert_eq!(tensor.values.len(), 8);
    }
}

#[test]
fn untied_outputs_and_gemma_norms_are_found() {
    let dir = folder(
        &with(llama(), "tie_word_embeddings", false.into()),
        "model.",
        Dtype::F32,
    );
    let checkpoint = open(&dir).unwrap();
    assert_eq!(
        checkpoint.weights().tensor(Weight::Output).unwrap().shape,
        [16, 8]
    );
    let mut small = gemma3();
    small["hidden_size"] = 8.into();
    small["head_dim"] = 4.into();
    let dir = folder(&small, "language_model.model.", Dtype::BF16);
    let checkpoint = open(&dir).unwrap();
    let stored = tensors(&small, "model.");
    for (part, name) in [
        (LayerWeight::PostAttentionNorm, "post_attention_layernorm"),
        (LayerWeight::FeedForwardNorm, "pre_feedforward_layernorm"),
        (LayerWeight::PostFeedForwardNorm, "post_feedforward_layernorm"),
        (LayerWeight::QueryNorm, "self_attn.q_norm"),
    ] {
        let tensor = checkpoint.weights().tensor(Weight::Layer(6, part)).unwrap();
        let rounded: Vec<f32> = stored[&format!("model.layers.6.{name}.weight")]
            .1
            .iter()
            .map(|value| half::bf16::from_f32(*value).to_f32())
            .collect();
        assert_eq!(tensor.values.as_ref(), rounded, "{name}");
    }
    // sqrt(8) in bfloat16.
    assert_eq!(checkpoint.description().embedding_scale, 2.828_125);
}

#[test]
fn half_precision_is_widened_and_other_types_refused() {
    let dir = folder(&llama(), "model.", Dtype::F16);
    let checkpoint = open(&dir).unwrap();
    let tensor = checkpoint.weights().tensor(Weight::FinalNorm).unwrap();
    assert_eq!(
        (tensor.stored, tensor.values[63 % 8]),
        (TensorType::F16, 1.0 + 7.0 / 64.0)
    );
    says(
        open(&folder(&llama(), "model.", Dtype::I32)),
        &["unsupported", "embed_tokens.weight", "I32"],
    );
}

#[test]
fn a_weight_file_cut_anywhere_is_refused() {
    let dir = folder(&llama(), "model.", Dtype::F32);
    let path = dir.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for len in (0..header + 2).chain([bytes.len() / 2, bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..len]).unwrap();
        let error = open(&dir).unwrap_err();
        assert!(matches!(error, ModelError::Corrupt { .. }), "{len}: {error}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    std::fs::write(&path, &longer).unwrap();
    says(open(&dir), &["damaged or cut short"]);
    let mut absurd = bytes;
    absurd[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&path, &absurd).unwrap();
    says(open(&dir), &["damaged or cut short"]);
}

#[test]
fn missing_misshapen_foreign_and_broken_tensors_are_refused() {
    let changed = |change: &dyn Fn(&mut Tensors)| {
        let dir = folder(&llama(), "model.", Dtype::F32);
        let mut all = tensors(&llama(), "model.");
        change(&mut all);
        write_weights(&dir.path().join("model.safetensors"), &all, Dtype::F32);
        open(&dir).map(|checkpoint| checkpoint.weights().clone())
    };
    let failure = |change: &dyn Fn(&mut Tensors)| match changed(change) {
        Ok(_) => panic!("opened without complaint"),
        Err(error) => error.to_string(),
    };
    let up = "model.layers.1.mlp.up_proj.weight";
    assert!(failure(&|all| drop(all.remove(up))).contains(&format!("{up} is missing")));
    let square = (vec![8, 8], vec![0.0; 64]);
    assert!(failure(&|all| drop(all.insert(up.into(), square.clone()))).contains("has shape [8, 8]"));
    let bias = "model.layers.0.self_attn.q_proj.bias";
    let foreign = failure(&|all| drop(all.insert(bias.into(), (vec![8], vec![0.0; 8]))));
    assert!(
        foreign.contains("unsupported") && foreign.contains(bias),
        "{foreign}"
    );
    // A tied copy of the output, stored rotary frequencies and a vision tower are no obstacle.
    let odd = |all: &mut Tensors| {
        all.insert("lm_head.weight".into(), (vec![16, 8], vec![0.0; 128]));
        all.insert(
            "model.layers.0.self_attn.rotary_emb.inv_freq".into(),
            (vec![2], vec![1.0; 2]),
        );
        all.insert("vision_tower.patch.weight".into(), (vec![2], vec![1.0; 2]));
    };
    assert!(changed(&odd).is_ok());
    let nan = |all: &mut Tensors| {
        all.insert("model.norm.weight".into(), (vec![8], vec![f32::NAN; 8]));
    };
    says(
        changed(&nan).unwrap().tensor(Weight::FinalNorm),
        &["model.norm.weight", "not finite"],
    );
}

#[test]
fn shards_are_read_and_checked() {
    let dir = folder(&llama(), "model.", Dtype::F32);
    let single = open(&dir).unwrap();
    let path = dir.path().join("model.safetensors");
    std::fs::remove_file(&path).unwrap();
    says(
        open(&dir),
        &["neither model.safetensors nor model.safetensors.index.json"],
    );
    let all = tensors(&llama(), "model.");
    let (mut first, mut second) = (all.clone(), all.clone());
    first.retain(|name, _| name.contains("layers.0"));
    second.retain(|name, _| !name.contains("layers.0"));
    write_weights(&dir.path().join("a.safetensors"), &first, Dtype::F32);
    write_weights(&dir.path().join("b.safetensors"), &second, Dtype::F32);
    let index = |entries: Value| {
        let text = json!({"metadata": {}, "weight_map": entries}).to_string();
        std::fs::write(dir.path().join("model.safetensors.index.json"), text).unwrap();
    };
    index(json!({"x": "a.safetensors", "y": "b.safetensors"}));
    let sharded = open(&dir).unwrap();
    for (weight, _) in weight_shapes(single.description()) {
        let (a, b) = (
            single.weights().tensor(weight).unwrap(),
            sharded.weights().tensor(weight).unwrap(),
        );
        assert_eq!(a.values, b.values, "{weight:?}");
    }
    assert_ne!(single.weights_hash(), sharded.weights_hash());
    for outside in [
        "../a.safetensors",
        "/etc/a.safetensors",
        ".a.safetensors",
        "a.bin",
        "",
        "b\\a.safetensors",
    ] {
        index(json!({"x": outside}));
        says(open(&dir), &["weight_map names"]);
    }
    index(json!({"x": "gone.safetensors"}));
    says(open(&dir), &["gone.safetensors"]);
    index(json!({}));
    says(open(&dir), &["weight_map is empty"]);
    std::fs::write(dir.path().join("model.safetensors.index.json"), "{").unwrap();
    says(open(&dir), &["not a shard index"]);
    write_weights(&dir.path().join("b.safetensors"), &all, Dtype::F32);
    index(json!({"x": "a.safetensors", "y": "b.safetensors"}));
    says(open(&dir), &["stands in two files"]);
}

#[test]
fn a_folder_needs_its_tokenizer_and_may_carry_a_card() {
    let dir = folder(&llama(), "model.", Dtype::F32);
    let card = json!({
        "name": "mine", "description": "d", "release_date": "2026-01-02", "license": "MIT",
        "prompt_form": "plain-letters", "readout": {"kind": "label"},
    });
    std::fs::write(dir.path().join("assize-card.json"), card.to_string()).unwrap();
    let checkpoint = open(&dir).unwrap();
    assert_eq!(
        (checkpoint.name(), checkpoint.card().prompt_form.name()),
        ("mine", "plain-letters")
    );
    std::fs::write(dir.path().join("assize-card.json"), "{}").unwrap();
    says(open(&dir), &["assize-card.json", "not a model card"]);
    std::fs::remove_file(dir.path().join("assize-card.json")).unwrap();
    assert_eq!(open(&dir).unwrap().name(), "tiny");
    std::fs::write(dir.path().join("tokenizer.json"), "no").unwrap();
    says(open(&dir), &["tokenizer.json"]);
    std::fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    says(open(&dir), &["tokenizer.json is missing"]);
}

/// The checked-in folders that the engines are compared on are sound.
#[test]
fn the_golden_folders_open() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    for name in [
        "tiny_llama",
        "tiny_llama3_rope",
        "tiny_qwen3",
        "tiny_qwen3_bf16_sharded",
        "tiny_gemma3",
        "gemma4_unified_tiny/checkpoint",
    ] {
        let checkpoint = Checkpoint::open_as(&golden.join(name), None, None).unwrap();
        for (weight, shape) in weight_shapes(checkpoint.description()) {
            assert_eq!(
                checkpoint.weights().tensor(weight).unwrap().shape,
                shape,
                "{name} {weight:?}"
            );
        }
    }
}
