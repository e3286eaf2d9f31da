//! The service: one loaded model that turns decisions into answers, knowing nothing of HTTP or queues.

mod answer;
mod binding;
mod calibration;
mod calibration_file;
mod error;
mod hidden;
mod media;
mod open;

use std::time::{Duration, Instant};

use assize_heads::fitted_head::{HeadQuestion, PromptCut};
use assize_heads::{FittedHead, HeadError, PackedDecision, QuestionScores, Readout, SlotHead};
use assize_models::{
    ArtifactDescription, ArtifactId, Backbone, EngineInfo, Interrupt, ModelCard, PackedBatch,
};
use assize_preprocess::decision::Decision;
use assize_preprocess::prompt::{EncodeOptions, EncodedGroup, PromptForm, Truncate};
use assize_preprocess::{PromptTokenizer, TokenId};
use sha2::{Digest as _, Sha256};

pub use answer::{Answer, AnswerKind, OptionProbability};
pub use binding::{Binding, BindingKind, DifferingField, Mismatch, NamedArtifact};
use calibration::ServedCalibration;
pub use calibration_file::{
    Asked, CalibratedQuestion, CalibrationFile, CalibrationFileError, EvaluatedOn, FittedOn, Promises,
};
pub use error::ServiceError;
pub(crate) use media::picture;
pub use media::{MediumError, MediumFault, MediumKind, MediumReport, PreparedMedia, RawMedium};
pub use open::{Attachments, ServiceOptions};

use crate::scheduler::BatchRunner;

/// How a caller wants a decision to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionSettings {
    /// Option orders that are averaged over; 1 is the caller's order alone.
    pub order_averages: usize,
    /// What part of a state that is too long is dropped.
    pub truncate: Truncate,
    /// Most tokens of a prompt where that is to be less than the model's context, option included.
    pub max_tokens: Option<usize>,
}

impl Default for DecisionSettings {
    fn default() -> Self {
        Self {
            order_averages: 1,
            truncate: Truncate::Error,
            max_tokens: None,
        }
    }
}

/// A decision as token ids, ready for the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    groups: Vec<EncodedGroup>,
    media: PreparedMedia,
    tokens: usize,
    tokenise: Duration,
}

impl Prepared {
    /// Rows that the forward pass will compute.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Tokens of the state that the truncation policy dropped; the most that it dropped for any question.
    pub fn truncated_tokens(&self) -> usize {
        let groups = self.groups.iter();
        groups
            .map(|group| group.encoded.truncated_tokens)
            .max()
            .unwrap_or(0)
    }

    /// sha256 (hex) over the token ids of the state, of every question in every order and of every option, with their
    /// lengths: prompts with equal hashes are the same.
    pub fn token_hash(&self) -> String {
        fn add(hasher: &mut Sha256, tokens: &[TokenId]) {
            hasher.update((tokens.len() as u64).to_le_bytes());
            for token in tokens {
                hasher.update(token.to_le_bytes());
            }
        }
        let mut hasher = Sha256::new();
        for encoded in self.groups.iter().map(|group| &group.encoded) {
            add(&mut hasher, &encoded.state);
            add(&mut hasher, encoded.prior_state.as_deref().unwrap_or_default());
            for order in encoded.questions.iter().flat_map(|question| &question.orders) {
                add(&mut hasher, &order.tokens);
                add(&mut hasher, order.labels.as_deref().unwrap_or_default());
                for branch in &order.branches {
                    add(&mut hasher, branch);
                }
            }
        }
        hex::encode(hasher.finalize())
    }

    /// How many times the state, with its media, is computed: once for each way in which it was cut.
    pub fn state_copies(&self) -> usize {
        self.groups.len()
    }

    /// What became of each medium, in the order given.
    pub fn media(&self) -> &[MediumReport] {
        &self.media.reports
    }

    /// Time that decoding of media took.
    pub fn decode_time(&self) -> Duration {
        self.media.decode
    }

    /// Time from pixels and samples to patches and frames.
    pub fn preprocess_time(&self) -> Duration {
        self.media.preprocess
    }

    /// Time that tokenisation took.
    pub fn tokenise_time(&self) -> Duration {
        self.tokenise
    }
}

