//! Small files made here, sound and damaged in every way that could be thought of.

use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::{Checkpoint, LayerWeight, TensorType, Weight};

/// Name, dimensions, type id and bytes.
type TensorParts = (String, Vec<u64>, u32, Vec<u8>);

/// A GGUF file in the making.
#[derive(Clone)]
pub(crate) struct GgufBuilder {
    pairs: Vec<(String, Vec<u8>)>,
    tensors: Vec<TensorParts>,
}

const HIDDEN: usize = 32;
const HEADS: usize = 2;
const VOCABULARY: usize = 8;

fn text(value: &str) -> Vec<u8> {
    let mut bytes = (value.len() as u64).to_le_bytes().to_vec();
    bytes.extend(value.as_bytes());
    bytes
}

fn tagged(kind: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(value);
    bytes
}

fn texts(values: &[&str]) -> Vec<u8> {
    let mut bytes = tagged(8, &(values.len() as u64).to_le_bytes());
    values.iter().for_each(|value| bytes.extend(text(value)));
    tagged(9, &bytes)
}

fn integers(values: &[i32]) -> Vec<u8> {
    let mut bytes = tagged(5, &(values.len() as u64).to_le_bytes());
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    tagged(9, &bytes)
}

/// Distinct numbers that say where they stand.
fn counted(rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns)
        .map(|index| (index / columns) as f32 + (index % columns) as f32 / 64.0)
        .collect()
}

fn single_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl GgufBuilder {
    /// One llama layer: width 32, two query heads on one key head, a vocabulary of eight.
    pub(crate) fn llama() -> Self {
        let mut builder = Self {
            pairs: Vec::new(),
            tensors: Vec::new(),
        };
        builder.set("general.architecture", tagged(8, &text("llama")));
        for (key, value) in [
            ("llama.block_count", 1),
            ("llama.context_length", 64),
            ("llama.embedding_length", HIDDEN as u32),
            ("llama.feed_forward_length", 32),
            ("llama.attention.head_count", HEADS as u32),
            ("llama.attention.head_count_kv", 1),
        ] {
            builder.set(key, tagged(4, &value.to_le_bytes()));
        }
        builder.set(
            "llama.attention.layer_norm_rms_epsilon",
            tagged(6, &1e-5_f32.to_le_bytes()),
        );
        builder.set("tokenizer.ggml.model", tagged(8, &text("gpt2")));
        builder.set("tokenizer.ggml.pre", tagged(8, &text("smollm")));
        builder.set(
            "tokenizer.ggml.tokens",
            texts(&["<|end|>", "a", "b", "ab", "1", "\u{120}", "\u{120}a", "<u>"]),
        );
        builder.set("tokenizer.ggml.token_type", integers(&[3, 1, 1, 1, 1, 1, 1, 4]));
        builder.set("tokenizer.ggml.merges", texts(&["a b", "\u{120} a"]));
        builder.add("token_embd.weight", VOCABULARY, HIDDEN);
        builder.add("output_norm.weight", 1, HIDDEN);
        for (part, rows, columns) in [
            ("attn_norm", 1, HIDDEN),
            ("attn_q", HIDDEN, HIDDEN),
            ("attn_k", HIDDEN / HEADS, HIDDEN),
            ("attn_v", HIDDEN / HEADS, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN),
            ("ffn_norm", 1, HIDDEN),
            ("ffn_gate", 32, HIDDEN),
            ("ffn_up", 32, HIDDEN),
            ("ffn_down", HIDDEN, 32),
        ] {
            builder.add(&format!("blk.0.{part}.weight"), rows, columns);
        }
        builder
    }

    fn add(&mut self, name: &str, rows: usize, columns: usize) {
        let dimensions = if rows == 1 {
            vec![columns as u64]
        } else {
            vec![columns as u64, rows as u64]
        };
        self.tensors.push((
            name.to_owned(),
            dimensions,
            0,
            single_bytes(&counted(rows, columns)),
        ));
    }

    fn set(&mut self, key: &str, value: Vec<u8>) -> &mut Self {
        match self.pairs.iter_mut().find(|(found, _)| found == key) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((key.to_owned(), value)),
        }
        self
    }

    fn unset(&mut self, key: &str) -> &mut Self {
        self.pairs.retain(|(found, _)| found != key);
        self
    }

    fn tensor(&mut self, name: &str) -> &mut TensorParts {
        self.tensors.iter_mut().find(|tensor| tensor.0 == name).unwrap()
    }

    fn header_with_counts(&self, tensors: u64, pairs: u64) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(pairs.to_le_bytes());
        for (key, value) in &self.pairs {
            bytes.extend(text(key));
            bytes.extend(value);
        }
        let mut offset = 0_u64;
        for (name, dimensions, kind, data) in &self.tensors {
            bytes.extend(text(name));
            bytes.extend((dimensions.len() as u32).to_le_bytes());
            dimensions
                .iter()
                .for_each(|dimension| bytes.extend(dimension.to_le_bytes()));
            bytes.extend(kind.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            offset += (data.len() as u64).next_multiple_of(32);
        }
        bytes
    }

    /// The file's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header_with_counts(self.tensors.len() as u64, self.pairs.len() as u64);
        for (_, _, _, data) in &self.tensors {
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            bytes.extend(data);
        }
        bytes
    }

    fn open(&self) -> Result<Checkpoint, ModelError> {
        open(&self.bytes())
    }
}

