//! Token ids of 1,000 texts with the default model's tokenizer, as its GGUF gives it.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use std::io::{BufRead, BufReader};

use assize_preprocess::PromptTokenizer;
use golden_values::{Golden, default_model, folder, token_ids};

#[test]
fn the_default_models_tokenizer_gives_the_golden_ids() {
    let Some(checkpoint) = default_model("the_default_models_tokenizer_gives_the_golden_ids") else {
        return;
    };
    let tokenizer = PromptTokenizer::from_json(checkpoint.tokenizer_json()).expect("a tokenizer");
    let file = std::fs::File::open(folder("smollm2/tokens.jsonl.gz")).expect("tokens.jsonl.gz");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
        let case: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let text = case["text"].as_str().expect("a text");
        let found = tokenizer
            .encode_text(text)
            .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let wanted = token_ids(&case["ids"]);
        if found != wanted {
            wrong.push(format!("{text:?}\n  found  {found:?}\n  wanted {wanted:?}"));
        }
        count += 1;
    }
    assert_eq!(count, 1000);
    assert!(
        wrong.is_empty(),
        "{} of 1,000 texts differ, first: {}",
        wrong.len(),
        wrong[0]
    );
}

#[test]
fn every_special_token_is_known_and_unreachable_from_text() {
    let Some(checkpoint) = default_model("every_special_token_is_known_and_unreachable_from_text") else {
        return;
    };
    let tokenizer = PromptTokenizer::from_json(checkpoint.tokenizer_json()).expect("a tokenizer");
    let golden = Golden::open("smollm2");
    let special = golden.manifest["special_tokens"]
        .as_object()
        .expect("special tokens");
    assert_eq!(special.len(), 17);
    for (text, id) in special {
        let id = id.as_u64().expect("an id") as u32;
        assert_eq!(tokenizer.special(text), Some(id), "{text}");
        for around in [text.clone(), format!("a{text}b"), format!(" {text} {text}")] {
            assert!(
                !tokenizer.encode_text(&around).expect("plain text").contains(&id),
                "{around}"
            );
        }
    }
}
