//! The card of a model: what it is called and how it is best asked.

use std::collections::HashSet;

use assize_preprocess::prompt::PromptForm;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::{Architecture, DEFAULT_MODEL, DecoderDescription, MaskStyle};

/// Facts about a model and its best way of being asked; `assize-card.json`, or built in.
///
/// In JSON, `prompt_form` is a form or the name of a built-in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// The model's name in requests and answers.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// `YYYY-MM-DD`.
    pub release_date: String,
    /// SPDX identifier, or `unknown`.
    pub license: String,
    /// How a decision is written for the model.
    #[serde(deserialize_with = "form_or_name")]
    pub prompt_form: PromptForm,
    /// How its scores are read, as the heads crate reads it.
    pub readout: Value,
    /// Who sees whom within a picture; left out for the checkpoint's own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask_style: Option<MaskStyle>,
    /// Decoder layers below a fitted head, where a fit names no number; left out for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_layers: Option<usize>,
}

fn form_or_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PromptForm, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum FormOrName {
        Name(String),
        Form(Value),
    }
    let wrong = |error: assize_preprocess::PromptError| serde::de::Error::custom(error);
    match FormOrName::deserialize(deserializer)? {
        FormOrName::Name(name) => PromptForm::built_in(&name).map_err(wrong),
        FormOrName::Form(form) => PromptForm::from_json(form.to_string().as_bytes()).map_err(wrong),
    }
}

/// Wording and readout of a model that nobody has measured.
const UNMEASURED_WORDING: &str = "answer";

fn unmeasured_readout() -> Value {
    json!({"kind": "text", "reduce": "mean", "less_prior": 1.0})
}

/// Form and readout of the default model: the best mean of both data sets in docs/models.md.
const DEFAULT_MODEL_FORM: &str = "smollm2-named";

fn default_model_readout() -> Value {
    json!({"kind": "text", "reduce": "mean", "less_prior": 1.0})
}

/// Layers below a fitted head: docs/models.md has the figures of other depths.
const DEFAULT_MODEL_HEAD_LAYERS: usize = 15;

/// Form that the heads of decision checkpoints were trained with.
const DECISION_FORM: &str = "jev-omni";

/// The frame of turns that a model was trained with, told by the special tokens of its tokenizer.
fn frame(name: &str, architecture: Architecture, special: &HashSet<String>) -> &'static str {
    let all = |tokens: &[&str]| tokens.iter().all(|token| special.contains(*token));
    if all(&["<bos>", "<start_of_turn>", "<end_of_turn>"]) {
        // A Gemma base model has the same tokens; only its name tells that it never saw a turn.
        let instructed = name
            .to_lowercase()
            .split(['-', '_', '@'])
            .any(|part| part == "it");
        return if instructed { "gemma" } else { "plain-bos" };
    }
    if all(&[
        "<|begin_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    ]) {
        let instructed = name.to_lowercase().contains("instruct");
        return if instructed { "llama3" } else { "plain" };
    }
    if all(&["<|im_start|>", "<|im_end|>"]) {
        let thinks = architecture == Architecture::Qwen3 && all(&["<think>", "</think>"]);
        return match (thinks, name.to_lowercase().contains("smollm2")) {
            (true, _) => "qwen3",
            (_, true) => "smollm2",
            _ => "chatml",
        };
    }
    if all(&["<bos>"]) { "plain-bos" } else { "plain" }
}

