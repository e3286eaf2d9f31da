//! Any text of a caller, and any JSON as a prompt form: no text becomes a special token, and every prompt fits.
#![no_main]

use std::sync::LazyLock;

use assize_preprocess::PromptTokenizer;
use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::{EncodeOptions, MediumOutline, PromptForm, Truncate};
use libfuzzer_sys::fuzz_target;

static TOKENIZER: LazyLock<PromptTokenizer> = LazyLock::new(|| {
    let json = include_bytes!("../../tests/golden/gemma4_unified_tiny/checkpoint/tokenizer.json");
    PromptTokenizer::from_json(json).expect("the tokenizer of the fixtures")
});
static FORM: LazyLock<PromptForm> = LazyLock::new(|| PromptForm::built_in("jev-omni").expect("the form"));
static IMAGE: LazyLock<u32> = LazyLock::new(|| TOKENIZER.special("<|image|>").expect("the token"));

const POLICIES: [Truncate; 4] = [Truncate::Error, Truncate::Start, Truncate::End, Truncate::Middle];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(form) = PromptForm::from_json(bytes) {
        assert!(!form.fingerprint().is_empty());
    }
    let Some(([policy, size, soft_tokens], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    let mut parts = text.split('\0');
    let state = parts.next().unwrap_or_default();
    let state = structured(state).unwrap_or_else(|| Content::from(state));
    let instructions = parts.next().map(Content::from);
    let options = parts.map(|name| QuestionOption {
        name: name.to_owned(),
        description: None,
    });
    let decision = Decision {
        state,
        questions: vec![Question {
            instructions,
            shape: Shape::Choice(options.collect()),
        }],
    };
    let soft_tokens = usize::from(*soft_tokens);
    let media = [MediumOutline::Image { soft_tokens }];
    let options = EncodeOptions {
        context: 128 + 8 * usize::from(*size),
        truncate: POLICIES[usize::from(*policy) % POLICIES.len()],
        order_averages: 1,
        prior: false,
    };
    let encoded = match FORM.encode_with_media(&TOKENIZER, &decision, &media, &options) {
        Ok(encoded) => encoded,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(encoded.longest_path() <= options.context);
    let questions = encoded.questions.iter().flat_map(|question| &question.orders);
    let tokens = questions.flat_map(|order| &order.tokens).chain(&encoded.state);
    assert_eq!(tokens.filter(|id| **id == *IMAGE).count(), soft_tokens);
});

/// JSON that is shown as such, where the text is an object or a list.
fn structured(text: &str) -> Option<Content> {
    let value = serde_json::from_str(text).ok()?;
    matches!(value, serde_json::Value::Object(_) | serde_json::Value::Array(_))
        .then_some(Content::Json(value))
}
