//! The artifact: everything a probability depends on, hashed into one id.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::MaskStyle;

/// What an [`ArtifactId`] is a hash of. Two servers with equal descriptions give equal probabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactDescription {
    /// sha256 of the checkpoint's weights and configuration.
    pub weights: String,
    /// sha256 of the tokenizer.
    pub tokenizer: String,
    /// sha256 of the prompt form's canonical JSON.
    pub prompt_form: String,
    /// sha256 of the readout's canonical JSON.
    pub readout: String,
    /// `float32`, `bf16` or `int8`.
    pub precision: String,
    /// Engine name and version of its numerics, for example `onnx/3` or `torch/1`.
    pub engine: String,
    /// Who sees whom within a picture; absent where the model reads text only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask_style: Option<MaskStyle>,
    /// Decoder layers that are run, where these are not all of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
}

/// `art-` and the first 16 hex digits of the sha256 of the description's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactId(String);

/// A field in which two artifacts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The field of [`ArtifactDescription`].
    pub field: String,
    /// Its value in the artifact that is compared; `none` or, of layers, `all` where it is absent.
    pub this: String,
    /// Its value in the other.
    pub other: String,
}

impl ArtifactDescription {
    /// Every field in which `self` (`this`) and `other` differ, in the order of the fields.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        // Every field is named, so that a new one cannot be forgotten.
        let fields = |description: &Self| {
            let Self {
                weights,
                tokenizer,
                prompt_form,
                readout,
                precision,
                engine,
                mask_style,
                layers,
            } = description.clone();
            let mask_style = mask_style.map_or_else(|| "none".to_owned(), |style| style.to_string());
            let layers = layers.map_or_else(|| "all".to_owned(), |layers| layers.to_string());
            [
                ("weights", weights),
                ("tokenizer", tokenizer),
                ("prompt_form", prompt_form),
                ("readout", readout),
                ("precision", precision),
                ("engine", engine),
                ("mask_style", mask_style),
                ("layers", layers),
            ]
        };
        let both = fields(self).into_iter().zip(fields(other));
        both.filter(|((_, this), (_, other))| this != other)
            .map(|((field, this), (_, other))| Difference {
                field: field.to_owned(),
                this,
                other,
            })
            .collect()
    }

    /// The id of this artifact.
    pub fn id(&self) -> ArtifactId {
        let mut hasher = Sha256::new();
        for field in [
            &self.weights,
            &self.tokenizer,
            &self.prompt_form,
            &self.readout,
            &self.precision,
            &self.engine,
        ] {
            hasher.update((field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        // Nothing is added where they are absent, so that ids of text models with all layers stay what they were.
        let style = self.mask_style.map(|style| style.to_string());
        let layers = self.layers.map(|layers| format!("{layers} layers"));
        for field in style.iter().chain(&layers) {
            hasher.update((field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        ArtifactId(format!("art-{}", &hex::encode(hasher.finalize())[..16]))
    }
}

impl ArtifactId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_each_field_with_both_values() {
        let one = ArtifactDescription {
            weights: "w".into(),
            tokenizer: "t".into(),
            prompt_form: "p".into(),
            readout: "r".into(),
            precision: "float32".into(),
            engine: "onnx/3".into(),
            mask_style: None,
            layers: None,
        };
        assert_eq!(one.differences(&one), []);
        let other = ArtifactDescription {
            precision: "int8".into(),
            mask_style: Some(MaskStyle::Local),
            layers: Some(8),
            ..one.clone()
        };
        let found = one.differences(&other);
        let shown: Vec<[&str; 3]> = found
            .iter()
            .map(|found| [found.field.as_str(), &found.this, &found.other])
            .collect();
        assert_eq!(
            shown,
            [
                ["precision", "float32", "int8"],
                ["mask_style", "none", "local"],
                ["layers", "all", "8"],
            ]
        );
        // As many as the fields of the stored form, where all differ.
        let all = ArtifactDescription {
            weights: "-".into(),
            tokenizer: "-".into(),
            prompt_form: "-".into(),
            readout: "-".into(),
            precision: "-".into(),
            engine: "-".into(),
            mask_style: Some(MaskStyle::Direct),
            layers: Some(1),
        };
        let stored = serde_json::to_value(&all).unwrap();
        assert_eq!(one.differences(&all).len(), stored.as_object().unwrap().len());
    }

    #[test]
    fn the_mask_style_makes_another_artifact_and_its_absence_changes_nothing() {
        let described = |mask_style| ArtifactDescription {
            weights: "w".into(),
            tokenizer: "t".into(),
            prompt_form: "p".into(),
            readout: "r".into(),
            precision: "float32".into(),
            engine: "onnx/3".into(),
            mask_style,
            layers: None,
        };
        let text = described(None);
        // What the six fields alone hash to.
        assert_eq!(text.id().as_str(), "art-7113ee24dfeeb2fa");
        assert!(!serde_json::to_string(&text).unwrap().contains("mask_style"));
        let (direct, local) = (
            described(Some(MaskStyle::Direct)),
            described(Some(MaskStyle::Local)),
        );
        assert_ne!(direct.id(), local.id());
        assert_ne!(direct.id(), text.id());
        let json = serde_json::to_string(&local).unwrap();
        assert!(json.contains(r#""mask_style":"local""#), "{json}");
        assert_eq!(serde_json::from_str::<ArtifactDescription>(&json).unwrap(), local);
    }

    #[test]
    fn fewer_layers_make_another_artifact() {
        let described = |layers| ArtifactDescription {
            weights: "w".into(),
            tokenizer: "t".into(),
            prompt_form: "p".into(),
            readout: "r".into(),
            precision: "float32".into(),
            engine: "onnx/3".into(),
            mask_style: None,
            layers,
        };
        let ids: std::collections::HashSet<_> = [None, Some(1), Some(8)]
            .into_iter()
            .map(|layers| described(layers).id().to_string())
            .collect();
        assert_eq!(ids.len(), 3);
        assert!(
            ids.contains("art-7113ee24dfeeb2fa"),
            "the id with all layers changed: {ids:?}"
        );
        let json = serde_json::to_string(&described(Some(8))).unwrap();
        assert!(json.contains(r#""layers":8"#), "{json}");
        assert!(
            !serde_json::to_string(&described(None))
                .unwrap()
                .contains("layers")
        );
    }
}
