//! Token ids of tiny tokenizers of every form against the `tokenizers` library; special-token text is plain text.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

use std::path::PathBuf;

use assize_preprocess::PromptTokenizer;

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(path)
}

fn ids(value: &serde_json::Value) -> Vec<u32> {
    value
        .as_array()
        .expect("ids")
        .iter()
        .map(|id| id.as_u64().expect("an id") as u32)
        .collect()
}

fn check(tokenizer: &PromptTokenizer, case: &serde_json::Value, from: &str) {
    let text = case["text"].as_str().expect("a text");
    let found = tokenizer
        .encode_text(text)
        .unwrap_or_else(|error| panic!("{from} {text:?}: {error}"));
    assert_eq!(found, ids(&case["ids"]), "{from}: {text:?}");
}

#[test]
fn tiny_tokenizers_give_the_golden_ids() {
    for name in ["tiny_llama", "tiny_llama3_rope", "tiny_qwen3", "tiny_gemma3"] {
        let tokenizer_json = std::fs::read(golden(name).join("tokenizer.json")).expect("tokenizer.json");
        let tokenizer =
            PromptTokenizer::from_json(&tokenizer_json).unwrap_or_else(|error| panic!("{name}: {error}"));
        let manifest = std::fs::read(golden(name).join("golden/manifest.json")).expect("manifest.json");
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
        let texts = manifest["texts"].as_array().expect("texts");
        assert!(texts.len() >= 25);
        for case in texts {
            check(&tokenizer, case, name);
        }
        for (text, id) in manifest["special_tokens"].as_object().expect("special tokens") {
            assert_eq!(
                tokenizer.special(text).map(u64::from),
                id.as_u64(),
                "{name}: {text}"
            );
            let plain = tokenizer.encode_text(text).expect("plain text");
            assert!(
                plain.iter().all(|found| Some(u64::from(*found)) != id.as_u64()),
                "{name}: {text} became special"
            );
        }
    }
}
