//! The probabilities as `logprobs`, which is where Ollama's clients can read them: they drop fields that they do not know.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::closed_fields::{FieldAnswer, FieldProbability};

/// The value of one field.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OllamaLogprob {
    /// The JSON of the value.
    token: String,
    /// Natural logarithm of its probability.
    logprob: f64,
    /// The bytes of the JSON.
    bytes: Vec<u8>,
    /// The most probable values, if `top_logprobs` asked for any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    top_logprobs: Vec<OllamaTopLogprob>,
}

/// A value that a field could have.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OllamaTopLogprob {
    /// The JSON of the value.
    token: String,
    /// Natural logarithm of its probability.
    logprob: f64,
    /// The bytes of the JSON.
    bytes: Vec<u8>,
}

/// One entry per field, each with its `most` most probable values.
pub(super) fn logprobs(fields: &[FieldAnswer], most: usize) -> Vec<OllamaLogprob> {
    fields
        .iter()
        .map(|field| {
            let mut entries: Vec<&FieldProbability> = field.probabilities.iter().collect();
            // Stable, so that equals stay in the caller's order and the answer stands first.
            entries.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            let mut top = entries.into_iter().map(top).peekable();
            let (token, logprob) = match top.peek() {
                Some(first) => (first.token.clone(), first.logprob),
                None => (field.value.to_string(), 0.0),
            };
            OllamaLogprob {
                bytes: token.clone().into_bytes(),
                token,
                logprob,
                top_logprobs: top.take(most).collect(),
            }
        })
        .collect()
}

fn top(entry: &FieldProbability) -> OllamaTopLogprob {
    let token = entry.value.to_string();
    OllamaTopLogprob {
        bytes: token.clone().into_bytes(),
        token,
        // JSON has no infinity: a probability that rounds to 0 gets the least logarithm that a float has.
        logprob: entry.probability.max(f64::MIN_POSITIVE).ln(),
    }
}
