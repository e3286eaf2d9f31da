//! A conversation and the closed questions about it, on their way through the pipeline.

use std::sync::Arc;
use std::time::Duration;

use assize_preprocess::Until;
use assize_preprocess::decision::{Content, Decision, Question};

use super::asking::Asking;
use super::body::PlainBody;
use super::fault::{MAX_QUESTIONS, StatePlace, blame};
use super::fetch::Fetcher;
use super::media::Attached;
use super::problem::{Fault, Problem, ProblemKind};
use super::transcript::Transcript;
use crate::service::{DecisionSettings, ServiceError};
use crate::strict_json::Place;

/// A request of a protocol whose state is a conversation; `X` is what its answer needs.
#[derive(Debug)]
pub(super) struct ClosedAsking<X> {
    decision: Decision,
    /// Of each question.
    places: Vec<Place>,
    talk: Talk,
    fetcher: Option<Arc<Fetcher>>,
    extra: X,
}

/// The conversation of a request.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) transcript: Transcript,
    /// The field that holds it.
    pub(super) place: Place,
    /// What is left of the body, which holds its room until the pictures are read.
    #[expect(dead_code, reason = "held, not read")]
    pub(super) body: PlainBody,
}

impl<X> ClosedAsking<X> {
    /// `questions` with their places about what `talk` says.
    ///
    /// # Errors
    /// There is no question, or there are too many; `asked` is the field that they come from.
    pub(super) fn new(
        (questions, places): (Vec<Question>, Vec<Place>),
        asked: &Place,
        talk: Talk,
        fetcher: Option<Arc<Fetcher>>,
        extra: X,
    ) -> Result<Self, Problem> {
        match questions.len() {
            0 => {
                let message = "asks nothing: give it a field with at least two values";
                return Err(Fault::value(asked.clone(), message).into());
            }
            1..=MAX_QUESTIONS => {}
            count => {
                let message = format!("asks {count} questions: ask at most {MAX_QUESTIONS}");
                let fault = Fault::value(asked.clone(), message);
                return Err(Problem::of_fault(ProblemKind::TooManyQuestions, fault));
            }
        }
        Ok(Self {
            decision: Decision {
                // Written once the pictures are there.
                state: Content::Text(String::new()),
                questions,
            },
            places,
            talk,
            fetcher,
            extra,
        })
    }
}

impl<X: Send + 'static> Asking for ClosedAsking<X> {
    type Extra = X;

    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn settings(&self) -> DecisionSettings {
        DecisionSettings::default()
    }

    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn brings_media(&self) -> bool {
        self.talk.transcript.pictures() > 0
    }

    fn attach(&mut self, until: &Until) -> Result<Attached, Problem> {
        let transcript = std::mem::take(&mut self.talk.transcript);
        let (state, attached) = transcript.into_state(self.fetcher.as_deref(), until, &self.talk.place)?;
        self.decision.state = state;
        Ok(attached)
    }

    fn blame(&self, error: &ServiceError) -> Problem {
        let state = StatePlace {
            state: self.talk.place.clone(),
            media: self.talk.place.clone(),
            may_truncate: false,
        };
        let place = |question: usize| self.places.get(question).cloned().unwrap_or_default();
        blame(error, &state, |question, _| place(question), place)
    }

    fn into_parts(self) -> (Decision, Self::Extra) {
        (self.decision, self.extra)
    }
}
