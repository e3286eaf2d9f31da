//! A decision packed into a batch, and its scores from the hidden states.

use std::collections::HashMap;
use std::sync::Arc;

use assize_models::{Backbone, HiddenStates, Medium, PackedBatch, Part, ReadIndex, SegmentIndex, TokenId};
use assize_preprocess::prompt::{EncodedDecision, EncodedOrder, EncodedQuestion};

use crate::option_trie::{OptionTrie, Step};
use crate::question_scores::{OrderScores, average_orders, log_sum_exp};
use crate::{HeadError, QuestionScores, Readout, Reduce, SlotHead};

/// Where the rows of one decision stand in a batch, and how they become scores.
#[derive(Debug)]
pub struct PackedDecision {
    readout: Readout,
    questions: Vec<Vec<PackedOrder>>,
}

/// One question in one option order.
#[derive(Debug)]
enum PackedOrder {
    Label {
        read: ReadIndex,
        labels: Vec<TokenId>,
    },
    Slot {
        read: ReadIndex,
        /// The caller's option at each shown place, which is its slot.
        order: Vec<usize>,
    },
    Text {
        trie: OptionTrie,
        /// The row of each node of the trie behind the state.
        reads: Vec<ReadIndex>,
        /// The same without the state, where it is subtracted.
        prior_reads: Option<Vec<ReadIndex>>,
    },
}

impl PackedDecision {
    /// Pushes the segments of one decision as a tree of its own (two trees where the readout subtracts the prior) and
    /// asks for every row that its scores need, each once. `media` are the pictures, frames and sounds of its soft runs.
    ///
    /// # Errors
    /// The readout is not valid, the media are not those of the soft runs, or the encoded decision has no labels, no
    /// prior or no tokens where the readout needs them. The batch may then hold part of the decision and must not be run.
    pub fn pack(
        encoded: &EncodedDecision,
        media: &[Arc<Medium>],
        readout: &Readout,
        batch: &mut PackedBatch,
    ) -> Result<Self, HeadError> {
        readout.validate()?;
        let prior_state = match (readout.needs_prior(), &encoded.prior_state) {
            (false, _) => None,
            (true, Some(prior)) => Some(prior),
            (true, None) => return Err(HeadError::NoPrior),
        };
        for (index, question) in encoded.questions.iter().enumerate() {
            check(index, question, readout)?;
        }
        let state = push_state(batch, encoded, media)?;
        let mut questions = encoded
            .questions
            .iter()
            .map(|question| {
                question
                    .orders
                    .iter()
                    .map(|order| push_order(batch, state, order, readout))
                    .collect::<Result<Vec<_>, HeadError>>()
            })
            .collect::<Result<Vec<_>, HeadError>>()?;
        if let Some(prior_state) = prior_state {
            let prior = push_root(batch, prior_state)?;
            for (packed, question) in questions.iter_mut().zip(&encoded.questions) {
                for (packed, order) in packed.iter_mut().zip(&question.orders) {
                    if let PackedOrder::Text {
                        trie, prior_reads, ..
                    } = packed
                    {
                        let segment = batch.push_segment(prior, &order.tokens)?;
                        *prior_reads = Some(trie.push(batch, segment)?);
                    }
                }
            }
        }
        Ok(Self {
            readout: *readout,
            questions,
        })
    }

    /// Rows that [`Self::pack`] would push.
    pub fn token_count(encoded: &EncodedDecision, readout: &Readout) -> usize {
        let below: usize = encoded
            .questions
            .iter()
            .flat_map(|question| &question.orders)
            .map(|order| match readout {
                Readout::Label | Readout::Slot => order.tokens.len(),
                Readout::Text { .. } => order.tokens.len() + OptionTrie::new(&order.branches).rows(),
            })
            .sum();
        let prior = match &encoded.prior_state {
            Some(prior) if readout.needs_prior() => prior.len() + below,
            _ => 0,
        };
        encoded.state.len() + below + prior
    }

