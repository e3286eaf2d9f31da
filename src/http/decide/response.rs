//! The answer of `POST /decide`, and of `assize decide --json`.

use assize_heads::FittedHead;
use assize_models::EngineInfo;
use assize_preprocess::prompt::PREDICATE_TRUE;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::content::TextOrJson;
use crate::http::pipeline::Answered;
use crate::http::timings::StageTimings;
use crate::service::{Answer, AnswerKind, MediumKind, MediumReport, Mismatch, Service};

/// The answers, in the order of the questions, and what made them.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DecideResponse {
    /// The model's name.
    pub model: String,
    /// Hash of everything that the probabilities depend on.
    pub artifact: String,
    /// What ran the model.
    pub engine: DecideEngine,
    /// The fitted head that gave the scores; null where the model's own readout did.
    pub head: Option<String>,
    /// The calibration that was applied; null where none is loaded: probabilities are raw.
    pub calibration: Option<String>,
    /// Heads and calibrations that were made for another artifact than this one and are used all the same
    /// (`--allow-mismatch`); empty where there are none. Probabilities are not to be trusted otherwise.
    pub mismatch: Vec<Mismatch>,
    /// One per question.
    pub answers: Vec<DecideAnswer>,
    /// What the request cost.
    pub usage: DecideUsage,
    /// Tokens of the state that `truncate` dropped; where it is cut in several ways for questions of different length, the
    /// most.
    pub truncated_tokens: usize,
    /// What became of each medium, in the order given.
    pub media: Vec<DecideMediumReport>,
    /// Time by stage.
    pub timings_ms: DecideTimings,
}

/// What became of one medium.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DecideMediumReport {
    /// `image`, `audio` or `video`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Soft tokens that the model reads in its place.
    pub soft_tokens: usize,
    /// Of a video: frames that the model sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<usize>,
    /// Of a sound or a video: its length, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Of a sound that was cut: how much of it the model hears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_to_seconds: Option<f64>,
    /// Of a video with a sound track: true, since the model does not hear it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sound_ignored: bool,
    /// Of a file that holds more of its kind: true, since only the first frame of an animation, the first page, or one sound
    /// track is read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub others_ignored: bool,
}

impl From<&MediumReport> for DecideMediumReport {
    fn from(report: &MediumReport) -> Self {
        Self {
            kind: report.kind.name().to_owned(),
            soft_tokens: report.soft_tokens,
            frames: report.frames,
            seconds: report.length.map(|length| length.as_secs_f64()),
            cut_to_seconds: report.cut_to.map(|length| length.as_secs_f64()),
            sound_ignored: report.sound_ignored,
            others_ignored: report.others_ignored,
        }
    }
}

impl DecideUsage {
    fn new(input_tokens: usize, media: &[MediumReport], copies: usize) -> Self {
        let of = |kind| {
            let of_kind = media.iter().filter(|report| report.kind == kind);
            of_kind.map(|report| copies * report.soft_tokens).sum::<usize>()
        };
        let (image, audio, video) = (
            of(MediumKind::Image),
            of(MediumKind::Audio),
            of(MediumKind::Video),
        );
        Self {
            input_tokens,
            text_tokens: input_tokens.saturating_sub(image + audio + video),
            image_tokens: image,
            audio_tokens: audio,
            video_tokens: video,
            output_tokens: 0,
        }
    }
}

/// What ran the model.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DecideEngine {
    /// The engine's name.
    pub name: String,
    /// Version of the library behind it.
    pub version: String,
    /// Arithmetic of the linear layers.
    pub precision: String,
    /// The kernels chosen for this host.
    pub kernels: String,
    /// Threads of one forward pass.
    pub threads: usize,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum DecideAnswer {
    /// To a choice.
    Choice(ChoiceAnswer),
    /// To a predicate.
    Predicate(PredicateAnswer),
    /// To a score.
    Score(ScoreAnswer),
}

/// One of several options.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ChoiceAnswer {
    /// The question's id, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The most probable option, the first of equals.
    pub choice: String,
    /// Its index in the caller's order.
    pub choice_index: usize,
    /// How peaked the probabilities are: 1 on one option, 0 uniform.
    pub confidence: f64,
    /// Share of the model's next-token mass that fell on the options; null where it is not defined.
    pub option_mass: Option<f32>,
    /// Option orders that were averaged over: 1 where the prompt form shows no options, whatever was asked.
    pub orders: usize,
    /// In the caller's order.
    pub probabilities: Vec<ChosenOption>,
}

/// An option and its probability.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ChosenOption {
    /// The option's name, as it was given.
    pub option: String,
    /// From 0 to 1; all of a question's sum to 1.
    pub probability: f64,
    /// The same before calibration.
    pub raw_probability: f64,
    /// The readout's score in log space, or the log of the mean probability where several orders were averaged over; softmax
    /// over the options gives the raw probabilities.
    pub raw_score: f32,
}

/// True or false.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PredicateAnswer {
    /// The question's id, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The probability of true.
    pub probability: f64,
    /// The same before calibration.
    pub raw_probability: f64,
    /// How far from one half: 1 is certain, 0 is undecided.
    pub confidence: f64,
    /// Share of the model's next-token mass that fell on true and false; null where it is not defined.
    pub option_mass: Option<f32>,
    /// Option orders that were averaged over: 1 where the prompt form shows no options, whatever was asked.
    pub orders: usize,
    /// The readout's scores in log space, false first, then true.
    pub raw_scores: Vec<f32>,
}

