//! The tokenizer inside a GGUF file, rewritten in the Hugging Face `tokenizer.json` form.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::GgufFile;
use crate::ModelError;

const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// How text is cut before byte-pair merges, by GGUF's name of the scheme.
struct PreTokenizer {
    normalizer: Value,
    steps: Vec<Value>,
    /// Whether a piece that is a token as a whole skips the merges.
    ignore_merges: bool,
}

fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

fn pre_tokenizer(name: &str) -> Option<PreTokenizer> {
    match name {
        // SmolLM: every digit alone, then GPT-2's pattern.
        "smollm" => Some(PreTokenizer {
            normalizer: Value::Null,
            steps: vec![
                json!({"type": "Digits", "individual_digits": true}),
                byte_level(true),
            ],
            ignore_merges: false,
        }),
        "gpt-2" => Some(PreTokenizer {
            normalizer: Value::Null,
            steps: vec![byte_level(true)],
            ignore_merges: false,
        }),
        "qwen2" => Some(PreTokenizer {
            normalizer: json!({"type": "NFC"}),
            steps: vec![split(r"\p{N}"), byte_level(false)],
            ignore_merges: false,
        }),
        "llama-bpe" => Some(PreTokenizer {
            normalizer: Value::Null,
            steps: vec![split(r"\p{N}{1,3}"), byte_level(false)],
            ignore_merges: true,
        }),
        _ => None,
    }
}

/// The pattern that Llama 3 and Qwen share but for how many digits stay together.
fn split(digits: &str) -> Value {
    let pattern = format!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    );
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// `tokenizer.json` bytes for `file`, whose embedding matrix has `vocabulary` rows.
///
/// # Errors
/// The tokenizer is of another kind than byte-level BPE, its pre-tokenizer is unknown, or its lists contradict each other.
pub(crate) fn tokenizer_json(file: &GgufFile, vocabulary: usize) -> Result<Vec<u8>, ModelError> {
    let corrupt = |reason: String| file.corrupt(reason);
    let unsupported = |what: String| ModelError::Unsupported(format!("{}: {what}", file.path().display()));
    match file.metadata.text("tokenizer.ggml.model").map_err(corrupt)? {
        Some("gpt2") => {}
        other => {
            return Err(unsupported(format!(
                "tokenizer.ggml.model is {other:?}; only gpt2 (byte-level BPE) is read from a GGUF file"
            )));
        }
    }
    let name = file.metadata.text("tokenizer.ggml.pre").map_err(corrupt)?;
    let pre = name.and_then(pre_tokenizer).ok_or_else(|| {
        unsupported(format!(
            "tokenizer.ggml.pre is {name:?}; smollm, gpt-2, qwen2 and llama-bpe are read. Use the model's Hugging Face \
             folder, which carries its own tokenizer.json"
        ))
    })?;
    if file
        .metadata
        .bool("tokenizer.ggml.add_space_prefix")
        .map_err(corrupt)?
        == Some(true)
    {
        return Err(unsupported("tokenizer.ggml.add_space_prefix is true".into()));
    }
    build(file, pre, vocabulary).map_err(corrupt)
}

fn build(file: &GgufFile, pre: PreTokenizer, vocabulary: usize) -> Result<Vec<u8>, String> {
    let array = |key: &str| {
        file.metadata
            .array(key)?
            .ok_or_else(|| format!("the key {key} is missing"))
    };
    let tokens_key = "tokenizer.ggml.tokens";
    let types_key = "tokenizer.ggml.token_type";
    let merges_key = "tokenizer.ggml.merges";
    let (tokens, types, merges) = (array(tokens_key)?, array(types_key)?, array(merges_key)?);
    if tokens.count > vocabulary as u64 {
        return Err(format!(
            "{tokens_key} has {} tokens, and the embedding {vocabulary} rows",
            tokens.count
        ));
    }
    if types.count != tokens.count {
        return Err(format!(
            "{types_key} has {} values for {} tokens",
            types.count, tokens.count
        ));
    }
    let mut vocab = Map::new();
    let mut added = Vec::new();
    let kinds = types.integers(file.bytes(), types_key)?;
    let listed = tokens.strings(file.bytes(), tokens_key)?.zip(kinds);
    for (id, (token, kind)) in (0_u32..).zip(listed) {
        let (token, kind) = (token?, kind?);
        if vocab.insert(token.to_owned(), id.into()).is_some() {
            return Err(format!("{tokens_key} holds {token:?} twice"));
        }
        if kind == CONTROL || kind == USER_DEFINED {
            added.push(json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": kind == CONTROL,
            }));
        }
    }
    let mut pairs = Vec::new();
    let mut seen = HashSet::new();
    for merge in merges.strings(file.bytes(), merges_key)? {
        let merge = merge?;
        let (left, right) = merge
            .split_once(' ')
            .filter(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains(' '))
            .ok_or_else(|| {
                format!("{merges_key} holds {merge:?}; expected two tokens with a space between")
            })?;
        for part in [left, right, &format!("{left}{right}")] {
            if !vocab.contains_key(part) {
                return Err(format!("{merges_key} holds {merge:?}, but {part:?} is no token"));
            }
        }
        if !seen.insert(merge) {
            return Err(format!("{merges_key} holds {merge:?} twice"));
        }
        pairs.push(json!([left, right]));
    }
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": pre.normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre.steps},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": pre.ignore_merges, "vocab": vocab, "merges": pairs,
        },
    });
    serde_json::to_vec(&tokenizer).map_err(|error| format!("writing the tokenizer: {error}"))
}