    /// The scores of every question, from the hidden states of the batch that this decision was packed into. `head` is
    /// read by the slot readout only.
    ///
    /// # Errors
    /// The hidden states are of another batch, the backbone fails, a score is not finite, or the head is missing, of
    /// another width or short of slots.
    pub fn scores(
        &self,
        backbone: &dyn Backbone,
        head: Option<&SlotHead>,
        hidden: &HiddenStates,
    ) -> Result<Vec<QuestionScores>, HeadError> {
        let normalizers = self.normalizers(backbone, hidden)?;
        self.questions
            .iter()
            .enumerate()
            .map(|(index, orders)| {
                let orders = orders
                    .iter()
                    .map(|order| self.order_scores(order, backbone, head, hidden, &normalizers))
                    .collect::<Result<Vec<_>, HeadError>>()?;
                // Checked before averaging, which could hide an infinite score of one order.
                for order in &orders {
                    check_finite(index, &order.scores)?;
                }
                let (scores, option_mass) = average_orders(&orders);
                let scores: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
                check_finite(index, &scores)?;
                if let Some(mass) = option_mass.filter(|mass| !mass.is_finite()) {
                    return Err(HeadError::NotFinite {
                        question: index,
                        option: 0,
                        value: mass,
                    });
                }
                Ok(QuestionScores {
                    scores,
                    option_mass: option_mass.map(|mass| mass as f32),
                    orders: orders.len(),
                })
            })
            .collect()
    }

    /// The hidden state at the last position of each question's prompt, in its first option order.
    ///
    /// # Errors
    /// The hidden states are of another batch.
    pub fn last_hidden<'h>(&self, hidden: &'h HiddenStates) -> Result<Vec<&'h [f32]>, HeadError> {
        let read_of = |orders: &Vec<PackedOrder>| match orders.first() {
            Some(PackedOrder::Label { read, .. } | PackedOrder::Slot { read, .. }) => Some(*read),
            Some(PackedOrder::Text { reads, .. }) => reads.first().copied(),
            None => None,
        };
        let reads = self.questions.iter().filter_map(read_of);
        reads.map(|read| row(hidden, read)).collect()
    }

    /// The log normalizer of every row of this decision: one call for all of them.
    fn normalizers(
        &self,
        backbone: &dyn Backbone,
        hidden: &HiddenStates,
    ) -> Result<HashMap<ReadIndex, f64>, HeadError> {
        let mut reads: Vec<ReadIndex> = Vec::new();
        for order in self.questions.iter().flatten() {
            match order {
                PackedOrder::Label { read, .. } => reads.push(*read),
                PackedOrder::Slot { .. } => {}
                PackedOrder::Text {
                    reads: conditioned,
                    prior_reads,
                    ..
                } => {
                    reads.extend(conditioned);
                    reads.extend(prior_reads.iter().flatten());
                }
            }
        }
        if reads.is_empty() {
            return Ok(HashMap::new());
        }
        let mut values = Vec::with_capacity(reads.len() * hidden.width());
        for read in &reads {
            values.extend_from_slice(row(hidden, *read)?);
        }
        let rows = HiddenStates::new(hidden.width(), values)?;
        let normalizers = backbone.log_normalizers(&rows)?;
        Ok(reads
            .into_iter()
            .zip(normalizers.into_iter().map(f64::from))
            .collect())
    }

    fn order_scores(
        &self,
        order: &PackedOrder,
        backbone: &dyn Backbone,
        head: Option<&SlotHead>,
        hidden: &HiddenStates,
        normalizers: &HashMap<ReadIndex, f64>,
    ) -> Result<OrderScores, HeadError> {
        match (order, self.readout) {
            (PackedOrder::Label { read, labels }, _) => {
                let logits = backbone.logits_of(row(hidden, *read)?, labels)?;
                let mut scores: Vec<f64> = logits.into_iter().map(f64::from).collect();
                // A number that the backbone left out is caught as not finite.
                scores.resize(labels.len(), f64::NAN);
                let mass = (log_sum_exp(scores.iter().copied()) - normalizer(normalizers, *read)?).exp();
                Ok(OrderScores {
                    scores,
                    option_mass: Some(mass),
                })
            }
            (PackedOrder::Slot { read, order }, _) => {
                let head = head.ok_or(HeadError::NoHead)?;
                let slots = head.scores(row(hidden, *read)?, order.len())?;
                // An option that no place shows is caught as not finite.
                let mut scores = vec![f64::NAN; order.len()];
                for (slot, option) in slots.into_iter().zip(order) {
                    if let Some(score) = scores.get_mut(*option) {
                        *score = f64::from(slot);
                    }
                }
                Ok(OrderScores {
                    scores,
                    option_mass: None,
                })
            }
            (
                PackedOrder::Text {
                    trie,
                    reads,
                    prior_reads,
                },
                readout,
            ) => {
                let (reduce, less_prior) = match readout {
                    Readout::Text { reduce, less_prior } => (reduce, f64::from(less_prior)),
                    Readout::Label | Readout::Slot => (Reduce::Sum, 0.0),
                };
                let texts = log_likelihoods(trie, reads, backbone, hidden, normalizers)?;
                let mut scores = reduced(trie, &texts, reduce);
                if let Some(prior_reads) = prior_reads {
                    let prior = log_likelihoods(trie, prior_reads, backbone, hidden, normalizers)?;
                    for (score, prior) in scores.iter_mut().zip(reduced(trie, &prior, reduce)) {
                        *score -= less_prior * prior;
                    }
                }
                let option_mass = trie
                    .is_prefix_free()
                    .then(|| texts.iter().map(|log_likelihood| log_likelihood.exp()).sum());
                Ok(OrderScores { scores, option_mass })
            }
        }
    }
}

