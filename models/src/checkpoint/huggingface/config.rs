//! `config.json`, read field by field.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::checkpoint::extent::{positive, within};
use crate::{ModelError, TokenId};

/// Largest `config.json` that is read.
const MOST_BYTES: u64 = 16 << 20;

/// The object of `config.json` that describes the text decoder.
pub(crate) struct Config {
    path: PathBuf,
    fields: Map<String, Value>,
    /// `text_config.` inside a multimodal model, else empty.
    prefix: &'static str,
    /// The outermost `tie_word_embeddings`, where the decoder is nested.
    outer_tied: Option<bool>,
    /// The rest of the file, where the decoder is nested in a model that reads media.
    outer: Option<Map<String, Value>>,
}

impl Config {
    /// Reads `folder/config.json`; the decoder of a `gemma3` or `gemma4_unified` model is its `text_config`.
    ///
    /// # Errors
    /// The file is missing, too large, no JSON object, or of an architecture that is not read.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let metadata = std::fs::metadata(&path).map_err(|source| ModelError::io(&path, source))?;
        if metadata.len() > MOST_BYTES {
            return Err(ModelError::corrupt(
                &path,
                format!("{} bytes is no configuration", metadata.len()),
            ));
        }
        let bytes = std::fs::read(&path).map_err(|source| ModelError::io(&path, source))?;
        let fields: Map<String, Value> = serde_json::from_slice(&bytes)
            .map_err(|error| ModelError::corrupt(&path, format!("not a JSON object: {error}")))?;
        let mut config = Self {
            path,
            fields,
            prefix: "",
            outer_tied: None,
            outer: None,
        };
        let nested = match config.text("model_type")? {
            Some("gemma3") => Some(("gemma3", "gemma3_text")),
            Some("gemma4_unified") => Some(("gemma4_unified", "gemma4_unified_text")),
            _ => None,
        };
        if let Some((whole, decoder)) = nested {
            config.reject_quantisation()?;
            config.outer_tied = config.bool("tie_word_embeddings")?;
            let Some(Value::Object(inner)) = config.fields.remove("text_config") else {
                return Err(config.corrupt(format!("model_type is {whole:?}, but text_config is no object")));
            };
            let outer = std::mem::replace(&mut config.fields, inner);
            config.outer = (whole == "gemma4_unified").then_some(outer);
            config.prefix = "text_config.";
            config
                .fields
                .entry("model_type")
                .or_insert_with(|| Value::from(decoder));
        }
        config.reject_quantisation()?;
        Ok(config)
    }

    /// What surrounds the decoder, where that configures media.
    pub(crate) fn outer(&self) -> Option<Self> {
        self.outer.as_ref().map(|fields| Self {
            path: self.path.clone(),
            fields: fields.clone(),
            prefix: "",
            outer_tied: None,
            outer: None,
        })
    }

    /// An object of this one as a configuration of its own; messages name its fields with `prefix`.
    ///
    /// # Errors
    /// The field is no object.
    pub(crate) fn inner(&self, field: &str, prefix: &'static str) -> Result<Option<Self>, ModelError> {
        Ok(self.object(field)?.map(|fields| Self {
            path: self.path.clone(),
            fields: fields.clone(),
            prefix,
            outer_tied: None,
            outer: None,
        }))
    }

    /// A token id below `vocabulary`.
    pub(crate) fn token(&self, field: &str, vocabulary: usize) -> Result<TokenId, ModelError> {
        let value = self
            .get(field)
            .ok_or_else(|| self.corrupt(format!("the field {} is missing", self.name(field))))?;
        value
            .as_u64()
            .filter(|id| *id < vocabulary as u64)
            .and_then(|id| TokenId::try_from(id).ok())
            .ok_or_else(|| {
                self.wrong(
                    field,
                    value,
                    &format!("a token id below vocab_size, {vocabulary}"),
                )
            })
    }

    fn reject_quantisation(&self) -> Result<(), ModelError> {
        match self.get("quantization_config") {
            None => Ok(()),
            Some(_) => Err(self.unsupported(
                "quantization_config is set: use the unquantised folder, or a GGUF file for a smaller one",
            )),
        }
    }

    /// A field that is present and not null.
    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// The field's full name, for messages.
    pub(crate) fn name(&self, field: &str) -> String {
        format!("{}{field}", self.prefix)
    }

    /// A [`ModelError::Corrupt`] about this file.
    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> ModelError {
        ModelError::corrupt(&self.path, reason)
    }

    /// A [`ModelError::Unsupported`] about this file.
    pub(crate) fn unsupported(&self, what: impl std::fmt::Display) -> ModelError {
        ModelError::Unsupported(format!("{}: {}{what}", self.path.display(), self.prefix))
    }

    fn wrong(&self, field: &str, value: &Value, expected: &str) -> ModelError {
        let shown: String = value.to_string().chars().take(60).collect();
        self.corrupt(format!("{} is {shown}; expected {expected}", self.name(field)))
    }

    /// A text field.
    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>, ModelError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(field, other, "a text")),
        }
    }

    /// A truth value.
    pub(crate) fn bool(&self, field: &str) -> Result<Option<bool>, ModelError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong(field, other, "true or false")),
        }
    }

    /// A whole number in `1..=most`, or `default`.
    pub(crate) fn size(&self, field: &str, default: Option<usize>, most: u64) -> Result<usize, ModelError> {
        match self.get(field) {
            None => default.ok_or_else(|| self.corrupt(format!("the field {} is missing", self.name(field)))),
            Some(value) => {
                let number = value
                    .as_u64()
                    .ok_or_else(|| self.wrong(field, value, "a whole number above 0"))?;
                within(&self.name(field), number, most).map_err(|reason| self.corrupt(reason))
            }
        }
    }

    /// A finite number above zero.
    pub(crate) fn number(&self, field: &str) -> Result<Option<f32>, ModelError> {
        self.number_in(&self.fields, "", field)
    }

    /// A finite number above zero in an object inside this one.
    pub(crate) fn number_in(
        &self,
        object: &Map<String, Value>,
        prefix: &str,
        field: &str,
    ) -> Result<Option<f32>, ModelError> {
        let name = format!("{prefix}{field}");
        match object.get(field).filter(|value| !value.is_null()) {
            None => Ok(None),
            Some(value) => {
                let number = value
                    .as_f64()
                    .ok_or_else(|| self.wrong(&name, value, "a number above 0"))?;
                positive(&self.name(&name), number)
                    .map(Some)
                    .map_err(|reason| self.corrupt(reason))
            }
        }
    }

    /// An object field.
    pub(crate) fn object(&self, field: &str) -> Result<Option<&Map<String, Value>>, ModelError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(field, other, "an object")),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, field: &str) -> Result<Option<Vec<&str>>, ModelError> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        value
            .as_array()
            .and_then(|items| items.iter().map(Value::as_str).collect())
            .map(Some)
            .ok_or_else(|| self.wrong(field, value, "a list of texts"))
    }

    /// Whether logits use the embedding matrix; `default` is the architecture's own.
    pub(crate) fn tied(&self, default: bool) -> Result<bool, ModelError> {
        Ok(match self.outer_tied {
            Some(tied) => tied,
            None => self.bool("tie_word_embeddings")?.unwrap_or(default),
        })
    }
}
