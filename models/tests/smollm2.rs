//! The default model as shipped, against values of the reference packages. Skipped where it is not in the cache:
//! `assize model pull` puts it there.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use assize_models::store::Store;
use assize_models::{Checkpoint, DEFAULT_MODEL, LayerWeight, TensorType, Weight, weight_shapes};
use assize_preprocess::PromptTokenizer;
use flate2::read::GzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};

fn default_model() -> Option<Checkpoint> {
    let store = Store::open(None).unwrap();
    let cached = store
        .list()
        .unwrap()
        .iter()
        .any(|entry| entry.name == DEFAULT_MODEL);
    if !cached {
        println!("skipped: {DEFAULT_MODEL} is not in {}", store.root().display());
        return None;
    }
    Some(store.resolve(DEFAULT_MODEL).unwrap())
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(name)
}

#[derive(Deserialize)]
struct Golden {
    #[serde(rename = "type")]
    kind: String,
    shape: Vec<usize>,
    first: Vec<f64>,
    sha256: String,
}

fn name_of(weight: Weight) -> String {
    match weight {
        Weight::Embedding => "token_embd.weight".into(),
        Weight::FinalNorm => "output_norm.weight".into(),
        Weight::Output => panic!("the output is tied"),
        Weight::Media(part) => panic!("llama has no {part:?}"),
        Weight::Layer(layer, part) => {
            let part = match part {
                LayerWeight::InputNorm => "attn_norm",
                LayerWeight::Query => "attn_q",
                LayerWeight::Key => "attn_k",
                LayerWeight::Value => "attn_v",
                LayerWeight::AttentionOutput => "attn_output",
                LayerWeight::FeedForwardNorm => "ffn_norm",
                LayerWeight::Gate => "ffn_gate",
                LayerWeight::Up => "ffn_up",
                LayerWeight::Down => "ffn_down",
                other => panic!("llama has no {other:?}"),
            };
            format!("blk.{layer}.{part}.weight")
        }
    }
}

/// Every number of every tensor, bit for bit (`tests/golden/make_smollm2_weights.py`).
#[test]
fn all_weights_equal_the_reference() {
    let Some(checkpoint) = default_model() else { return };
    let golden: BTreeMap<String, Golden> =
        serde_json::from_slice(&std::fs::read(golden("smollm2_weights.json")).unwrap()).unwrap();
    let shapes = weight_shapes(checkpoint.description());
    assert_eq!(shapes.len(), golden.len());
    for (weight, shape) in shapes {
        let name = name_of(weight);
        let expected = &golden[&name];
        let tensor = checkpoint.weights().tensor(weight).unwrap();
        assert_eq!(tensor.shape, shape, "{name}");
        assert_eq!(
            tensor.shape.iter().product::<usize>(),
            expected.shape.iter().product::<usize>(),
            "{name}"
        );
        match tensor.stored {
            TensorType::F32 => assert_eq!(expected.kind, "F32", "{name}"),
            TensorType::Quantised(kind) => assert_eq!(expected.kind, kind, "{name}"),
            other => panic!("{name} is {other:?}"),
        }
        for (value, first) in tensor.values.iter().zip(&expected.first) {
            assert_eq!(*value, *first as f32, "{name}");
        }
        let bytes: Vec<u8> = tensor
            .values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        assert_eq!(hex::encode(Sha256::digest(&bytes)), expected.sha256, "{name}");
    }
}

#[derive(Deserialize)]
struct Tokens {
    text: String,
    ids: Vec<u32>,
}

/// The token ids of 1,000 texts (`tests/golden/make_smollm2_tokens.py`).
#[test]
fn the_tokenizer_gives_the_reference_ids() {
    let Some(checkpoint) = default_model() else { return };
    let tokenizer = PromptTokenizer::from_json(checkpoint.tokenizer_json()).unwrap();
    let mut lines = String::new();
    GzDecoder::new(std::fs::File::open(golden("smollm2/tokens.jsonl.gz")).unwrap())
        .read_to_string(&mut lines)
        .unwrap();
    let mut compared = 0;
    for line in lines.lines() {
        let Tokens { text, ids } = serde_json::from_str(line).unwrap();
        assert_eq!(tokenizer.encode_text(&text).unwrap(), ids, "{text:?}");
        compared += 1;
    }
    assert_eq!(compared, 1000);
}

#[test]
fn the_card_and_the_hashes_are_those_of_the_default_model() {
    let Some(checkpoint) = default_model() else { return };
    assert_eq!(checkpoint.name(), DEFAULT_MODEL);
    assert_eq!(
        checkpoint.weights_hash(),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    );
    let card = checkpoint.card();
    assert_eq!(
        (card.license.as_str(), card.name.as_str()),
        ("Apache-2.0", DEFAULT_MODEL)
    );
    let description = checkpoint.description();
    assert_eq!(
        (
            description.layers.len(),
            description.hidden,
            description.vocabulary
        ),
        (30, 576, 49_152)
    );
    assert_eq!(description.parameters(), 134_479_872);
    assert!(description.tied_output);
}
