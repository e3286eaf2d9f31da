//! Segments behind one state, several requests in one batch and sliding windows across segments: equal to separate passes.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use assize_models::engines::{self, Device, Engine, EngineOptions, Source};
use assize_models::{Backbone, Checkpoint, PackedBatch, Precision, TokenId};
use golden_values::{Loaded, alone, default_model, folder, gap, load, on_every_engine, push, rows_of, tiny};

on_every_engine!(
    questions_and_options_behind_one_state_equal_separate_passes,
    what_shares_a_batch_does_not_matter,
    the_same_question_twice_gets_the_same_numbers,
    siblings_are_invisible,
    the_default_model_answers_packed_questions_as_alone,
    bad_batches_are_refused_and_not_run,
    the_first_layers_answer_as_a_model_that_has_no_others,
    layers_that_a_model_does_not_have_are_refused,
);

/// Bound between two ways to compute the same hidden state in float32, over the row's root mean square.
const SAME: f32 = 1e-5;

const TINY: [&str; 4] = ["tiny_llama", "tiny_llama3_rope", "tiny_qwen3", "tiny_gemma3"];

/// `count` token ids below `vocabulary`, the same for the same `seed`: the generator of Knuth's MMIX.
fn ids(seed: u64, count: usize, vocabulary: usize) -> Vec<TokenId> {
    let mut state = seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % vocabulary as u64) as TokenId
        })
        .collect()
}

/// A state, questions behind it and option texts behind each question, against one pass per path.
///
/// Hidden states may be off by `bounds.0` of the row's RMS, probabilities by `bounds.1`.
fn tree_equals_paths(
    backbone: &dyn Backbone,
    state_len: usize,
    question_lens: &[usize],
    bounds: (f32, f32),
    name: &str,
) {
    let vocabulary = backbone.description().vocabulary;
    let state = ids(1, state_len, vocabulary);
    let mut batch = PackedBatch::new();
    let mut paths = vec![state.clone()];
    let root = push(&mut batch, None, &state);
    for (index, &len) in question_lens.iter().enumerate() {
        let question = ids(10 + index as u64, len, vocabulary);
        let parent = push(&mut batch, Some(root), &question);
        let path = [state.as_slice(), &question].concat();
        paths.push(path.clone());
        for option in 0..3 {
            let branch = ids(100 + option, 1 + 2 * option as usize, vocabulary);
            push(&mut batch, Some(parent), &branch);
            paths.push([path.as_slice(), &branch].concat());
        }
    }
    let hidden = backbone
        .forward(&batch)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(hidden.len(), paths.len());
    for (row, path) in rows_of(&hidden).iter().zip(&paths) {
        let wanted = alone(backbone, path);
        let off = gap(row, &wanted);
        assert!(
            off <= bounds.0,
            "{name}: a path of {} tokens is off by {off}",
            path.len()
        );
        let (found, wanted) = (probabilities(backbone, row), probabilities(backbone, &wanted));
        let off = found
            .iter()
            .zip(&wanted)
            .map(|(f, w)| (f - w).abs())
            .fold(0.0, f32::max);
        assert!(
            off <= bounds.1,
            "{name}: a probability of a path of {} tokens is off by {off}",
            path.len()
        );
    }
}

