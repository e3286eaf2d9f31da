//! A tiny random `gemma4_unified` checkpoint against transformers 5.24: from token ids, patches of pictures and frames of
//! sound to hidden states, under both rules of who sees whom within a picture.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod gemma4;
mod golden_values;

use assize_models::engines::{Engine, Source, load_source};
use assize_models::{
    Backbone, Checkpoint, DecoderDescription, HiddenStates, MaskStyle, Medium, PackedBatch, Part,
    PatchPosition, PatchValues, Picture, Precision, Sound,
};
use gemma4::{CASES, Case, Numbers, STYLES, checkpoint, golden};
use golden_values::{Loaded, load, on_every_engine, rows_of, tiny};

on_every_engine!(
    hidden_states_of_every_case_equal_transformers_in_both_mask_styles,
    every_layer_equals_transformers,
    a_sharded_bfloat16_state_dict_is_read,
    media_that_a_model_cannot_read_are_refused,
);

/// Largest absolute difference of a hidden state that the float32 engine may have.
const FLOAT32: f32 = 5e-5;

/// Hidden states at the kept positions of a case, in a pass of its own.
fn hidden(backbone: &dyn Backbone, case: &Case) -> HiddenStates {
    let mut batch = PackedBatch::new();
    let segment = batch.push_parts(None, &case.parts()).expect("a segment");
    for position in &case.kept {
        batch.read(segment, *position).expect("a read");
    }
    backbone
        .forward(&batch)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn furthest(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    let distance = |(found, wanted): (&f32, &f32)| (found - wanted).abs();
    // NaN must not be lost, as `f32::max` would lose it.
    assert!(found.iter().all(|value| value.is_finite()));
    found.iter().zip(wanted).map(distance).fold(0.0, f32::max)
}

/// Softmax over the first `count` slots of the golden head.
fn head_probabilities(hidden: &[f32], count: usize) -> Vec<f32> {
    let head = Numbers::open(&golden("head.safetensors"));
    let (mu, sd) = (head.floats("mu"), head.floats("sd"));
    let (weight, bias) = (head.floats("weight"), head.floats("bias"));
    let logits: Vec<f64> = (0..count)
        .map(|slot| {
            let row = &weight[slot * hidden.len()..][..hidden.len()];
            let terms = hidden.iter().zip(&mu).zip(&sd).zip(row);
            let sum: f64 = terms
                .map(|(((h, mu), sd), w)| f64::from((h - mu) / sd) * f64::from(*w))
                .sum();
            sum + f64::from(bias[slot])
        })
        .collect();
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| (weight / total) as f32).collect()
}

fn hidden_states_of_every_case_equal_transformers_in_both_mask_styles(engine: Engine) {
    for style in STYLES {
        let backbone = load(engine, &checkpoint().with_mask_style(style), Precision::Float32);
        for name in CASES {
            let case = Case::open(name);
            let found = hidden(backbone.as_ref(), &case);
            let off = furthest(found.values(), &case.hidden(style));
            println!("{name} {style}: off by {off:.1e}");
            assert!(off <= FLOAT32, "{name} {style}: off by {off}");
            let rows = rows_of(&found);
            let last = rows.last().expect("a row");
            for count in [4, 256] {
                let wanted = case.at_last(style, &format!("head_probs_{count}.post_norm"));
                let off = furthest(&head_probabilities(last, count), &wanted);
                assert!(off <= 1e-5, "{name} {style}: a probability is off by {off}");
            }
            let every: Vec<u32> = (0..backbone.description().vocabulary as u32).collect();
            let logits = backbone.logits_of(last, &every).expect("logits");
            let off = furthest(&logits, &case.at_last(style, "logits_at_last"));
            assert!(off <= 1e-4, "{name} {style}: a logit is off by {off}");
        }
    }
}

/// The two rules differ, so that a pass under the wrong one cannot go unnoticed.
#[test]
fn the_mask_styles_differ_where_there_is_a_picture() {
    for name in CASES {
        let case = Case::open(name);
        let off = furthest(&case.hidden(MaskStyle::Direct), &case.hidden(MaskStyle::Local));
        assert_eq!(off > 0.1, case.has_pictures(), "{name}: {off}");
    }
}

/// The first layers of the tiny model, whose output then passes its final norm.
fn first_layers(engine: Engine, checkpoint: &Checkpoint, count: usize) -> Loaded {
    let mut description = checkpoint.description().clone();
    description.layers.truncate(count);
    let mut source = Source::from(checkpoint);
    source.description = &description;
    Loaded::by(engine, Precision::Float32, |options| load_source(source, options))
}

