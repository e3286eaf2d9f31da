//! Tiny random checkpoints of every architecture against transformers: hidden states and logits in float32.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use assize_models::engines::Engine;
use assize_models::{Checkpoint, PackedBatch, Precision};
use golden_values::{Golden, alone, folder, gap, on_every_engine, push, rows_of, tiny, token_ids};

on_every_engine!(
    llama_equals_transformers,
    llama_with_scaled_rotary_frequencies_equals_transformers,
    qwen3_equals_transformers,
    sharded_bfloat16_weights_equal_transformers,
    gemma3_equals_transformers,
);

/// Bound of the float32 engine: largest difference over the row's root mean square.
const FLOAT32: f32 = 1e-4;

fn check(engine: Engine, name: &str) {
    let golden = Golden::open(&format!("{name}/golden"));
    let backbone = tiny(engine, name, Precision::Float32);
    let (hidden, logits) = (golden.rows("hidden"), golden.rows("logits"));
    let prompts = golden.manifest["prompts"].as_array().expect("prompts");
    assert_eq!((prompts.len(), hidden.len(), logits.len()), (10, 10, 10));
    for ((prompt, wanted), logits) in prompts.iter().zip(&hidden).zip(&logits) {
        let ids = token_ids(&prompt["ids"]);
        let found = alone(backbone.as_ref(), &ids);
        let off = gap(&found, wanted);
        assert!(
            off <= FLOAT32,
            "{name} {}: hidden state off by {off}",
            prompt["name"]
        );
        let every: Vec<u32> = (0..logits.len() as u32).collect();
        let off = gap(&backbone.logits_of(&found, &every).expect("logits"), logits);
        assert!(off <= FLOAT32, "{name} {}: logits off by {off}", prompt["name"]);
        let states = assize_models::HiddenStates::new(found.len(), found).expect("a row");
        let off = gap(&backbone.logits(&states).expect("logits"), logits);
        assert!(
            off <= FLOAT32,
            "{name} {}: all logits off by {off}",
            prompt["name"]
        );
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&l| f64::from(l - largest).exp()).sum();
        let wanted = largest + sum.ln() as f32;
        let found = backbone.log_normalizers(&states).expect("log normalizers")[0];
        assert!(
            (found - wanted).abs() <= 1e-4 * wanted.abs().max(1.0),
            "{name}: {found} for {wanted}"
        );
    }
    check_every_position(engine, name, &golden);
}

/// Reads in the middle of a segment, in one pass and out of order.
fn check_every_position(engine: Engine, name: &str, golden: &Golden) {
    let backbone = tiny(engine, name, Precision::Float32);
    let wanted = golden.rows("hidden_all");
    let prompt = golden.manifest["prompts"]
        .as_array()
        .expect("prompts")
        .iter()
        .find(|prompt| prompt["name"] == golden.manifest["all_positions_prompt"])
        .expect("the prompt of hidden_all");
    let ids = token_ids(&prompt["ids"]);
    let mut batch = PackedBatch::new();
    let segment = batch.push_segment(None, &ids).expect("a segment");
    for position in (0..ids.len()).rev() {
        batch.read(segment, position).expect("a read");
    }
    let hidden = backbone.forward(&batch).expect("a pass");
    for (found, wanted) in rows_of(&hidden).iter().zip(wanted.iter().rev()) {
        let off = gap(found, wanted);
        assert!(off <= FLOAT32, "{name}: a read in the middle is off by {off}");
    }
}

fn llama_equals_transformers(engine: Engine) {
    check(engine, "tiny_llama");
}

fn llama_with_scaled_rotary_frequencies_equals_transformers(engine: Engine) {
    check(engine, "tiny_llama3_rope");
}

fn qwen3_equals_transformers(engine: Engine) {
    check(engine, "tiny_qwen3");
}

fn sharded_bfloat16_weights_equal_transformers(engine: Engine) {
    check(engine, "tiny_qwen3_bf16_sharded");
}

fn gemma3_equals_transformers(engine: Engine) {
    check(engine, "tiny_gemma3");
}

/// Checkpoints before transformers 5 spell Gemma 3's rotary bases and layer pattern in other keys.
#[test]
fn gemma3_older_config_is_the_same_model() {
    let wanted = Checkpoint::open(&folder("tiny_gemma3")).expect("tiny_gemma3");
    let copy = tempfile::tempdir().expect("a scratch folder");
    for entry in std::fs::read_dir(folder("tiny_gemma3")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            std::fs::copy(&path, copy.path().join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let path = copy.path().join("config.json");
    let text = std::fs::read_to_string(&path).expect("config.json");
    let mut config: serde_json::Value = serde_json::from_str(&text).expect("config.json is JSON");
    let fields = config.as_object_mut().expect("an object");
    for key in ["rope_parameters", "layer_types", "_sliding_window_pattern"] {
        assert!(fields.remove(key).is_some(), "{key} is in the new spelling");
    }
    fields.insert("sliding_window_pattern".into(), 2.into());
    fields.insert("rope_theta".into(), 1_000_000.0.into());
    fields.insert("rope_local_base_freq".into(), 10_000.0.into());
    fields.insert(
        "rope_scaling".into(),
        serde_json::json!({"rope_type": "linear", "factor": 8.0}),
    );
    std::fs::write(&path, config.to_string()).expect("config.json");
    let found = Checkpoint::open(copy.path()).expect("the older spelling");
    assert_eq!(found.description(), wanted.description());
}

/// int8 keeps a tiny model's direction: random weights are its worst case, so the bound is loose.
#[test]
fn int8_stays_near_float32() {
    for name in ["tiny_llama", "tiny_llama3_rope", "tiny_qwen3", "tiny_gemma3"] {
        let golden = Golden::open(&format!("{name}/golden"));
        let backbone = tiny(Engine::Onnx, name, Precision::Int8);
        let mut worst = 1.0f64;
        let prompts = golden.manifest["prompts"].as_array().expect("prompts");
        for (prompt, wanted) in prompts.iter().zip(golden.rows("hidden")) {
            let mut batch = PackedBatch::new();
            push(&mut batch, None, &token_ids(&prompt["ids"]));
            let hidden = backbone.forward(&batch).expect("a pass");
            worst = worst.min(cosine(hidden.values(), &wanted));
        }
        println!("{name}: smallest cosine of int8 and float32 hidden states {worst:.5}");
        assert!(worst > 0.999, "{name}: int8 hidden state at cosine {worst}");
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| {
        x.iter()
            .zip(y)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// ONNX Runtime knows operator domains by name for the whole process while a session is built.
#[test]
fn models_load_side_by_side() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    tiny(Engine::Onnx, "tiny_llama", Precision::Float32);
                }
            });
        }
    });
}
