//! The default model against transformers on 40 prompts of 1 to 4096 tokens.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use assize_models::engines::Engine;
use assize_models::{HiddenStates, LayerWeight, Precision, Weight};
use golden_values::{Golden, alone, default_model, gap, load, on_every_engine};

on_every_engine!(float32_equals_transformers);

/// Bound of the float32 engine: largest difference over the row's root mean square.
const FLOAT32: f32 = 1e-3;

struct Expected {
    golden: Golden,
    prompts: Vec<(String, Vec<u32>)>,
    label_ids: Vec<u32>,
}

fn expected() -> Expected {
    let golden = Golden::open("smollm2");
    let (ids, offsets) = (golden.integers("ids"), golden.integers("offsets"));
    let named = golden.manifest["prompts"].as_array().expect("prompts");
    let prompts: Vec<_> = named
        .iter()
        .zip(offsets.windows(2))
        .map(|(prompt, at)| {
            let name = prompt["name"].as_str().expect("a name").to_owned();
            (name, ids[at[0] as usize..at[1] as usize].to_vec())
        })
        .collect();
    assert_eq!(prompts.len(), 40);
    let labels = golden.manifest["labels"].as_object().expect("labels");
    let label_ids = labels
        .values()
        .map(|id| id.as_u64().expect("an id") as u32)
        .collect();
    Expected {
        golden,
        prompts,
        label_ids,
    }
}

fn float32_equals_transformers(engine: Engine) {
    let Some(checkpoint) = default_model("float32_equals_transformers") else {
        return;
    };
    let Expected {
        golden,
        prompts,
        label_ids,
    } = expected();
    let backbone = load(engine, &checkpoint, Precision::Float32);
    let (hidden, labels) = (golden.rows("hidden"), golden.rows("label_logits"));
    let normalizers = golden.rows("log_normalizer").concat();
    let (top_ids, top_logits) = (golden.integers("top_ids"), golden.rows("top_logits"));
    let (mut worst_hidden, mut worst_labels) = (0.0f32, 0.0f32);
    for (index, (name, ids)) in prompts.iter().enumerate() {
        let found = alone(backbone.as_ref(), ids);
        let off = gap(&found, &hidden[index]);
        worst_hidden = worst_hidden.max(off);
        assert!(
            off <= FLOAT32,
            "{name} ({} tokens): hidden state off by {off}",
            ids.len()
        );

        let off = gap(
            &backbone.logits_of(&found, &label_ids).expect("label logits"),
            &labels[index],
        );
        worst_labels = worst_labels.max(off);
        assert!(
            off <= FLOAT32,
            "{name} ({} tokens): label logits off by {off}",
            ids.len()
        );

        let best = &top_ids[index * 5..index * 5 + 5];
        let off = gap(
            &backbone.logits_of(&found, best).expect("logits"),
            &top_logits[index],
        );
        assert!(
            off <= FLOAT32,
            "{name} ({} tokens): largest logits off by {off}",
            ids.len()
        );

        let states = HiddenStates::new(found.len(), found).expect("a row");
        let normalizer = backbone.log_normalizers(&states).expect("a log normalizer")[0];
        let off = (normalizer - normalizers[index]).abs();
        assert!(
            off <= FLOAT32 * normalizers[index].abs().max(1.0),
            "{name}: log normalizer off by {off}"
        );

        let all = backbone.logits(&states).expect("all logits");
        let winner = (0..all.len())
            .max_by(|a, b| all[*a].total_cmp(&all[*b]))
            .expect("a vocabulary");
        assert_eq!(winner as u32, best[0], "{name}: top token");
    }
    println!("largest difference over the RMS: hidden {worst_hidden:.1e}, label logits {worst_labels:.1e}");
}