fn every_layer_equals_transformers(engine: Engine) {
    for style in STYLES {
        let checkpoint = checkpoint().with_mask_style(style);
        let norm = checkpoint
            .weights()
            .tensor(assize_models::Weight::FinalNorm)
            .expect("the final norm")
            .values
            .into_owned();
        let layers = checkpoint.description().layers.len();
        for count in 1..=layers {
            let backbone = first_layers(engine, &checkpoint, count);
            for name in ["text_short", "text_long", "image_70", "audio"] {
                let case = Case::open(name);
                let outputs = case.layer_outputs(style);
                let per_layer = outputs.len() / layers;
                let wanted: Vec<f32> = outputs[(count - 1) * per_layer..count * per_layer]
                    .chunks_exact(norm.len())
                    .flat_map(|row| {
                        let square: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
                        let factor = 1.0 / (square / row.len() as f64 + 1e-6).sqrt();
                        row.iter()
                            .zip(&norm)
                            .map(move |(x, w)| (f64::from(*x) * factor * f64::from(*w)) as f32)
                    })
                    .collect();
                let off = furthest(hidden(backbone.as_ref(), &case).values(), &wanted);
                assert!(off <= FLOAT32, "{name} {style} layer {count}: off by {off}");
            }
        }
    }
}

#[test]
fn rotary_frequencies_equal_transformers() {
    let rope = Numbers::open(&golden("rope.safetensors"));
    let positions = rope.integers("positions");
    for layer in &checkpoint().description().layers {
        let kind = if layer.window.is_some() {
            "sliding_attention"
        } else {
            "full_attention"
        };
        let wanted = rope.floats(&format!("{kind}.inv_freq"));
        let found = &layer.rope.inverse_frequencies;
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(
                (found - wanted).abs() <= 6e-8 * wanted,
                "{kind}: {found} for {wanted}"
            );
        }
        let (cos, sin) = (
            rope.floats(&format!("{kind}.cos")),
            rope.floats(&format!("{kind}.sin")),
        );
        for (row, position) in positions.iter().enumerate() {
            for column in 0..layer.head_dim {
                let angle = f64::from(*position as f32 * found[column % found.len()]);
                let place = row * layer.head_dim + column;
                let off = (angle.cos() as f32 - cos[place])
                    .abs()
                    .max((angle.sin() as f32 - sin[place]).abs());
                // One unit in the last place of a frequency is 2e-5 at the last of these positions.
                assert!(off <= 3e-5, "{kind} at {position}: off by {off}");
            }
        }
    }
}

/// A copy of the tiny checkpoint with another `config.json` or other weight files.
fn copy_of_checkpoint() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a scratch folder");
    for entry in std::fs::read_dir(gemma4::folder().join("checkpoint")).expect("the folder") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, copy.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    copy
}

#[test]
fn both_spellings_of_the_configuration_are_the_same_model() {
    let copy = copy_of_checkpoint();
    let hub = copy.path().join("config_hub_style.json");
    std::fs::rename(hub, copy.path().join("config.json")).expect("config.json");
    let found = Checkpoint::open(copy.path()).expect("the published spelling");
    assert_eq!(found.description(), checkpoint().description());
}

/// Names of a plain state dict, two shards, bfloat16: another file, the same model but for rounding.
fn a_sharded_bfloat16_state_dict_is_read(engine: Engine) {
    let copy = copy_of_checkpoint();
    let single = copy.path().join("model.safetensors");
    let numbers = Numbers::open(&single);
    std::fs::remove_file(&single).expect("the single file");
    let mut shards = [Vec::new(), Vec::new()];
    let mut map = serde_json::Map::new();
    for (index, name) in numbers.names().into_iter().enumerate() {
        let bytes: Vec<u8> = numbers
            .floats(&name)
            .into_iter()
            .flat_map(|value| half::bf16::from_f32(value).to_le_bytes())
            .collect();
        let (shape, shard) = (numbers.shape(&name), index % 2);
        let name = name
            .replace("model.vision_embedder.", "model.embed_vision.")
            .replace(
                "model.embed_vision.embedding_projection",
                "model.embed_vision.multimodal_embedder.embedding_projection",
            );
        map.insert(name.clone(), format!("part-{shard}.safetensors").into());
        shards[shard].push((name, shape, bytes));
    }
    for (shard, tensors) in shards.iter().enumerate() {
        let views = tensors.iter().map(|(name, shape, bytes)| {
            let view = safetensors::tensor::TensorView::new(safetensors::Dtype::BF16, shape.clone(), bytes);
            (name, view.expect("a tensor"))
        });
        let path = copy.path().join(format!("part-{shard}.safetensors"));
        safetensors::serialize_to_file(views, None, &path).expect("a shard");
    }
    let index = serde_json::json!({"weight_map": map}).to_string();
    std::fs::write(copy.path().join("model.safetensors.index.json"), index).expect("the index");
    let checkpoint = Checkpoint::open(copy.path()).unwrap_or_else(|error| panic!("{error}"));
    // sqrt(72) = 8.485 in bfloat16.
    assert_eq!(checkpoint.description().embedding_scale, 8.5);
    let backbone = load(engine, &checkpoint, Precision::Float32);
    for name in ["text_short", "image_70", "audio", "mixed"] {
        let case = Case::open(name);
        let found = hidden(backbone.as_ref(), &case);
        let found = *rows_of(&found).last().expect("a row");
        let wanted = case.at_last(MaskStyle::Direct, "bf16.last_hidden_state_at_last");
        let square = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
        let off = square(&mut found.iter().zip(&wanted).map(|(a, b)| a - b));
        let off = off / square(&mut wanted.iter().copied());
        println!("{name}: bfloat16 weights off by {off:.4} of the bfloat16 reference");
        assert!(off < 0.05, "{name}: off by {off}");
    }
}

