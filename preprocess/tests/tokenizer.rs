//! Text never becomes a special token, and ordinary text gets the reference tokenizer's ids.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use assize_preprocess::PromptTokenizer;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::Tokenizer;

const TINY: [&str; 3] = ["tiny_llama", "tiny_qwen3", "tiny_gemma3"];

fn tiny(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/../tests/golden/{name}/tokenizer.json",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(path).unwrap()
}

/// A tiny tokenizer.json with some parts replaced.
fn changed(name: &str, parts: &[(&str, Value)]) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&tiny(name)).unwrap();
    for (part, value) in parts {
        file[*part] = value.clone();
    }
    serde_json::to_vec(&file).unwrap()
}

fn read(json: &[u8]) -> (PromptTokenizer, Tokenizer) {
    (
        PromptTokenizer::from_json(json).unwrap(),
        Tokenizer::from_bytes(json).unwrap(),
    )
}

fn reference(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text, false).unwrap().get_ids().to_vec()
}

/// A word list with a special token in it that plain scoring would choose, as in T5-like vocabularies.
fn unigram() -> Vec<u8> {
    let mut vocab = vec![
        json!(["<unk>", -20.0]),
        json!(["</s>", -1.0]),
        json!(["▁</s>", -0.5]),
    ];
    for piece in ["▁", "<", "/", "s", ">", "a", "b", "as", "▁a"] {
        vocab.push(json!([piece, -5.0]));
    }
    let special = |id: u32, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0, "<unk>"), special(1, "</s>"), special(2, "▁</s>")],
        "normalizer": null,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "post_processor": null, "decoder": null,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false},
    });
    serde_json::to_vec(&file).unwrap()
}

#[test]
fn special_token_text_is_ordinary_text() {
    for name in TINY {
        let (tokenizer, plain) = read(&tiny(name));
        for (id, token) in plain.get_added_tokens_decoder() {
            if id == 3 && name == "tiny_gemma3" {
                continue; // the unknown token, which ordinary characters may give
            }
            assert!(tokenizer.is_reserved(id));
            assert_eq!(tokenizer.special(&token.content), Some(id));
            // The plain tokenizer does give the special token, so the check below can fail.
            assert_eq!(reference(&plain, &token.content), [id]);
            for text in [token.content.clone(), format!("a{0}{0} b\n{0}", token.content)] {
                let ids = tokenizer.encode_text(&text).unwrap();
                assert!(
                    ids.iter().all(|id| !tokenizer.is_reserved(*id)),
                    "{name}: {text:?}"
                );
                assert_eq!(tokenizer.decode(&ids).unwrap(), text);
            }
        }
    }
}

#[test]
fn added_tokens_without_the_special_flag() {
    let added = |id: u32, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": false})
    };
    let mut file: Value = serde_json::from_slice(&tiny("tiny_qwen3")).unwrap();
    // A merge across the token's first character tells plain text from text that is cut there.
    file["model"]["vocab"]["<t"] = json!(512);
    file["model"]["merges"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!(["<", "t"]));
    let without = Tokenizer::from_bytes(serde_json::to_vec(&file).unwrap()).unwrap();
    let tokens = file["added_tokens"].as_array_mut().unwrap();
    tokens.extend([added(513, "<think>"), added(514, "<table>"), added(515, "    ")]);
    let (tokenizer, plain) = read(&serde_json::to_vec(&file).unwrap());
    assert_eq!(reference(&plain, "<think>"), [513]);
    let ids = tokenizer.encode_text("<think>").unwrap();
    // As if the token did not exist: the merges across its characters are those of plain text.
    assert_eq!(ids, reference(&without, "<think>"));
    assert_eq!(ids[0], 512);
    assert!(ids.len() > 1 && !ids.contains(&513));
    // A form can still use it, and ordinary added tokens stay what the reference makes of them.
    assert_eq!(tokenizer.special("<think>"), Some(513));
    for text in ["<table>", "a    b", "x<table>    </table>"] {
        assert_eq!(tokenizer.encode_text(text).unwrap(), reference(&plain, text));
    }
}

#[test]
fn a_model_that_would_choose_a_special_token_is_led_around_it() {
    let (tokenizer, plain) = read(&unigram());
    let mut unflagged = plain.clone();
    unflagged.set_encode_special_tokens(true);
    assert!(
        reference(&unflagged, "a</s>").contains(&1),
        "the vocabulary must tempt"
    );
    for text in ["</s>", "a</s>b", "</s></s>", " </s>", "as </s> as", "</s"] {
        let ids = tokenizer.encode_text(text).unwrap();
        assert!(ids.iter().all(|id| ![1, 2].contains(id)), "{text:?}: {ids:?}");
        assert!(!ids.is_empty());
    }
    assert_eq!(tokenizer.encode_text("as a").unwrap(), reference(&plain, "as a"));
}

#[test]
fn whole_words_from_the_vocabulary_are_no_way_in() {
    // `ignore_merges` takes a whole word straight from the vocabulary, where special tokens stand too.
    let mut file: Value = serde_json::from_slice(&tiny("tiny_llama")).unwrap();
    file["model"]["ignore_merges"] = json!(true);
    file["pre_tokenizer"] =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let (tokenizer, plain) = read(&serde_json::to_vec(&file).unwrap());
    let mut unflagged = plain.clone();
    unflagged.set_encode_special_tokens(true);
    assert_eq!(
        reference(&unflagged, "<|im_end|>"),
        [2],
        "the vocabulary must tempt"
    );
    let ids = tokenizer.encode_text("<|im_end|>").unwrap();
    assert!(!ids.contains(&2));
    assert_eq!(tokenizer.decode(&ids).unwrap(), "<|im_end|>");
}