/// A position on ordered levels.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ScoreAnswer {
    /// The question's id, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The expected level, counted from 0.
    pub score: f64,
    /// The most probable level, the lowest of equals.
    pub level: usize,
    /// How close the probabilities lie to the most probable level: 1 is all on it.
    pub confidence: f64,
    /// Share of the model's next-token mass that fell on the levels; null where it is not defined.
    pub option_mass: Option<f32>,
    /// Option orders that were averaged over: 1 where the prompt form shows no options, whatever was asked.
    pub orders: usize,
    /// Lowest level first.
    pub probabilities: Vec<LevelProbability>,
}

/// A level and its probability.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LevelProbability {
    /// Counted from 0.
    pub level: usize,
    /// The level as it was described.
    pub description: TextOrJson,
    /// From 0 to 1; all of a question's sum to 1.
    pub probability: f64,
    /// The same before calibration.
    pub raw_probability: f64,
    /// The readout's score in log space, or the log of the mean probability where several orders were averaged over.
    pub raw_score: f32,
}

/// What a request cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct DecideUsage {
    /// Tokens that the forward pass computed: the state once (once for each way in which it was cut), every question, every
    /// option text.
    pub input_tokens: usize,
    /// Those of them that are text.
    pub text_tokens: usize,
    /// Soft tokens of pictures.
    pub image_tokens: usize,
    /// Soft tokens of sounds.
    pub audio_tokens: usize,
    /// Soft tokens of video frames.
    pub video_tokens: usize,
    /// Always 0: nothing is generated.
    pub output_tokens: usize,
}

/// Milliseconds by stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct DecideTimings {
    /// From the bytes of media files to pixels and samples.
    pub decode: f64,
    /// From pixels and samples to patches and frames.
    pub preprocess: f64,
    /// Prompt writing and tokenisation.
    pub tokenise: f64,
    /// Waiting for the engine.
    pub queue: f64,
    /// The forward pass of the batch that held the request.
    pub forward: f64,
    /// From hidden states to scores.
    pub readout: f64,
    /// From the arrival of the request's head to the answer.
    pub total: f64,
}

impl From<StageTimings> for DecideTimings {
    fn from(timings: StageTimings) -> Self {
        // Microseconds are as fine as the clock is worth reading.
        let ms = |duration: std::time::Duration| duration.as_micros() as f64 / 1000.0;
        Self {
            decode: ms(timings.decode),
            preprocess: ms(timings.preprocess),
            tokenise: ms(timings.tokenise),
            queue: ms(timings.queue),
            forward: ms(timings.forward),
            readout: ms(timings.readout),
            total: ms(timings.total),
        }
    }
}

impl From<&EngineInfo> for DecideEngine {
    fn from(engine: &EngineInfo) -> Self {
        Self {
            name: engine.name.to_owned(),
            version: engine.version.clone(),
            precision: engine.precision.to_string(),
            kernels: engine.kernels.clone(),
            threads: engine.threads,
        }
    }
}

impl DecideAnswer {
    fn new(answer: Answer, id: Option<String>) -> Self {
        let Answer {
            kind,
            confidence,
            option_mass,
            orders,
            options,
        } = answer;
        match kind {
            AnswerKind::Choice { choice, names } => Self::Choice(ChoiceAnswer {
                id,
                choice: names.get(choice).cloned().unwrap_or_default(),
                choice_index: choice,
                confidence,
                option_mass,
                orders,
                probabilities: names
                    .into_iter()
                    .zip(options)
                    .map(|(option, found)| ChosenOption {
                        option,
                        probability: found.probability.get(),
                        raw_probability: found.raw_probability.get(),
                        raw_score: found.raw_score,
                    })
                    .collect(),
            }),
            AnswerKind::Predicate { probability } => Self::Predicate(PredicateAnswer {
                id,
                probability: probability.get(),
                raw_probability: options
                    .get(PREDICATE_TRUE)
                    .map_or(0.0, |option| option.raw_probability.get()),
                confidence,
                option_mass,
                orders,
                raw_scores: options.iter().map(|option| option.raw_score).collect(),
            }),
            AnswerKind::Score { score, level, levels } => Self::Score(ScoreAnswer {
                id,
                score,
                level,
                confidence,
                option_mass,
                orders,
                probabilities: levels
                    .into_iter()
                    .zip(options)
                    .enumerate()
                    .map(|(level, (description, found))| LevelProbability {
                        level,
                        description: TextOrJson(description),
                        probability: found.probability.get(),
                        raw_probability: found.raw_probability.get(),
                        raw_score: found.raw_score,
                    })
                    .collect(),
            }),
        }
    }
}

impl DecideResponse {
    /// The response for answers whose `extra` are the questions' ids.
    pub fn new(service: &Service, answered: Answered<Vec<Option<String>>>) -> Self {
        let mut ids = answered.extra.into_iter();
        Self {
            model: service.name().to_owned(),
            artifact: service.artifact_id().to_string(),
            engine: service.engine().into(),
            head: service.fitted_head().map(FittedHead::id),
            calibration: service.calibration_id().map(str::to_owned),
            mismatch: service.mismatches().to_vec(),
            answers: answered
                .answers
                .into_iter()
                .map(|answer| DecideAnswer::new(answer, ids.next().flatten()))
                .collect(),
            usage: DecideUsage::new(answered.input_tokens, &answered.media, answered.state_copies),
            media: answered.media.iter().map(DecideMediumReport::from).collect(),
            truncated_tokens: answered.truncated_tokens,
            timings_ms: answered.timings.into(),
        }
    }
}