/// Random weights with large layer factors are the worst case of int8: its effect is bounded, not judged.
#[test]
fn int8_stays_near_float32() {
    let int8 = load(Engine::Onnx, &checkpoint(), Precision::Int8);
    let exact = load(Engine::Onnx, &checkpoint(), Precision::Float32);
    for name in CASES {
        let case = Case::open(name);
        let (found, wanted) = (hidden(int8.as_ref(), &case), hidden(exact.as_ref(), &case));
        let (found, wanted) = (rows_of(&found), rows_of(&wanted));
        let (found, wanted) = (found.last().expect("a row"), wanted.last().expect("a row"));
        let divergence: f64 = head_probabilities(wanted, 256)
            .iter()
            .zip(head_probabilities(found, 256))
            .map(|(p, q)| f64::from(*p) * (f64::from(*p) / f64::from(q)).ln())
            .sum();
        let off = furthest(found, wanted);
        println!("{name}: int8 hidden state off by {off:.4}, KL of 256 options {divergence:.5}");
        assert!(divergence < INT8_KL, "{name}: KL {divergence}");
    }
}

/// Bound on the divergence of the 256 options' probabilities.
const INT8_KL: f64 = 0.005;

fn text_model_and(part: Part<'_>, backbone: &dyn Backbone) -> String {
    let mut batch = PackedBatch::new();
    let segment = batch
        .push_parts(None, &[Part::Tokens(&[1, 2]), part])
        .expect("a segment");
    batch.read_last(segment).expect("a read");
    match backbone.forward(&batch) {
        Ok(_) => panic!("ran without complaint"),
        Err(error) => error.to_string(),
    }
}

fn picture(width: usize, x: u32) -> Part<'static> {
    let positions = vec![PatchPosition { x, y: 0 }];
    let picture = Picture::new(PatchValues::Floats(vec![0.5; width]), positions).expect("a picture");
    Part::Medium {
        placeholder: 3,
        medium: std::sync::Arc::new(Medium::Picture(picture)),
    }
}

fn sound(frame: usize) -> Part<'static> {
    let sound = Sound::new(vec![0.5; frame], frame).expect("sound");
    Part::Medium {
        placeholder: 3,
        medium: std::sync::Arc::new(Medium::Sound(sound)),
    }
}

fn media_that_a_model_cannot_read_are_refused(engine: Engine) {
    let text = tiny(engine, "tiny_llama", Precision::Float32);
    let refused = text_model_and(picture(6912, 0), text.as_ref());
    assert!(
        refused.contains("a picture") && refused.contains("reads none"),
        "{refused}"
    );
    let refused = text_model_and(sound(640), text.as_ref());
    assert!(refused.contains("sound"), "{refused}");
    let media = load(engine, &checkpoint(), Precision::Float32);
    let refused = text_model_and(picture(6911, 0), media.as_ref());
    assert!(
        refused.contains("6911") && refused.contains("6912") && refused.contains("48 by 48"),
        "{refused}"
    );
    let refused = text_model_and(picture(6912, 1120), media.as_ref());
    assert!(refused.contains("column 1120"), "{refused}");
    let refused = text_model_and(sound(320), media.as_ref());
    assert!(refused.contains("320") && refused.contains("640"), "{refused}");
}

#[test]
fn the_description_is_the_configuration() {
    let checkpoint = checkpoint();
    let description: &DecoderDescription = checkpoint.description();
    let media = description.media.as_ref().expect("media");
    assert_eq!((media.tokens.image, media.tokens.end_audio), (502, 506));
    assert_eq!(media.mask_style, MaskStyle::Direct);
    let sizes: Vec<_> = description
        .layers
        .iter()
        .map(|layer| {
            (
                layer.head_dim,
                layer.kv_heads,
                layer.window,
                layer.shared_key_value,
            )
        })
        .collect();
    let (sliding, full) = ((16, 2, Some(128), false), (32, 1, None, true));
    assert_eq!(sizes, [sliding, sliding, full, sliding, sliding, full]);
    // Every number of the file but norms and layer factors, which are no matrices.
    let file = Numbers::open(&gemma4::folder().join("checkpoint/model.safetensors"));
    let all: usize = file
        .names()
        .iter()
        .filter(|name| !name.contains("language_model") || file.shape(name).len() == 2)
        .map(|name| file.shape(name).iter().product::<usize>())
        .sum();
    assert_eq!(description.parameters(), all as u64);
}