#[test]
fn a_continuation_gets_no_second_leading_space() {
    let metaspace = |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false});
    let prepend = json!({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ]});
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    let with_space = [
        changed(
            "tiny_gemma3",
            &[("normalizer", Value::Null), ("pre_tokenizer", metaspace("first"))],
        ),
        changed(
            "tiny_gemma3",
            &[
                ("normalizer", Value::Null),
                ("pre_tokenizer", metaspace("always")),
            ],
        ),
        changed(
            "tiny_gemma3",
            &[("normalizer", prepend), ("pre_tokenizer", Value::Null)],
        ),
        changed("tiny_llama", &[("pre_tokenizer", byte_level)]),
    ];
    for json in with_space {
        let (tokenizer, plain) = read(&json);
        let start = tokenizer.encode_text("word").unwrap();
        assert_eq!(start, reference(&plain, "word"));
        let behind = tokenizer.encode_continuation("word").unwrap();
        assert_ne!(behind, start);
        assert_eq!(tokenizer.encode_continuation(" word").unwrap(), start);
        let decoded = |ids: &[u32]| -> String {
            ids.iter()
                .map(|id| plain.id_to_token(*id).unwrap())
                .collect::<String>()
                .replace(['▁', 'Ġ'], " ")
        };
        assert_eq!(decoded(&start), " word", "the file must add a space");
        assert_eq!(decoded(&behind), "word");
    }
    for name in TINY {
        let (tokenizer, _) = read(&tiny(name));
        assert_eq!(
            tokenizer.encode_continuation("word").unwrap(),
            tokenizer.encode_text("word").unwrap()
        );
    }
}

#[test]
fn post_processors_padding_and_truncation_are_off() {
    let json = changed(
        "tiny_gemma3",
        &[
            (
                "truncation",
                json!({"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
            ),
            (
                "padding",
                json!({"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                       "pad_type_id": 0, "pad_token": "<pad>"}),
            ),
        ],
    );
    let (plain, _) = read(&tiny("tiny_gemma3"));
    let (tokenizer, _) = read(&json);
    let text = "a text of more than two tokens";
    assert_eq!(
        tokenizer.encode_text(text).unwrap(),
        plain.encode_text(text).unwrap()
    );
    assert_ne!(tokenizer.fingerprint(), plain.fingerprint());
    assert_eq!(tokenizer.fingerprint().len(), 64);
}

#[test]
fn long_texts_equal_one_piece() {
    let words = "The quick brown fox, it's said, jumps over 12 lazy dogs.\n\n  Then\tit sleeps;  日本語 and émigrés. ";
    let cases = [
        words.repeat(4000),
        "aB".repeat(200_000),
        "x y z ".repeat(60_000),
        format!("{}end", " ".repeat(300_000)),
    ];
    for name in TINY {
        let (tokenizer, plain) = read(&tiny(name));
        for text in &cases {
            // Digests keep a failure's message short.
            let (found, expected) = (tokenizer.encode_text(text).unwrap(), reference(&plain, text));
            assert!(found == expected, "{name}: {:?}...", &text[..20]);
        }
    }
}

#[test]
fn damaged_files_are_refused() {
    let whole = tiny("tiny_llama");
    for json in [&b""[..], b"{}", b"null", &whole[..whole.len() / 2], b"\xff\xfe"] {
        assert!(PromptTokenizer::from_json(json).is_err());
    }
    let mut file: Value = serde_json::from_slice(&whole).unwrap();
    file["model"]["dropout"] = json!(0.1);
    let error = PromptTokenizer::from_json(&serde_json::to_vec(&file).unwrap()).unwrap_err();
    assert!(error.to_string().contains("dropout"), "{error}");
}

type Pair = (&'static str, PromptTokenizer, Tokenizer);

static READ: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let files = TINY.map(|name| (name, tiny(name)));
    let read_all = |(name, json): (&'static str, Vec<u8>)| {
        let (tokenizer, plain) = read(&json);
        (name, tokenizer, plain)
    };
    files
        .into_iter()
        .chain([("unigram", unigram())])
        .map(read_all)
        .collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hostile_text_gives_no_special_token(
        pieces in prop::collection::vec(
            prop_oneof![
                Just("<|im_end|>".to_owned()), Just("<|im_start|>".to_owned()), Just("<bos>".to_owned()),
                Just("<end_of_turn>".to_owned()), Just("<|im_".to_owned()), Just("end|>".to_owned()),
                Just("</s>".to_owned()), Just("\u{0}".to_owned()), "\\PC{0,4}", ".{0,4}", "[ \n\t<>|/s]{0,6}",
            ],
            0..12,
        ),
    ) {
        let text: String = pieces.concat();
        for (name, tokenizer, _) in READ.iter() {
            for ids in [tokenizer.encode_text(&text).unwrap(), tokenizer.encode_continuation(&text).unwrap()] {
                prop_assert!(ids.iter().all(|id| !tokenizer.is_reserved(*id)));
                // Qwen's normaliser composes characters; the others keep every one.
                if ["tiny_llama", "tiny_gemma3"].contains(name) {
                    prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text.clone());
                }
            }
        }
    }

    #[test]
    fn ordinary_text_equals_the_reference(text in "([a-zA-Z0-9 .,!?'\"()\n]|\\PC){0,60}") {
        // Whole special tokens cannot come up by chance.
        for (_, tokenizer, plain) in READ.iter() {
            prop_assert_eq!(tokenizer.encode_text(&text).unwrap(), reference(plain, &text));
        }
    }
}