fn check(index: usize, question: &EncodedQuestion, readout: &Readout) -> Result<(), HeadError> {
    let malformed = |reason: String| HeadError::Malformed {
        question: index,
        reason,
    };
    let no_tokens = |what: String| HeadError::NoTokens {
        question: index,
        what,
    };
    if question.options == 0 || question.orders.is_empty() {
        return Err(malformed("it has no options or no option order".into()));
    }
    for order in &question.orders {
        if order.tokens.is_empty() {
            return Err(no_tokens("the question".into()));
        }
        match readout {
            Readout::Label => {
                let labels = order.labels.as_ref().ok_or(HeadError::NoLabels {
                    question: index,
                    options: question.options,
                })?;
                if labels.len() != question.options {
                    return Err(malformed(format!(
                        "{} labels for {} options",
                        labels.len(),
                        question.options
                    )));
                }
            }
            Readout::Slot => {
                if order.order.len() != question.options {
                    let found = order.order.len();
                    return Err(malformed(format!(
                        "{found} places for {} options",
                        question.options
                    )));
                }
            }
            Readout::Text { .. } => {
                if order.branches.len() != question.options {
                    let found = order.branches.len();
                    return Err(malformed(format!(
                        "{found} branches for {} options",
                        question.options
                    )));
                }
                if let Some(option) = order.branches.iter().position(Vec::is_empty) {
                    return Err(no_tokens(format!("option {option}")));
                }
            }
        }
    }
    Ok(())
}

fn check_finite<T: Copy + Into<f64>>(question: usize, scores: &[T]) -> Result<(), HeadError> {
    let values = scores.iter().map(|score| (*score).into());
    match values.enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((option, value)) => Err(HeadError::NotFinite {
            question,
            option,
            value,
        }),
    }
}

/// A root segment; `None` for an empty one, whose children are roots themselves.
fn push_root(batch: &mut PackedBatch, tokens: &[TokenId]) -> Result<Option<SegmentIndex>, HeadError> {
    if tokens.is_empty() {
        return Ok(None);
    }
    Ok(Some(batch.push_segment(None, tokens)?))
}