#[derive(Deserialize)]
struct AddedTokens {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
struct AddedToken {
    content: String,
}

impl ModelCard {
    /// The card of a model that carries none: known names first, then what description, tokenizer and a head say.
    ///
    /// # Errors
    /// The tokenizer is no JSON.
    pub(crate) fn built_in(
        name: &str,
        description: &DecoderDescription,
        tokenizer_json: &[u8],
        has_head: bool,
    ) -> Result<Self, String> {
        let built_in = |form: &str| PromptForm::built_in(form).map_err(|error| error.to_string());
        if name == DEFAULT_MODEL {
            return Ok(Self {
                name: name.to_owned(),
                description: "SmolLM2 135M Instruct, the default decision model: small, English, CPU".into(),
                release_date: "2024-10-31".into(),
                license: "Apache-2.0".into(),
                prompt_form: built_in(DEFAULT_MODEL_FORM)?,
                readout: default_model_readout(),
                mask_style: None,
                head_layers: Some(DEFAULT_MODEL_HEAD_LAYERS),
            });
        }
        let tokenizer: AddedTokens =
            serde_json::from_slice(tokenizer_json).map_err(|error| format!("tokenizer.json: {error}"))?;
        let special = tokenizer
            .added_tokens
            .into_iter()
            .map(|token| token.content)
            .collect();
        let frame = frame(name, description.architecture, &special);
        // A Gemma 4 Unified with a head is a Jev-Omni, whose head knows this one form.
        let (prompt_form, readout) = if has_head && description.architecture == Architecture::Gemma4Unified {
            (built_in(DECISION_FORM)?, json!({"kind": "slot"}))
        } else {
            (
                built_in(&format!("{frame}-{UNMEASURED_WORDING}"))?,
                unmeasured_readout(),
            )
        };
        let family = match description.architecture {
            Architecture::Llama => "Llama",
            Architecture::Qwen3 => "Qwen3",
            Architecture::Gemma3 => "Gemma 3",
            Architecture::Gemma4Unified => "Gemma 4 Unified",
        };
        Ok(Self {
            name: name.to_owned(),
            description: format!(
                "{family} decoder, {} layers, {:.1} million parameters",
                description.layers.len(),
                description.parameters() as f64 / 1e6
            ),
            // The date is required on the wire and stands in no checkpoint; the epoch says "unknown" in that form.
            release_date: "1970-01-01".into(),
            license: "unknown".into(),
            prompt_form,
            readout,
            mask_style: None,
            head_layers: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tokens: &[&str]) -> HashSet<String> {
        tokens.iter().map(|token| (*token).to_owned()).collect()
    }

    #[test]
    fn the_frame_follows_from_the_special_tokens() {
        let chatml = set(&["<|im_start|>", "<|im_end|>"]);
        let thinking = set(&["<|im_start|>", "<|im_end|>", "<think>", "</think>"]);
        let gemma = set(&["<bos>", "<start_of_turn>", "<end_of_turn>"]);
        assert_eq!(frame("some", Architecture::Llama, &chatml), "chatml");
        assert_eq!(frame("SmolLM2-360M", Architecture::Llama, &chatml), "smollm2");
        assert_eq!(frame("qwen3-0.6b", Architecture::Qwen3, &thinking), "qwen3");
        assert_eq!(frame("gemma-3-1b-it", Architecture::Gemma3, &gemma), "gemma");
        assert_eq!(frame("gemma-3-270m", Architecture::Gemma3, &gemma), "plain-bos");
        assert_eq!(frame("x", Architecture::Llama, &set(&["</s>"])), "plain");
    }

    #[test]
    fn a_card_takes_a_form_or_its_name() {
        let card = |form: Value| {
            serde_json::from_value::<ModelCard>(json!({
                "name": "m", "description": "d", "release_date": "2026-01-01", "license": "MIT",
                "prompt_form": form, "readout": {"kind": "label"},
            }))
        };
        let named = card(json!("chatml-letters")).unwrap();
        let whole = card(serde_json::to_value(&named.prompt_form).unwrap()).unwrap();
        assert_eq!(named, whole);
        assert!(
            card(json!("no-such-form"))
                .unwrap_err()
                .to_string()
                .contains("no-such-form")
        );
        assert!(card(json!(5)).is_err());
        let again: ModelCard = serde_json::from_slice(&serde_json::to_vec(&named).unwrap()).unwrap();
        assert_eq!(again, named);
    }
}
