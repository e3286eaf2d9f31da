//! The first line of a prediction file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::rows::Split;
use crate::service::NamedArtifact;

/// The format that is written and read.
pub(super) const SCHEMA: &str = "assize.predictions/1";

/// Everything that the predictions depend on, and when they were begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionHeader {
    /// Always `assize.predictions/1`.
    pub schema: String,
    /// What answered.
    pub artifact: NamedArtifact,
    /// Name of the model.
    pub model: String,
    /// Engine, version and precision.
    pub engine: String,
    /// How scores left the model.
    pub readout: Value,
    /// Id of the calibration that was applied, where one was.
    pub calibration: Option<String>,
    /// Heads and calibrations that were made for another artifact and were used all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<String>,
    /// How decisions were made.
    pub settings: PredictionSettings,
    /// What was asked.
    pub data: PredictedRows,
    /// Version of the program.
    pub assize: String,
    /// When the run was begun, in seconds since 1970; a run that is taken up again keeps it.
    pub started: u64,
}

/// How decisions were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionSettings {
    /// Option orders that were averaged over.
    pub order_averages: usize,
    /// What part of a text that was too long was dropped.
    pub truncate: String,
    /// Most tokens of a prompt, where that is less than the model's context.
    pub max_tokens: Option<usize>,
    /// Rows of the forward passes that decisions shared.
    pub batch_tokens: usize,
}

/// The rows that were asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictedRows {
    /// Path of the file, or name of the data set.
    pub name: String,
    /// sha256 of the file, or of the data set's package.
    pub sha256: String,
    /// The part of the rows.
    pub split: Split,
    /// Most rows of the part.
    pub most: Option<usize>,
    /// How a data set's question was put.
    pub question: Option<String>,
    /// Columns with other names, and what was given for all rows.
    pub options: Value,
}

impl PredictionHeader {
    /// What `schema` says.
    pub const SCHEMA: &str = SCHEMA;

    /// Fields that differ between two runs, with both values; when a run was begun and how its file is called do not
    /// matter.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let plain = |header: &Self| {
            let mut header = header.clone();
            header.started = 0;
            header.data.name.clear();
            serde_json::to_value(&header).unwrap_or_default()
        };
        let mut found = Vec::new();
        differences("", &plain(self), &plain(other), &mut found);
        found
    }
}

fn differences(place: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(these), Value::Object(those)) => {
            let mut keys: Vec<&String> = these.keys().collect();
            keys.extend(those.keys().filter(|key| !these.contains_key(*key)));
            for key in keys {
                let place = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differences(&place, &of(these), &of(those), found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{place} ({one} there, {other} now)")),
    }
}

#[cfg(test)]
pub(super) fn example() -> PredictionHeader {
    let description = assize_models::ArtifactDescription {
        weights: "w".into(),
        tokenizer: "t".into(),
        prompt_form: "p".into(),
        readout: "r".into(),
        precision: "float32".into(),
        engine: "onnx/3".into(),
        mask_style: None,
        layers: None,
    };
    PredictionHeader {
        schema: SCHEMA.into(),
        artifact: NamedArtifact {
            id: description.id(),
            description,
        },
        model: "m".into(),
        engine: "onnx 1 float32".into(),
        readout: Value::Null,
        calibration: None,
        mismatches: Vec::new(),
        settings: PredictionSettings {
            order_averages: 1,
            truncate: "error".into(),
            max_tokens: None,
            batch_tokens: 2048,
        },
        data: PredictedRows {
            name: "rows.jsonl".into(),
            sha256: "0".into(),
            split: Split::All,
            most: None,
            question: None,
            options: Value::Null,
        },
        assize: "0".into(),
        started: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_field_and_both_values() {
        let one = example();
        let mut other = example();
        other.started = 99;
        other.data.name = "moved/rows.jsonl".into();
        assert_eq!(one.differences(&other), [] as [&str; 0]);
        other.settings.order_averages = 2;
        other.data.sha256 = "1".into();
        assert_eq!(
            one.differences(&other),
            [
                "settings.order_averages (1 there, 2 now)",
                "data.sha256 (\"0\" there, \"1\" now)"
            ]
        );
    }
}