/// Softmax over forty tokens of the vocabulary.
fn probabilities(backbone: &dyn Backbone, hidden: &[f32]) -> Vec<f32> {
    let labels: Vec<TokenId> = (20..60).collect();
    let logits = backbone.logits_of(hidden, &labels).expect("logits");
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f32 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn questions_and_options_behind_one_state_equal_separate_passes(engine: Engine) {
    for name in TINY {
        let backbone = tiny(engine, name, Precision::Float32);
        // Around and beyond the window of 16, and a state shorter than a block of keys.
        for state in [1, 5, 15, 16, 17, 64, 130] {
            tree_equals_paths(backbone.as_ref(), state, &[1, 3, 16, 17, 40], (SAME, SAME), name);
        }
    }
}

fn what_shares_a_batch_does_not_matter(engine: Engine) {
    for name in TINY {
        let backbone = tiny(engine, name, Precision::Float32);
        let vocabulary = backbone.description().vocabulary;
        let requests: Vec<_> = [1, 200, 3, 64, 17, 128, 2]
            .iter()
            .enumerate()
            .map(|(i, &n)| ids(50 + i as u64, n, vocabulary))
            .collect();
        for turn in 0..requests.len() {
            let mut shuffled = requests.clone();
            shuffled.rotate_left(turn);
            let mut batch = PackedBatch::new();
            for request in &shuffled {
                push(&mut batch, None, request);
            }
            let hidden = backbone
                .forward(&batch)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            for (row, request) in rows_of(&hidden).iter().zip(&shuffled) {
                let off = gap(row, &alone(backbone.as_ref(), request));
                assert!(
                    off <= SAME,
                    "{name}: {} tokens in a batch are off by {off}",
                    request.len()
                );
            }
        }
    }
}

fn the_same_question_twice_gets_the_same_numbers(engine: Engine) {
    for name in TINY {
        let backbone = tiny(engine, name, Precision::Float32);
        let vocabulary = backbone.description().vocabulary;
        let mut batch = PackedBatch::new();
        let state = push(&mut batch, None, &ids(1, 40, vocabulary));
        let question = ids(2, 9, vocabulary);
        push(&mut batch, Some(state), &question);
        push(&mut batch, Some(state), &ids(3, 30, vocabulary));
        push(&mut batch, Some(state), &question);
        let hidden = backbone.forward(&batch).expect("a pass");
        let rows = rows_of(&hidden);
        let off = gap(rows[3], rows[1]);
        assert!(off <= SAME, "{name}: off by {off}");
        assert!(
            gap(rows[2], rows[1]) > 0.01,
            "{name}: another question gives other numbers"
        );
    }
}

/// The sibling of a question, and the request beside it, may hold anything.
fn siblings_are_invisible(engine: Engine) {
    for name in TINY {
        let backbone = tiny(engine, name, Precision::Float32);
        let vocabulary = backbone.description().vocabulary;
        let (state, question) = (ids(1, 20, vocabulary), ids(2, 12, vocabulary));
        let run = |seed: u64| {
            let mut batch = PackedBatch::new();
            push(&mut batch, None, &ids(seed, 33, vocabulary));
            let root = push(&mut batch, None, &state);
            push(&mut batch, Some(root), &ids(seed + 1, 12, vocabulary));
            push(&mut batch, Some(root), &question);
            let hidden = backbone.forward(&batch).expect("a pass");
            rows_of(&hidden)[3].to_vec()
        };
        let off = gap(&run(1000), &run(2000));
        assert!(off <= 1e-6, "{name}: a sibling moves the result by {off}");
    }
}

#[test]
fn int8_does_not_depend_on_the_batch() {
    for name in TINY {
        let backbone = tiny(Engine::Onnx, name, Precision::Int8);
        tree_equals_paths(backbone.as_ref(), 30, &[4, 20], (1e-3, 1e-3), name);
    }
}

fn the_default_model_answers_packed_questions_as_alone(engine: Engine) {
    let Some(checkpoint) = default_model("the_default_model_answers_packed_questions_as_alone") else {
        return;
    };
    let backbone = load(engine, &checkpoint, Precision::Float32);
    // Thirty layers of rounding leave float32 itself 3e-5 from float64; what is answered is within 1e-5.
    tree_equals_paths(
        backbone.as_ref(),
        200,
        &[48, 48, 7],
        (3e-5, SAME),
        "default model",
    );
    tree_equals_paths(backbone.as_ref(), 600, &[48], (3e-5, SAME), "default model");
}

fn bad_batches_are_refused_and_not_run(engine: Engine) {
    let backbone = tiny(engine, "tiny_llama", Precision::Float32);
    let description = backbone.description().clone();
    let refused = |tokens: &[TokenId]| {
        let mut batch = PackedBatch::new();
        push(&mut batch, None, tokens);
        backbone.forward(&batch).map(|hidden| hidden.len())
    };
    assert!(
        refused(&[description.vocabulary as TokenId]).is_err(),
        "a token beyond the vocabulary"
    );
    assert!(
        refused(&vec![1; description.context + 1]).is_err(),
        "a path beyond the context"
    );
    assert_eq!(
        refused(&vec![1; description.context]).ok(),
        Some(1),
        "a path of exactly the context"
    );
    let mut silent = PackedBatch::new();
    silent.push_segment(None, &[1]).expect("a segment");
    assert!(backbone.forward(&silent).is_err(), "a batch without reads");
    assert!(backbone.forward(&PackedBatch::new()).is_err(), "an empty batch");
    let width = description.hidden;
    assert!(
        backbone
            .logits_of(&vec![0.0; width], &[description.vocabulary as TokenId])
            .is_err()
    );
    assert!(
        backbone.logits_of(&vec![0.0; width - 1], &[0]).is_err(),
        "a hidden state of the wrong width"
    );
}

fn the_first_layers_answer_as_a_model_that_has_no_others(engine: Engine) {
    for (name, all) in [("tiny_llama", 2), ("tiny_qwen3", 3), ("tiny_gemma3", 4)] {
        let checkpoint = Checkpoint::open(&folder(name)).expect(name);
        let hidden = |backbone: &dyn Backbone| {
            let tokens = ids(3, 20, backbone.description().vocabulary);
            alone(backbone, &tokens)
        };
        let of = |layers: Option<usize>| {
            let loaded = Loaded::by(engine, Precision::Float32, |options| {
                let options = EngineOptions {
                    layers,
                    ..options.clone()
                };
                engines::load(&checkpoint, &options)
            });
            assert_eq!(loaded.description().layers.len(), layers.unwrap_or(all), "{name}");
            hidden(loaded.as_ref())
        };
        for layers in 1..all {
            let mut description = checkpoint.description().clone();
            description.layers.truncate(layers);
            let short = Source {
                description: &description,
                ..Source::from(&checkpoint)
            };
            let short = Loaded::by(engine, Precision::Float32, |options| {
                engines::load_source(short, options)
            });
            assert_eq!(
                of(Some(layers)),
                hidden(short.as_ref()),
                "{name}, {layers} layers"
            );
            assert_ne!(of(Some(layers)), of(None), "{name}, {layers} layers");
        }
        assert_eq!(of(Some(all)), of(None), "{name}");
    }
}

fn layers_that_a_model_does_not_have_are_refused(engine: Engine) {
    let checkpoint = Checkpoint::open(&folder("tiny_llama")).expect("tiny_llama");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    for layers in [0, 3, usize::MAX] {
        let options = EngineOptions {
            engine: Some(engine),
            device: Device::Cpu,
            precision: Some(Precision::Float32),
            threads: Some(1),
            layers: Some(layers),
            lowered_dir: scratch.path().to_path_buf(),
            library_dir: None,
        };
        let error = match engines::load(&checkpoint, &options) {
            Ok(_) => panic!("{layers} layers were loaded"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("it has 2, so use 1 to 2"), "{error}");
    }
}