/// What a forward pass gave for one decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Scores of every question, in the caller's order.
    pub questions: Vec<QuestionScores>,
    /// Time of packing and of the forward pass of the whole batch.
    pub forward: Duration,
    /// Time of this decision's readout.
    pub readout: Duration,
}

/// One loaded model: tokenizer, prompt form, backbone, readout, and the artifact that they make.
pub struct Service {
    card: ModelCard,
    tokenizer: PromptTokenizer,
    form: PromptForm,
    readout: Readout,
    head: Option<ServedHead>,
    calibration: Option<ServedCalibration>,
    mismatches: Vec<Mismatch>,
    backbone: Box<dyn Backbone>,
    base: ArtifactDescription,
    artifact: ArtifactDescription,
    id: ArtifactId,
}

/// The head that scores are read with.
enum ServedHead {
    /// The one that came with the model.
    OfModel(SlotHead),
    /// One that was fitted to labelled rows.
    Fitted(Box<FittedHead>),
}

impl ServedHead {
    fn numbers(&self) -> &SlotHead {
        match self {
            Self::OfModel(head) => head,
            Self::Fitted(fitted) => fitted.head(),
        }
    }
}

impl Service {
    /// The model's card.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// The model's name, as in requests and answers.
    pub fn name(&self) -> &str {
        &self.card.name
    }

    /// Everything that the probabilities depend on.
    pub fn artifact(&self) -> &ArtifactDescription {
        &self.artifact
    }

    /// The same without a fitted head: the artifact whose hidden states such a head reads.
    pub fn base_artifact(&self) -> &ArtifactDescription {
        &self.base
    }

    /// The fitted head that answers, where one does.
    pub fn fitted_head(&self) -> Option<&FittedHead> {
        match &self.head {
            Some(ServedHead::Fitted(fitted)) => Some(fitted),
            _ => None,
        }
    }

    /// Id of the calibration that is applied, where one is.
    pub fn calibration_id(&self) -> Option<&str> {
        self.calibration
            .as_ref()
            .map(|calibration| calibration.binding.id.as_str())
    }