fn open(bytes: &[u8]) -> Result<Checkpoint, ModelError> {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("Tiny.Q8_0.gguf");
    std::fs::write(&path, bytes).unwrap();
    Checkpoint::open_as(&path, None, None)
}

/// What is said of a header that must not be read.
fn refusal(bytes: &[u8]) -> String {
    match read_header(bytes) {
        Ok(_) => panic!("read without complaint"),
        Err(HeaderError::Corrupt(reason)) => format!("corrupt: {reason}"),
        Err(HeaderError::Unsupported(what)) => format!("unsupported: {what}"),
    }
}

fn says<T: std::fmt::Debug>(result: Result<T, ModelError>, parts: &[&str]) {
    let error = result.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

#[test]
fn a_sound_file_is_read() {
    let checkpoint = GgufBuilder::llama().open().unwrap();
    assert_eq!(checkpoint.name(), "tiny");
    let description = checkpoint.description();
    assert_eq!(
        (description.vocabulary, description.hidden, description.context),
        (8, 32, 64)
    );
    assert!(description.tied_output);
    let layer = &description.layers[0];
    assert_eq!(
        (layer.heads, layer.kv_heads, layer.head_dim, layer.attention_scale),
        (2, 1, 16, 0.25)
    );
    assert_eq!(layer.rope.inverse_frequencies.len(), 8);
    let tensor = checkpoint
        .weights()
        .tensor(Weight::Layer(0, LayerWeight::Down))
        .unwrap();
    assert_eq!((tensor.shape, tensor.stored), ([32, 32], TensorType::F32));
    assert_eq!(tensor.values.as_ref(), counted(32, 32));
    assert!(
        matches!(tensor.values, std::borrow::Cow::Borrowed(_)),
        "float32 is mapped, not copied"
    );
    assert_eq!(checkpoint.weights_hash().len(), 64);
    assert!(checkpoint.weights().tensor(Weight::Output).is_err());
}

#[test]
fn rotary_rows_come_back_in_half_layout() {
    let checkpoint = GgufBuilder::llama().open().unwrap();
    for (part, heads) in [(LayerWeight::Query, 2), (LayerWeight::Key, 1)] {
        let tensor = checkpoint.weights().tensor(Weight::Layer(0, part)).unwrap();
        // The converter's view of one head: [2, half] transposed to [half, 2].
        let stored_rows: Vec<f32> = tensor.values.chunks(HIDDEN).map(|row| row[0]).collect();
        for head in 0..heads {
            for half in 0..2 {
                for j in 0..8 {
                    let restored = head * 16 + half * 8 + j;
                    assert_eq!(stored_rows[restored], (head * 16 + 2 * j + half) as f32);
                }
            }
        }
    }
    let value = checkpoint
        .weights()
        .tensor(Weight::Layer(0, LayerWeight::Value))
        .unwrap();
    assert_eq!(
        value.values.as_ref(),
        counted(16, HIDDEN),
        "other tensors keep their order"
    );
}

#[test]
fn qwen3_rows_are_not_interleaved() {
    let mut builder = GgufBuilder::llama();
    for pair in &mut builder.pairs {
        pair.0 = pair.0.replace("llama.", "qwen3.");
    }
    builder.set("general.architecture", tagged(8, &text("qwen3")));
    builder.add("blk.0.attn_q_norm.weight", 1, 16);
    builder.add("blk.0.attn_k_norm.weight", 1, 16);
    let checkpoint = builder.open().unwrap();
    assert!(checkpoint.description().layers[0].qk_norm);
    let query = checkpoint
        .weights()
        .tensor(Weight::Layer(0, LayerWeight::Query))
        .unwrap();
    assert_eq!(query.values.as_ref(), counted(32, HIDDEN));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = GgufBuilder::llama().bytes();
    for len in 0..bytes.len() {
        let reason = refusal(&bytes[..len]);
        assert!(reason.starts_with("corrupt: "), "{len}: {reason}");
    }
    assert!(read_header(&bytes).is_ok());
    says(
        open(&bytes[..bytes.len() - 1]),
        &["cut short", "tensor", "fetch the file again"],
    );
    says(open(b""), &["the file is empty"]);
}

#[test]
fn a_changed_byte_never_panics() {
    let builder = GgufBuilder::llama();
    let bytes = builder.bytes();
    let header = builder.header_with_counts(0, 0).len();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    for at in 0..header {
        for value in [0, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if read_header(&changed).is_ok() {
                std::fs::write(&path, &changed).unwrap();
                let _ = Checkpoint::open_as(&path, None, None);
            }
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    let mut bytes = GgufBuilder::llama().bytes();
    bytes[..4].copy_from_slice(b"PK\x03\x04");
    assert!(refusal(&bytes).contains("not a GGUF file"));
    bytes[..4].copy_from_slice(b"GGUF");
    bytes[4..8].copy_from_slice(&3_u32.to_be_bytes());
    assert!(refusal(&bytes).contains("unsupported: a big-endian"));
    for version in [0_u32, 1, 4] {
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        assert!(refusal(&bytes).contains("unsupported: GGUF version"), "{version}");
    }
}

#[test]
fn absurd_counts_are_refused_before_anything_is_allocated() {
    let builder = GgufBuilder::llama();
    for count in [u64::MAX, 1 << 40, (1 << 16) + 1] {
        assert!(refusal(&builder.header_with_counts(count, 0)).contains("tensors"));
        assert!(refusal(&builder.header_with_counts(0, count)).contains("keys"));
    }
    let with = |value: Vec<u8>| refusal(&builder.clone().set("k", value).bytes());
    for kind in [0_u32, 5, 8, 9, 12] {
        let claim = [kind.to_le_bytes().as_slice(), &u64::MAX.to_le_bytes()].concat();
        let reason = with(tagged(9, &claim));
        assert!(
            reason.contains("claims") || reason.contains("cut short"),
            "{kind}: {reason}"
        );
    }
    assert!(with(tagged(8, &u64::MAX.to_le_bytes())).contains("cut short"));
    assert!(with(tagged(99, &[])).contains("unknown value type 99"));
    assert!(with(tagged(7, &[2])).contains("a bool is 0 or 1"));
    assert!(with(tagged(8, &[&1_u64.to_le_bytes()[..], &[0xff]].concat())).contains("not UTF-8"));
    let mut nested = tagged(4, &0_u64.to_le_bytes());
    for _ in 0..10 {
        nested = tagged(9, &[&1_u64.to_le_bytes()[..], &nested].concat());
    }
    assert!(with(tagged(9, &nested)).contains("deeper"));
}

#[test]
fn impossible_tensors_are_refused() {
    let with = |change: &dyn Fn(&mut TensorParts)| {
        let mut builder = GgufBuilder::llama();
        change(builder.tensor("blk.0.ffn_up.weight"));
        refusal(&builder.bytes())
    };
    assert!(with(&|tensor| tensor.1 = vec![]).contains("0 dimensions"));
    assert!(with(&|tensor| tensor.1 = vec![1; 5]).contains("5 dimensions"));
    assert!(with(&|tensor| tensor.1 = vec![32, 0]).contains("impossible shape"));
    assert!(with(&|tensor| tensor.1 = vec![u64::MAX, u64::MAX]).contains("impossible shape"));
    assert!(with(&|tensor| tensor.1 = vec![1 << 62, 4]).contains("impossible shape"));
    assert!(with(&|tensor| tensor.1 = vec![32, 1 << 50]).contains("cut short"));
    assert!(
        with(&|tensor| tensor.2 = 11).contains("unsupported: tensor blk.0.ffn_up.weight is stored as Q3_K")
    );
    assert!(with(&|tensor| tensor.2 = u32::MAX).contains("an unknown type"));
    assert!(with(&|tensor| tensor.2 = 12).contains("blocks of 256"));
    assert!(with(&|tensor| tensor.0 = "output_norm.weight".into()).contains("twice"));
    assert!(with(&|tensor| tensor.0 = String::new()).contains("name of tensor"));
    let mut builder = GgufBuilder::llama();
    builder.pairs.push(builder.pairs[0].clone());
    assert!(refusal(&builder.bytes()).contains("general.architecture stands twice"));
    let aligned = |value: u32| {
        refusal(
            &GgufBuilder::llama()
                .set("general.alignment", tagged(4, &value.to_le_bytes()))
                .bytes(),
        )
    };
    assert!(aligned(0).contains("general.alignment"));
    assert!(aligned(24).contains("general.alignment"));
}

#[test]
fn the_description_is_checked_against_the_tensors() {
    let changed = |change: &dyn Fn(&mut GgufBuilder)| {
        let mut builder = GgufBuilder::llama();
        change(&mut builder);
        builder.open()
    };
    let number = |value: u32| tagged(4, &value.to_le_bytes());
    says(
        changed(&|builder| builder.tensors.retain(|tensor| !tensor.0.contains("ffn_up"))),
        &["blk.0.ffn_up.weight is missing"],
    );
    says(
        changed(&|builder| builder.add("blk.0.attn_q.bias", 1, 32)),
        &["unsupported", "blk.0.attn_q.bias has no place"],
    );
    says(
        changed(&|builder| {
            builder.set("llama.feed_forward_length", number(64));
        }),
        &["ffn_", "has shape [32, 32]", "[64, 32]"],
    );
    for (key, value) in [
        ("llama.block_count", u32::MAX),
        ("llama.block_count", 0),
        ("llama.embedding_length", u32::MAX),
        ("llama.attention.head_count", 0),
        ("llama.attention.head_count_kv", 3),
    ] {
        assert!(
            changed(&|builder| {
                builder.set(key, number(value));
            })
            .is_err(),
            "{key} {value}"
        );
    }
    for key in [
        "llama.block_count",
        "llama.context_length",
        "llama.attention.head_count",
        "general.architecture",
    ] {
        says(
            changed(&|builder| {
                builder.unset(key);
            }),
            &[key, "is missing"],
        );
    }
    says(
        changed(&|builder| {
            builder.set("llama.block_count", tagged(8, &text("one")));
        }),
        &["llama.block_count is the text \"one\""],
    );
    for epsilon in [f32::NAN, -1.0, f32::INFINITY] {
        let value = tagged(6, &epsilon.to_le_bytes());
        says(
            changed(&|builder| {
                builder.set("llama.attention.layer_norm_rms_epsilon", value.clone());
            }),
            &["layer_norm_rms_epsilon", "finite number above 0"],
        );
    }
    says(
        changed(&|builder| {
            builder.set("general.architecture", tagged(8, &text("mamba")));
        }),
        &["unsupported", "mamba"],
    );
    says(
        changed(&|builder| {
            builder.set("llama.expert_count", number(8));
        }),
        &["unsupported", "llama.expert_count is 8"],
    );
    says(
        changed(&|builder| {
            builder.set("llama.rope.scaling.type", tagged(8, &text("yarn")));
        }),
        &["unsupported", "yarn"],
    );
    says(
        changed(&|builder| {
            builder.set("llama.rope.dimension_count", number(8));
        }),
        &["they must be equal"],
    );
}

#[test]
fn one_number_per_layer_is_read() {
    let mut builder = GgufBuilder::llama();
    builder.set("llama.feed_forward_length", integers(&[32]));
    assert_eq!(builder.open().unwrap().description().layers[0].intermediate, 32);
    builder.set("llama.feed_forward_length", integers(&[32, 32]));
    says(builder.open(), &["2 values for 1 layers"]);
    builder.set("llama.feed_forward_length", integers(&[-32]));
    says(builder.open(), &["llama.feed_forward_length is 0"]);
}

#[test]
fn linear_scaling_and_frequency_factors_stretch_the_rope() {
    let plain = GgufBuilder::llama().open().unwrap().description().layers[0]
        .rope
        .clone();
    let mut builder = GgufBuilder::llama();
    builder.set("llama.rope.scaling.type", tagged(8, &text("linear")));
    builder.set("llama.rope.scaling.factor", tagged(6, &4.0_f32.to_le_bytes()));
    builder.tensors.push((
        "rope_freqs.weight".into(),
        vec![8],
        0,
        single_bytes(&[1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0, 8.0]),
    ));
    let stretched = builder.open().unwrap().description().layers[0].rope.clone();
    for (index, factor) in [(0, 4.0), (1, 8.0), (3, 32.0), (7, 32.0)] {
        assert_eq!(
            stretched.inverse_frequencies[index],
            plain.inverse_frequencies[index] / factor
        );
    }
    builder.tensor("rope_freqs.weight").3 = single_bytes(&[0.0; 8]);
    says(builder.open(), &["rope_freqs.weight"]);
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let mut builder = GgufBuilder::llama();
    // One row of 32 numbers is one Q8_0 block, whose first two bytes are the scale.
    let tensor = builder.tensor("blk.0.ffn_up.weight");
    tensor.2 = 8;
    tensor.3 = vec![1; 32 * 34];
    let up = Weight::Layer(0, LayerWeight::Up);
    let sound = builder.open().unwrap();
    assert_eq!(
        sound.weights().tensor(up).unwrap().stored,
        TensorType::Quantised("Q8_0")
    );
    for scale in [half::f16::NAN, half::f16::INFINITY] {
        builder.tensor("blk.0.ffn_up.weight").3[34 * 31..34 * 31 + 2].copy_from_slice(&scale.to_le_bytes());
        says(
            builder.open().unwrap().weights().tensor(up),
            &["blk.0.ffn_up.weight", "not finite"],
        );
    }
    let mut builder = GgufBuilder::llama();
    builder.tensor("output_norm.weight").3[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    says(
        builder.open().unwrap().weights().tensor(Weight::FinalNorm),
        &["output_norm.weight", "not finite"],
    );
}

#[test]
fn the_tokenizer_is_rewritten() {
    let checkpoint = GgufBuilder::llama().open().unwrap();
    let json: Value = serde_json::from_slice(checkpoint.tokenizer_json()).unwrap();
    assert_eq!(json["model"]["vocab"]["ab"], 3);
    assert_eq!(json["model"]["merges"][1], serde_json::json!(["\u{120}", "a"]));
    let added = json["added_tokens"].as_array().unwrap();
    assert_eq!(added.len(), 2);
    assert_eq!(
        (&added[0]["content"], &added[0]["special"]),
        (&"<|end|>".into(), &true.into())
    );
    assert_eq!(
        (&added[1]["id"], &added[1]["special"]),
        (&7.into(), &false.into())
    );
    let tokenizer = assize_preprocess::PromptTokenizer::from_json(checkpoint.tokenizer_json()).unwrap();
    assert_eq!(tokenizer.encode_text("ab a1b").unwrap(), [3, 6, 4, 2]);
}

#[test]
fn unknown_or_contradictory_tokenizers_are_refused() {
    let with = |key: &str, value: Vec<u8>| GgufBuilder::llama().set(key, value).open();
    says(
        with("tokenizer.ggml.pre", tagged(8, &text("deepseek-llm"))),
        &[
            "unsupported",
            "tokenizer.ggml.pre",
            "deepseek-llm",
            "Hugging Face folder",
        ],
    );
    says(
        GgufBuilder::llama().unset("tokenizer.ggml.pre").open(),
        &["unsupported", "tokenizer.ggml.pre is None"],
    );
    says(
        with("tokenizer.ggml.model", tagged(8, &text("llama"))),
        &["unsupported", "tokenizer.ggml.model"],
    );
    says(
        with("tokenizer.ggml.add_space_prefix", tagged(7, &[1])),
        &["unsupported", "add_space_prefix"],
    );
    says(
        with(
            "tokenizer.ggml.tokens",
            texts(&["a", "a", "b", "ab", "1", "\u{120}", "\u{120}a", "<u>"]),
        ),
        &["holds \"a\" twice"],
    );
    says(
        with("tokenizer.ggml.tokens", texts(&["a"; 9])),
        &["9 tokens", "8 rows"],
    );
    says(
        with("tokenizer.ggml.tokens", integers(&[1; 8])),
        &["expected strings"],
    );
    says(
        with("tokenizer.ggml.token_type", integers(&[1])),
        &["1 values for 8 tokens"],
    );
    says(
        with("tokenizer.ggml.merges", texts(&["ab"])),
        &["expected two tokens"],
    );
    says(
        with("tokenizer.ggml.merges", texts(&["b a"])),
        &["\"ba\" is no token"],
    );
    says(with("tokenizer.ggml.merges", texts(&["a b", "a b"])), &["twice"]);
    says(
        GgufBuilder::llama().unset("tokenizer.ggml.merges").open(),
        &["merges is missing"],
    );
}

/// Random blocks of every type, against what the gguf package makes of them (`tests/golden/make_gguf_blocks.py`).
#[test]
fn every_block_type_equals_the_reference() {
    let golden: Vec<Value> =
        serde_json::from_str(include_str!("../../../../tests/golden/gguf_blocks.json")).unwrap();
    assert_eq!(golden.len(), 11);
    for case in golden {
        let name = case["name"].as_str().unwrap();
        let block = BlockType::from_id(case["id"].as_u64().unwrap() as u32).unwrap();
        let bytes = hex::decode(case["bytes"].as_str().unwrap()).unwrap();
        assert_eq!(block.row_bytes(512), Some(bytes.len()), "{name}");
        let mut values = vec![0.0; 512];
        block.dequantise(&bytes, &mut values);
        for (value, expected) in values.iter().zip(case["first"].as_array().unwrap()) {
            assert_eq!(*value, expected.as_f64().unwrap() as f32, "{name}");
        }
        let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(single_bytes(&values)));
        assert_eq!(hash, case["sha256"].as_str().unwrap(), "{name}");
    }
}
