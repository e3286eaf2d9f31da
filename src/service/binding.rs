//! What was made for one artifact is not used with another, unless the user insists; then every answer says so.

use std::path::PathBuf;

use assize_models::{ArtifactDescription, ArtifactId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ServiceError;

/// The artifact, by its id and by what the id is a hash of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedArtifact {
    /// The id.
    pub id: ArtifactId,
    /// What it is a hash of.
    pub description: ArtifactDescription,
}

/// What is bound to an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BindingKind {
    /// A fitted head: it reads hidden states, so the readout that it replaces does not matter.
    Head,
    /// A calibration: it maps scores, so everything matters.
    Calibration,
}

impl std::fmt::Display for BindingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::Calibration => "calibration",
        })
    }
}

/// A file that was made for one artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// What it is.
    pub kind: BindingKind,
    /// Its id, for example `head-0123456789abcdef`.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// The artifact that it was made for.
    pub made_for: ArtifactDescription,
}

/// A file that is used with an artifact that it was not made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Mismatch {
    /// `head` or `calibration`.
    pub kind: BindingKind,
    /// Id of the head or calibration.
    pub id: String,
    /// The artifact that it was made for.
    pub made_for: String,
    /// The artifact that is loaded.
    pub loaded: String,
    /// The fields in which the two differ.
    pub differences: Vec<DifferingField>,
}

/// A field in which two artifacts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DifferingField {
    /// For example `precision`.
    pub field: String,
    /// Its value in the artifact that the file was made for.
    pub made_for: String,
    /// Its value in the artifact that is loaded.
    pub loaded: String,
}

/// Longest value that a message shows whole; hashes are longer.
const SHOWN: usize = 16;

impl Binding {
    /// Compares what the file was made for with what is `loaded`. `None` where they agree.
    ///
    /// # Errors
    /// They differ, and that is not to be allowed.
    pub fn check(
        &self,
        loaded: &ArtifactDescription,
        allow_mismatch: bool,
    ) -> Result<Option<Mismatch>, ServiceError> {
        let replaced = |field: &str| self.kind == BindingKind::Head && field == "readout";
        let differences: Vec<DifferingField> = self
            .made_for
            .differences(loaded)
            .into_iter()
            .filter(|found| !replaced(&found.field))
            .map(|found| DifferingField {
                field: found.field,
                made_for: found.this,
                loaded: found.other,
            })
            .collect();
        if differences.is_empty() {
            return Ok(None);
        }
        let mismatch = Mismatch {
            kind: self.kind,
            id: self.id.clone(),
            made_for: self.made_for.id().to_string(),
            loaded: loaded.id().to_string(),
            differences,
        };
        if allow_mismatch {
            tracing::warn!("{mismatch}; every answer is marked");
            return Ok(Some(mismatch));
        }
        Err(ServiceError::Bound {
            path: self.path.clone(),
            remedy: mismatch.remedy(),
            mismatch: Box::new(mismatch),
        })
    }
}

impl Mismatch {
    /// How to get what the file was made for.
    fn remedy(&self) -> String {
        let precision = self.differences.iter().find(|found| found.field == "precision");
        let load = match (precision, self.differences.len()) {
            (Some(found), 1) => format!("start with --precision {}", found.made_for),
            _ => "load the model that it was made for".to_owned(),
        };
        let again = match self.kind {
            BindingKind::Head => "fit it again with `assize head fit`",
            BindingKind::Calibration => "fit it again on this artifact's scores",
        };
        format!("{load}, {again}, or use it all the same with --allow-mismatch, which marks every answer")
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} was made for {} and {} is loaded; they differ in ",
            self.kind, self.id, self.made_for, self.loaded
        )?;
        for (place, found) in self.differences.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let (made_for, loaded) = (short(&found.made_for), short(&found.loaded));
            write!(f, "{comma}{} ({made_for} and {loaded})", found.field)?;
        }
        Ok(())
    }
}

fn short(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(precision: &str, readout: &str) -> ArtifactDescription {
        ArtifactDescription {
            weights: "0123456789abcdef0123456789abcdef".into(),
            tokenizer: "t".into(),
            prompt_form: "p".into(),
            readout: readout.into(),
            precision: precision.into(),
            engine: "onnx/3".into(),
            mask_style: None,
            layers: None,
        }
    }

    fn binding(kind: BindingKind) -> Binding {
        Binding {
            kind,
            id: format!("{kind}-1"),
            path: "/some/file".into(),
            made_for: artifact("float32", "r"),
        }
    }

    #[test]
    fn a_head_replaces_the_readout_and_a_calibration_depends_on_it() {
        let other_readout = artifact("float32", "s");
        let head = binding(BindingKind::Head);
        assert_eq!(head.check(&other_readout, false).unwrap(), None);
        let calibration = binding(BindingKind::Calibration);
        let error = calibration.check(&other_readout, false).unwrap_err().to_string();
        assert!(error.contains("readout (r and s)"), "{error}");
        assert_eq!(calibration.check(&artifact("float32", "r"), false).unwrap(), None);
    }

    #[test]
    fn a_refusal_names_both_ids_every_field_and_the_remedy() {
        let head = binding(BindingKind::Head);
        let loaded = artifact("int8", "r");
        let error = head.check(&loaded, false).unwrap_err().to_string();
        for says in [
            "/some/file",
            head.made_for.id().as_str(),
            loaded.id().as_str(),
            "precision (float32 and int8)",
            "--precision float32",
            "--allow-mismatch",
        ] {
            assert!(error.contains(says), "{error}");
        }
        let mut both = loaded.clone();
        both.weights = "w".into();
        let error = head.check(&both, false).unwrap_err().to_string();
        assert!(
            error.contains("weights (0123456789abcdef… and w), precision"),
            "{error}"
        );
        let marked = head.check(&both, true).unwrap().unwrap();
        assert_eq!(marked.differences.len(), 2);
        assert_eq!(marked.differences[0].made_for, artifact("float32", "r").weights);
    }
}
