//! K questions about one state in one packed pass, against one pass and against K separate passes.

use std::time::Instant;

use assize_models::{Backbone, ModelError, PackedBatch, TokenId};
use serde::Serialize;

use super::prompts::fixed_tokens;
use super::report::Record;
use super::{BenchError, Identity, Summary, paired_ratio};

/// Times at one number of questions.
#[derive(Debug, Clone, Serialize)]
pub struct SharedStateRecord {
    /// Always `shared-state`.
    pub test: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub identity: Identity,
    /// Tokens of the state.
    pub n_state: usize,
    /// Tokens of one question.
    pub n_question: usize,
    /// Number of questions.
    pub questions: usize,
    /// Median time of one packed pass.
    pub packed_median_ns: u64,
    /// Median time of one pass per question, added up.
    pub separate_median_ns: u64,
    /// Packed time over the packed time of one question, median of the ratios within a round.
    pub ratio_to_one: f64,
    /// Separate time over packed time, median of the ratios within a round.
    pub gain: f64,
    /// Every packed time.
    pub packed_samples_ns: Vec<u64>,
    /// Every separate time.
    pub separate_samples_ns: Vec<u64>,
}

impl Record for SharedStateRecord {
    const COLUMNS: &'static [&'static str] = &[
        "model",
        "precision",
        "threads",
        "n_state",
        "n_question",
        "questions",
        "packed_median_ns",
        "separate_median_ns",
        "ratio_to_one",
        "gain",
    ];
}

/// What to run.
#[derive(Debug, Clone)]
pub struct SharedStateOptions {
    /// Tokens of the state.
    pub state: usize,
    /// Tokens of one question.
    pub question: usize,
    /// Numbers of questions; 1 is always measured.
    pub questions: Vec<usize>,
    /// Rounds; every form runs once in each.
    pub rounds: usize,
}

/// Measures every number of questions, all forms in turn within each round.
///
/// # Errors
/// A length is 0, the paths are over the context, or the engine fails.
pub fn shared_state(
    backbone: &dyn Backbone,
    identity: &Identity,
    options: &SharedStateOptions,
) -> Result<Vec<SharedStateRecord>, BenchError> {
    let vocabulary = backbone.description().vocabulary;
    let state = fixed_tokens(vocabulary, options.state, 1);
    let mut counts = options.questions.clone();
    counts.push(1);
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|count| *count > 0);
    let question = |index: usize| fixed_tokens(vocabulary, options.question, 100 + index as u64);
    let packed = counts
        .iter()
        .map(|count| batch(&state, (0..*count).map(question)))
        .collect::<Result<Vec<_>, _>>()?;
    let most = counts.last().copied().unwrap_or(1);
    let separate = (0..most)
        .map(|index| batch(&state, std::iter::once(question(index))))
        .collect::<Result<Vec<_>, _>>()?;

    let mut packed_ns = vec![Vec::new(); counts.len()];
    let mut separate_ns = vec![Vec::new(); counts.len()];
    for found in &packed {
        backbone.forward(found)?;
    }
    for _ in 0..options.rounds.max(1) {
        // Packed forms follow one another, so that the machine drifts little between the two sides of `ratio_to_one`.
        for (samples, batch) in packed_ns.iter_mut().zip(&packed) {
            samples.push(timed(backbone, std::iter::once(batch))?);
        }
        for (samples, count) in separate_ns.iter_mut().zip(&counts) {
            samples.push(timed(backbone, separate.iter().take(*count))?);
        }
    }
    let as_f64 = |samples: &[u64]| samples.iter().map(|ns| *ns as f64).collect::<Vec<_>>();
    let one = packed_ns
        .first()
        .map(|samples| as_f64(samples))
        .unwrap_or_default();
    Ok(counts
        .iter()
        .zip(packed_ns.into_iter().zip(separate_ns))
        .map(|(count, (packed, separate))| {
            let (p, s) = (as_f64(&packed), as_f64(&separate));
            SharedStateRecord {
                test: "shared-state",
                identity: identity.clone(),
                n_state: options.state,
                n_question: options.question,
                questions: *count,
                packed_median_ns: Summary::of(&p).median.round() as u64,
                separate_median_ns: Summary::of(&s).median.round() as u64,
                ratio_to_one: paired_ratio(&p, &one),
                gain: paired_ratio(&s, &p),
                packed_samples_ns: packed,
                separate_samples_ns: separate,
            }
        })
        .collect())
}

fn batch(
    state: &[TokenId],
    questions: impl Iterator<Item = Vec<TokenId>>,
) -> Result<PackedBatch, ModelError> {
    let mut batch = PackedBatch::new();
    let root = batch.push_segment(None, state)?;
    for question in questions {
        let segment = batch.push_segment(Some(root), &question)?;
        batch.read_last(segment)?;
    }
    Ok(batch)
}

fn timed<'b>(
    backbone: &dyn Backbone,
    batches: impl Iterator<Item = &'b PackedBatch>,
) -> Result<u64, ModelError> {
    let start = Instant::now();
    for batch in batches {
        backbone.forward(batch)?;
    }
    Ok(start.elapsed().as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_children_of_the_state_and_each_is_read_once() {
        let found = batch(&[1, 2, 3], [vec![4, 5], vec![6]].into_iter()).unwrap();
        assert_eq!(found.reads(), [4, 5]);
        assert_eq!(found.positions(), [0, 1, 2, 3, 4, 3]);
    }
}