/// int8 answers as float32 does: the default model's 4-bit weights are exact in it, inputs are rounded to 16 bits.
#[test]
fn int8_keeps_the_distribution_over_labels() {
    let Some(checkpoint) = default_model("int8_keeps_the_distribution_over_labels") else {
        return;
    };
    let Expected {
        golden,
        prompts,
        label_ids,
    } = expected();
    let backbone = load(Engine::Onnx, &checkpoint, Precision::Int8);
    let wanted = golden.rows("label_logits");
    let top_ids = golden.integers("top_ids");
    let (mut divergence, mut worst, mut same_top, mut moved) = (0.0, 0.0f64, 0, 0.0);
    let normalizers = golden.rows("log_normalizer").concat();
    for (index, (name, ids)) in prompts.iter().enumerate() {
        let found = alone(backbone.as_ref(), ids);
        let logits = backbone.logits_of(&found, &label_ids).expect("label logits");
        let kl = divergence_of(&wanted[index], &logits);
        assert!(kl.is_finite(), "{name}");
        divergence += kl / prompts.len() as f64;
        worst = worst.max(kl);
        let states = HiddenStates::new(found.len(), found).expect("a row");
        // A text readout adds up log-likelihoods of tokens that may be unlikely, which no divergence weighs.
        let normalizer = backbone.log_normalizers(&states).expect("a log normalizer")[0];
        let likelihoods = logits.iter().map(|logit| f64::from(logit - normalizer));
        let expected = wanted[index]
            .iter()
            .map(|logit| f64::from(logit - normalizers[index]));
        let difference: f64 = likelihoods
            .zip(expected)
            .map(|(found, wanted)| (found - wanted).abs())
            .sum();
        moved += difference / (label_ids.len() * prompts.len()) as f64;
        let all = backbone.logits(&states).expect("all logits");
        let winner = (0..all.len())
            .max_by(|a, b| all[*a].total_cmp(&all[*b]))
            .expect("a vocabulary");
        same_top += usize::from(winner as u32 == top_ids[index * 5]);
    }
    println!(
        "int8: mean KL over labels {divergence:.1e}, worst {worst:.1e}; same top token {same_top} of 40; \
         log-likelihoods of labels move by {moved:.5} nats on average"
    );
    assert!(moved < 2e-3, "log-likelihoods move by {moved} nats on average");
    assert!(divergence < 1e-6, "mean KL {divergence}");
    assert!(worst < 1e-5, "worst KL {worst}");
    assert!(same_top == 40, "same top token {same_top} of 40");
}

/// KL divergence of the softmax of `found` from that of `wanted`, in nats.
fn divergence_of(wanted: &[f32], found: &[f32]) -> f64 {
    let log_softmax = |logits: &[f32]| -> Vec<f64> {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&l| f64::from(l - largest).exp()).sum();
        logits
            .iter()
            .map(|&l| f64::from(l - largest) - sum.ln())
            .collect()
    };
    let (p, q) = (log_softmax(wanted), log_softmax(found));
    p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum()
}

#[test]
fn weights_are_dequantised_and_unpermuted() {
    let Some(checkpoint) = default_model("weights_are_dequantised_and_unpermuted") else {
        return;
    };
    let golden = Golden::open("smollm2");
    let layer = |index, weight| Weight::Layer(index, weight);
    for (name, weight, row) in [
        ("row_embedding_1234", Weight::Embedding, 1234),
        ("row_query_0_1", layer(0, LayerWeight::Query), 1),
        ("row_key_29_33", layer(29, LayerWeight::Key), 33),
        ("row_down_15_7", layer(15, LayerWeight::Down), 7),
        ("row_final_norm", Weight::FinalNorm, 0),
    ] {
        let tensor = checkpoint
            .weights()
            .tensor(weight)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let width = tensor.shape[1];
        let off = gap(
            &tensor.values[row * width..(row + 1) * width],
            &golden.rows(name).concat(),
        );
        assert!(off <= 1e-6, "{name}: off by {off}");
    }
}

#[test]
fn the_description_is_the_models() {
    let Some(checkpoint) = default_model("the_description_is_the_models") else {
        return;
    };
    let description = checkpoint.description();
    assert_eq!(
        (description.vocabulary, description.hidden, description.context),
        (49152, 576, 8192)
    );
    assert_eq!(description.layers.len(), 30);
    assert!(description.tied_output);
    let layer = &description.layers[0];
    assert_eq!(
        (layer.heads, layer.kv_heads, layer.head_dim, layer.intermediate),
        (9, 3, 64, 1536)
    );
    assert_eq!(checkpoint.weights_hash().len(), 64);
}
