//! The readout: which numbers of the forward pass become option scores.

use serde::{Deserialize, Serialize};

use crate::HeadError;

/// Largest weight of the prior that is accepted: more than 1 over-corrects, and far more is a mistake.
const MAX_LESS_PRIOR: f32 = 2.0;

/// How scores leave the model. As JSON: `{"kind": "label"}`, `{"kind": "slot"}` or
/// `{"kind": "text", "reduce": "mean", "less_prior": 0.5}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawReadout", into = "RawReadout")]
pub enum Readout {
    /// The logit of each option's one-token label behind the question.
    Label,
    /// The slot of a [`SlotHead`](crate::SlotHead) at each option's shown place.
    Slot,
    /// The log-likelihood of each option's own text behind the question.
    Text {
        /// How the log-likelihoods of an option's tokens become one score.
        reduce: Reduce,
        /// Weight of the same score computed without the state, which is subtracted: 0 is off, 1 subtracts all of it
        /// (pointwise mutual information: Holtzman et al. 2021, "Surface Form Competition", section 3).
        less_prior: f32,
    },
}

/// From the log-likelihoods of an option's tokens to one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduce {
    /// Their sum: the log-likelihood of the text. Favours short options.
    Sum,
    /// Their mean, terminator included.
    Mean,
}

impl Readout {
    /// Checks the settings.
    ///
    /// # Errors
    /// `less_prior` is no number from 0 to 2.
    pub fn validate(&self) -> Result<(), HeadError> {
        match self {
            Readout::Text { less_prior, .. } if !(0.0..=MAX_LESS_PRIOR).contains(less_prior) => {
                Err(HeadError::Readout {
                    field: "less_prior",
                    reason: format!("is {less_prior}: use a number from 0 (off) to {MAX_LESS_PRIOR}"),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether the decision must be encoded with its prior.
    pub fn needs_prior(&self) -> bool {
        matches!(self, Readout::Text { less_prior, .. } if *less_prior != 0.0)
    }
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Label,
    Slot,
    Text,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReadout {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reduce: Option<Reduce>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    less_prior: Option<f32>,
}

impl TryFrom<RawReadout> for Readout {
    type Error = HeadError;

    fn try_from(raw: RawReadout) -> Result<Self, HeadError> {
        let readout = match raw.kind {
            Kind::Label | Kind::Slot => {
                let extra = raw
                    .reduce
                    .map(|_| "reduce")
                    .or(raw.less_prior.map(|_| "less_prior"));
                if let Some(field) = extra {
                    return Err(HeadError::Readout {
                        field,
                        reason: "belongs to kind `text` only".into(),
                    });
                }
                if raw.kind == Kind::Slot {
                    Readout::Slot
                } else {
                    Readout::Label
                }
            }
            Kind::Text => Readout::Text {
                reduce: raw.reduce.ok_or_else(|| HeadError::Readout {
                    field: "reduce",
                    reason: "is missing: use sum or mean".into(),
                })?,
                less_prior: raw.less_prior.unwrap_or(0.0),
            },
        };
        readout.validate()?;
        Ok(readout)
    }
}

impl From<Readout> for RawReadout {
    fn from(readout: Readout) -> Self {
        match readout {
            Readout::Label => RawReadout {
                kind: Kind::Label,
                reduce: None,
                less_prior: None,
            },
            Readout::Slot => RawReadout {
                kind: Kind::Slot,
                reduce: None,
                less_prior: None,
            },
            Readout::Text { reduce, less_prior } => RawReadout {
                kind: Kind::Text,
                reduce: Some(reduce),
                less_prior: Some(less_prior),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_both_ways() {
        for (json, readout) in [
            (r#"{"kind":"label"}"#, Readout::Label),
            (r#"{"kind":"slot"}"#, Readout::Slot),
            (
                r#"{"kind":"text","reduce":"mean","less_prior":0.5}"#,
                Readout::Text {
                    reduce: Reduce::Mean,
                    less_prior: 0.5,
                },
            ),
        ] {
            assert_eq!(serde_json::from_str::<Readout>(json).unwrap(), readout);
            assert_eq!(serde_json::to_string(&readout).unwrap(), json);
        }
        assert!(
            !serde_json::from_str::<Readout>(r#"{"kind":"text","reduce":"sum"}"#)
                .unwrap()
                .needs_prior()
        );
    }

    #[test]
    fn mistakes_are_refused() {
        for (json, says) in [
            (r#"{"kind":"text"}"#, "`reduce`"),
            (r#"{"kind":"label","reduce":"sum"}"#, "`reduce`"),
            (r#"{"kind":"label","less_prior":0}"#, "`less_prior`"),
            (r#"{"kind":"slot","reduce":"sum"}"#, "`reduce`"),
            (r#"{"kind":"text","reduce":"sum","less_prior":-1}"#, "-1"),
            (r#"{"kind":"text","reduce":"sum","less_prior":3}"#, "0 (off) to 2"),
            (r#"{"kind":"text","reduce":"sum","extra":3}"#, "extra"),
            (r#"{"kind":"letter"}"#, "letter"),
        ] {
            let error = serde_json::from_str::<Readout>(json).unwrap_err().to_string();
            assert!(error.contains(says), "{json}: {error}");
        }
        let nan = Readout::Text {
            reduce: Reduce::Sum,
            less_prior: f32::NAN,
        };
        assert!(nan.validate().is_err());
    }
}
