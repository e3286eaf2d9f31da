//! Which field of a request an error of the service is about.

use assize_heads::HeadError;
use assize_preprocess::decision::{Content, Question, Shape};
use assize_preprocess::{Excess, PromptError};

use super::problem::{Fault, Problem, ProblemKind};
use crate::service::ServiceError;
use crate::strict_json::Place;

/// Most questions of one request.
pub(super) const MAX_QUESTIONS: usize = 1024;

/// Where a protocol has what every request has.
#[derive(Debug, Clone)]
pub(super) struct StatePlace {
    /// What is judged.
    pub(super) state: Place,
    /// The media that belong to it.
    pub(super) media: Place,
    /// Whether a field `truncate` may drop part of it.
    pub(super) may_truncate: bool,
}

impl StatePlace {
    /// Of a protocol whose state and media are the one field `name`, which is never cut.
    pub(super) fn whole(name: &str) -> Self {
        Self {
            state: Place::body().key(name),
            media: Place::body().key(name),
            may_truncate: false,
        }
    }
}

/// The problem behind an error of [`Service::prepare`](crate::service::Service::prepare). `place` says where a question,
/// or one of its options, stands in the request, and `longest_part` where the longest part of a question does.
pub(super) fn blame(
    error: &ServiceError,
    state: &StatePlace,
    place: impl Fn(usize, Option<usize>) -> Place,
    longest_part: impl Fn(usize) -> Place,
) -> Problem {
    let at = |question: usize, option: Option<usize>, message: &str| {
        Problem::from(Fault::value(place(question, option), message))
    };
    match error {
        ServiceError::Prompt(PromptError::Question { question, reason }) => at(*question, None, reason),
        ServiceError::Prompt(PromptError::Option {
            question,
            option,
            reason,
        }) => at(*question, Some(*option), reason),
        ServiceError::Prompt(PromptError::NoQuestions) => Fault::value(
            Place::body().key("questions"),
            "is empty: ask at least one question",
        )
        .into(),
        ServiceError::Prompt(error @ PromptError::OrderAverages(_)) => {
            Fault::value(Place::body().key("order_averages"), error.to_string()).into()
        }
        ServiceError::Prompt(error @ PromptError::TooLong { excess, .. }) => {
            let mut message = error.to_string();
            let at = match excess {
                Excess::State => {
                    if state.may_truncate {
                        message.push_str(", or let `truncate` drop part of it");
                    }
                    state.state.clone()
                }
                Excess::Question(question) => longest_part(*question),
                Excess::Media(_) => state.media.clone(),
            };
            Problem::of_fault(ProblemKind::StateTooLong, Fault::value(at, message))
        }
        ServiceError::Prompt(
            error @ (PromptError::SpecialFromText { .. } | PromptError::Tokenize { .. }),
        ) => Fault::value(Place::body(), error.to_string()).into(),
        ServiceError::Head(
            error @ HeadError::Slots {
                question, options, ..
            },
        ) if *options < 2 => at(*question, None, &error.to_string()),
        ServiceError::Head(
            error @ (HeadError::NoLabels { question, .. } | HeadError::Slots { question, .. }),
        ) => Problem::of_fault(
            ProblemKind::TooManyOptions,
            Fault::value(place(*question, None), error.to_string()),
        ),
        ServiceError::Head(HeadError::NotFitted { question, reason }) => at(
            *question,
            None,
            &format!(
                "this server answers with a fitted head: {reason}. Ask exactly that, or a server that was started \
                 without --head"
            ),
        ),
        ServiceError::NotCalibrated { question, id, reason } => at(
            *question,
            None,
            &format!("this server's calibration {id} is not for it: {reason}"),
        ),
        other => {
            tracing::error!(error = %other, "a decision could not be prepared");
            Problem::new(
                ProblemKind::Internal,
                "the prompt could not be written; the server's log says why",
            )
        }
    }
}

/// Whether what is asked is longer than the options that it is asked of, descriptions included.
pub(super) fn asks_more_than_it_offers(question: &Question) -> bool {
    let length = |content: &Option<Content>| content.as_ref().map_or(0, |content| content.to_text().len());
    let offered = match &question.shape {
        Shape::Choice(options) => options
            .iter()
            .map(|option| option.name.len() + length(&option.description))
            .sum(),
        Shape::Predicate {
            when_true,
            when_false,
        } => length(when_true) + length(when_false),
        Shape::Score(levels) => levels.iter().map(|level| level.to_text().len()).sum::<usize>(),
    };
    length(&question.instructions) >= offered
}