    /// Heads and calibrations that were made for another artifact and are used all the same; every answer names them.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.mismatches
    }

    /// The hash of [`Self::artifact`].
    pub fn artifact_id(&self) -> &ArtifactId {
        &self.id
    }

    /// What runs the model.
    pub fn engine(&self) -> &EngineInfo {
        self.backbone.engine()
    }

    /// The loaded model.
    pub fn backbone(&self) -> &dyn Backbone {
        self.backbone.as_ref()
    }

    /// The readout.
    pub fn readout(&self) -> &Readout {
        &self.readout
    }

    /// The prompt form.
    pub fn form(&self) -> &PromptForm {
        &self.form
    }

    /// Longest path of tokens.
    pub fn context(&self) -> usize {
        self.backbone.description().context
    }

    /// Writes a decision without media as token ids. Pure computation on the calling thread.
    ///
    /// # Errors
    /// The decision cannot be asked as it stands, or does not fit the context.
    pub fn prepare(&self, decision: &Decision, settings: DecisionSettings) -> Result<Prepared, ServiceError> {
        self.prepare_with_media(decision, PreparedMedia::default(), settings)
    }

    /// Writes a decision as token ids, with the soft tokens of `media`, which belong to its state. Pure computation on the
    /// calling thread.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_with_media(
        &self,
        decision: &Decision,
        media: PreparedMedia,
        settings: DecisionSettings,
    ) -> Result<Prepared, ServiceError> {
        let started = Instant::now();
        let fitted = self.fitted_head();
        if let (Some(layers), None) = (self.base.layers, fitted) {
            return Err(ServiceError::NoReadout { layers });
        }
        for (index, question) in decision.questions.iter().enumerate() {
            if let Some(fitted) = fitted
                && let Some(reason) = fitted.card().question.mismatch(&HeadQuestion::from(question))
            {
                let question = index;
                return Err(HeadError::NotFitted { question, reason }.into());
            }
            if let Some(calibration) = &self.calibration {
                calibration.check(index, question)?;
            }
        }
        let options = match fitted {
            Some(fitted) => self.encoding_for_head(fitted.card().prompt),
            None => EncodeOptions {
                context: self.context().min(settings.max_tokens.unwrap_or(usize::MAX)),
                truncate: settings.truncate,
                order_averages: settings.order_averages,
                prior: self.readout.needs_prior(),
            },
        };
        let prepared = self.encode(decision, media, options, &self.readout, started)?;
        // Found here and not on the engine thread, because the caller can mend it.
        for group in &prepared.groups {
            for (index, question) in group.questions.iter().zip(&group.encoded.questions) {
                let options = question.options;
                if self.readout == Readout::Label
                    && question.orders.iter().any(|order| order.labels.is_none())
                {
                    let question = *index;
                    return Err(HeadError::NoLabels { question, options }.into());
                }
                if let Some(head) = &self.head {
                    head.numbers().check_options(*index, options)?;
                }
            }
        }
        Ok(prepared)
    }

    /// How prompts are written for a fitted head: as those that it was fitted on.
    fn encoding_for_head(&self, cut: PromptCut) -> EncodeOptions {
        EncodeOptions {
            context: self.context().min(cut.max_tokens),
            truncate: cut.truncate,
            order_averages: 1,
            prior: false,
        }
    }

    fn encode(
        &self,
        decision: &Decision,
        media: PreparedMedia,
        options: EncodeOptions,
        readout: &Readout,
        started: Instant,
    ) -> Result<Prepared, ServiceError> {
        let groups = self
            .form
            .encode_groups(&self.tokenizer, decision, &media.outlines, &options)?;
        let tokens = groups
            .iter()
            .map(|group| PackedDecision::token_count(&group.encoded, readout))
            .sum();
        Ok(Prepared {
            groups,
            media,
            tokens,
            tokenise: started.elapsed(),
        })
    }

    /// Runs several decisions in one forward pass; one [`Scored`] each, in order.
    ///
    /// # Errors
    /// A decision cannot be packed or read, or the engine fails.
    pub fn score(&self, decisions: &[&Prepared]) -> Result<Vec<Scored>, ServiceError> {
        self.score_unless(decisions, &Interrupt::default())
    }

    /// Like [`Self::score`], unless `interrupt` is asked first.
    fn score_unless(
        &self,
        decisions: &[&Prepared],
        interrupt: &Interrupt,
    ) -> Result<Vec<Scored>, ServiceError> {
        let started = Instant::now();
        let mut batch = PackedBatch::new();
        let packed = decisions
            .iter()
            .map(|prepared| {
                let media = &prepared.media.media;
                let pack = |group: &EncodedGroup| {
                    PackedDecision::pack(&group.encoded, media, &self.readout, &mut batch)
                };
                prepared.groups.iter().map(pack).collect()
            })
            .collect::<Result<Vec<Vec<_>>, _>>()?;
        let hidden = self.backbone.forward_unless(&batch, interrupt)?;
        let forward = started.elapsed();
        let head = self.head.as_ref().map(ServedHead::numbers);
        packed
            .iter()
            .zip(decisions)
            .map(|(packed, prepared)| {
                let started = Instant::now();
                let mut scored = Vec::new();
                for (packed, group) in packed.iter().zip(&prepared.groups) {
                    let scores = packed.scores(self.backbone.as_ref(), head, &hidden)?;
                    scored.extend(group.questions.iter().copied().zip(scores));
                }
                scored.sort_by_key(|(question, _)| *question);
                let questions = scored.into_iter().map(|(_, scores)| scores).collect();
                Ok(Scored {
                    questions,
                    forward,
                    readout: started.elapsed(),
                })
            })
            .collect()
    }

    /// Turns scores into answers.
    ///
    /// # Errors
    /// The scores are not those of this decision, or not finite.
    pub fn answers(&self, decision: &Decision, scored: &Scored) -> Result<Vec<Answer>, ServiceError> {
        if decision.questions.len() != scored.questions.len() {
            return Err(ServiceError::Mismatch {
                what: "questions",
                asked: decision.questions.len(),
                scored: scored.questions.len(),
            });
        }
        let calibration = self.calibration.as_ref().map(|calibration| &calibration.file);
        decision
            .questions
            .iter()
            .zip(&scored.questions)
            .map(|(question, scores)| Answer::new(question, scores, calibration))
            .collect()
    }
}

impl BatchRunner for Service {
    type Job = Prepared;
    type Output = Scored;

    fn run(&self, jobs: &[&Prepared], interrupt: &Interrupt) -> Result<Vec<Scored>, String> {
        self.score_unless(jobs, interrupt)
            .map_err(|error| error.to_string())
    }
}
