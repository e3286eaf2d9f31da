//! The card of a model: what it is called and how it is best asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Architecture, DecoderDescription};

/// Facts about a model and its best way of being asked; `assize-card.json`, or built in.
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
    /// The prompt form, as the prompt crate reads it; null takes that crate's default for the tokenizer at hand.
    #[serde(default)]
    pub prompt_form: Value,
    /// The readout, as the heads crate reads it; null takes that crate's default.
    #[serde(default)]
    pub readout: Value,
}

impl ModelCard {
    /// The card of a model that carries none: known names first, then what the description says.
    pub(crate) fn built_in(name: &str, description: &DecoderDescription) -> Self {
        if name == crate::DEFAULT_MODEL {
            return Self {
                name: name.to_owned(),
                description: "SmolLM2 135M Instruct, the default decision model: small, English, CPU".into(),
                release_date: "2024-10-31".into(),
                license: "Apache-2.0".into(),
                prompt_form: Value::Null,
                readout: Value::Null,
            };
        }
        let family = match description.architecture {
            Architecture::Llama => "Llama",
            Architecture::Qwen3 => "Qwen3",
            Architecture::Gemma3 => "Gemma 3",
        };
        Self {
            name: name.to_owned(),
            description: format!(
                "{family} decoder, {} layers, {} million parameters",
                description.layers.len(),
                description.parameters() / 1_000_000
            ),
            // The date is required on the wire and stands in no checkpoint; the epoch says "unknown" in that form.
            release_date: "1970-01-01".into(),
            license: "unknown".into(),
            prompt_form: Value::Null,
            readout: Value::Null,
        }
    }
}