/// The state with its media as a root segment; `None` for an empty one.
fn push_state(
    batch: &mut PackedBatch,
    encoded: &EncodedDecision,
    media: &[Arc<Medium>],
) -> Result<Option<SegmentIndex>, HeadError> {
    if encoded.soft_runs.len() != media.len() {
        return Err(HeadError::Media(format!(
            "{} media for {} places",
            media.len(),
            encoded.soft_runs.len()
        )));
    }
    let mut parts = Vec::with_capacity(2 * media.len() + 1);
    let mut behind = 0;
    for (index, (run, medium)) in encoded.soft_runs.iter().zip(media).enumerate() {
        let text = encoded.state.get(behind..run.start);
        let (Some(text), Some(placeholder)) = (text, encoded.state.get(run.start)) else {
            return Err(HeadError::Media(format!(
                "medium {index} has no place in the state"
            )));
        };
        if medium.soft_tokens() != run.len {
            return Err(HeadError::Media(format!(
                "medium {index} has {} soft tokens and {} places",
                medium.soft_tokens(),
                run.len
            )));
        }
        parts.push(Part::Tokens(text));
        parts.push(Part::Medium {
            placeholder: *placeholder,
            medium: Arc::clone(medium),
        });
        behind = run.start + run.len;
    }
    parts.push(Part::Tokens(encoded.state.get(behind..).unwrap_or_default()));
    if encoded.state.is_empty() {
        return Ok(None);
    }
    Ok(Some(batch.push_parts(None, &parts)?))
}

fn push_order(
    batch: &mut PackedBatch,
    state: Option<SegmentIndex>,
    order: &EncodedOrder,
    readout: &Readout,
) -> Result<PackedOrder, HeadError> {
    let segment = batch.push_segment(state, &order.tokens)?;
    match readout {
        Readout::Label => Ok(PackedOrder::Label {
            read: batch.read_last(segment)?,
            labels: order.labels.clone().unwrap_or_default(),
        }),
        Readout::Slot => Ok(PackedOrder::Slot {
            read: batch.read_last(segment)?,
            order: order.order.clone(),
        }),
        Readout::Text { .. } => {
            let trie = OptionTrie::new(&order.branches);
            let reads = trie.push(batch, segment)?;
            Ok(PackedOrder::Text {
                trie,
                reads,
                prior_reads: None,
            })
        }
    }
}

/// log p of every option's text: the sum over its tokens of logit minus log normalizer at the token's row.
fn log_likelihoods(
    trie: &OptionTrie,
    reads: &[ReadIndex],
    backbone: &dyn Backbone,
    hidden: &HiddenStates,
    normalizers: &HashMap<ReadIndex, f64>,
) -> Result<Vec<f64>, HeadError> {
    // The tokens that each row must score, each once.
    let mut wanted: Vec<Vec<TokenId>> = vec![Vec::new(); reads.len()];
    let mut known: HashMap<(usize, TokenId), f64> = HashMap::new();
    for &Step { node, token } in trie.options().iter().flatten() {
        // A number that is not replaced below is caught as not finite.
        if known.insert((node, token), f64::NAN).is_none()
            && let Some(tokens) = wanted.get_mut(node)
        {
            tokens.push(token);
        }
    }
    for ((node, tokens), read) in wanted.iter().enumerate().zip(reads) {
        let logits = backbone.logits_of(row(hidden, *read)?, tokens)?;
        let normalizer = normalizer(normalizers, *read)?;
        for (token, logit) in tokens.iter().zip(logits) {
            known.insert((node, *token), f64::from(logit) - normalizer);
        }
    }
    Ok(trie
        .options()
        .iter()
        .map(|steps| {
            steps
                .iter()
                .map(|step| known.get(&(step.node, step.token)).copied().unwrap_or(f64::NAN))
                .sum()
        })
        .collect())
}

fn reduced(trie: &OptionTrie, log_likelihoods: &[f64], reduce: Reduce) -> Vec<f64> {
    let options = trie.options().iter().zip(log_likelihoods);
    match reduce {
        Reduce::Sum => options.map(|(_, sum)| *sum).collect(),
        Reduce::Mean => options.map(|(steps, sum)| sum / steps.len() as f64).collect(),
    }
}

fn row(hidden: &HiddenStates, read: ReadIndex) -> Result<&[f32], HeadError> {
    hidden.row(read).ok_or(HeadError::MissingRow { row: read.0 })
}

fn normalizer(normalizers: &HashMap<ReadIndex, f64>, read: ReadIndex) -> Result<f64, HeadError> {
    normalizers
        .get(&read)
        .copied()
        .ok_or(HeadError::MissingRow { row: read.0 })
}
