//! Tokenizers that add a space before a text, and how the same tokenizer behaves where a text continues another.
//!
//! Three constructs add one: the normaliser `Prepend` (before each text between special tokens), the pre-tokenizer
//! `ByteLevel` with `add_prefix_space` (the same) and the pre-tokenizer `Metaspace` (`always`: the same; `first`: at
//! the start of the sequence only).

use serde_json::{Value, json};

use super::Place;

/// The normaliser for a text at `place`.
pub(super) fn normalizer_at(normalizer: Option<&Value>, place: Place) -> Option<Value> {
    let normalizer = normalizer?;
    if place != Place::Continues {
        return Some(normalizer.clone());
    }
    match kind(normalizer) {
        "Prepend" => None,
        "Sequence" => Some(map_parts(normalizer, "normalizers", |part| {
            normalizer_at(Some(part), place)
        })),
        _ => Some(normalizer.clone()),
    }
}

/// The pre-tokenizer for a text at `place`.
pub(super) fn pre_tokenizer_at(pre_tokenizer: Option<&Value>, place: Place) -> Option<Value> {
    let pre_tokenizer = pre_tokenizer?;
    let mut changed = pre_tokenizer.clone();
    match kind(pre_tokenizer) {
        "Sequence" => {
            changed = map_parts(pre_tokenizer, "pretokenizers", |part| {
                pre_tokenizer_at(Some(part), place)
            });
        }
        // A missing `add_prefix_space` reads as true.
        "ByteLevel" if place == Place::Continues && changed["add_prefix_space"] != json!(false) => {
            changed["add_prefix_space"] = json!(false);
        }
        "Metaspace" => {
            // A missing scheme reads as `always`.
            let scheme = pre_tokenizer["prepend_scheme"].as_str().unwrap_or("always");
            let drops = match place {
                Place::SequenceStart => false,
                Place::AfterSpecial => scheme == "first",
                Place::Continues => scheme != "never",
            };
            if drops {
                changed["prepend_scheme"] = json!("never");
                // An old flag that contradicts the scheme is an error to the tokenizer.
                if let Some(fields) = changed.as_object_mut() {
                    fields.remove("add_prefix_space");
                }
            }
        }
        _ => {}
    }
    Some(changed)
}

/// Whether the normaliser may make a text shorter, so that bytes say nothing about the number of tokens.
pub(super) fn may_shrink(normalizer: Option<&Value>) -> bool {
    let Some(normalizer) = normalizer else {
        return false;
    };
    match kind(normalizer) {
        "Prepend" | "ByteLevel" => false,
        "Sequence" => normalizer["normalizers"]
            .as_array()
            .is_none_or(|parts| parts.iter().any(|part| may_shrink(Some(part)))),
        "Replace" => {
            let (from, to) = (
                normalizer["pattern"]["String"].as_str(),
                normalizer["content"].as_str(),
            );
            !matches!((from, to), (Some(from), Some(to)) if to.len() >= from.len())
        }
        _ => true,
    }
}

fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or_default()
}

fn map_parts(sequence: &Value, field: &str, map: impl Fn(&Value) -> Option<Value>) -> Value {
    let mut changed = sequence.clone();
    if let Some(parts) = sequence[field].as_array() {
        changed[field] = parts.iter().filter_map(map).collect();
    }
    changed
}
