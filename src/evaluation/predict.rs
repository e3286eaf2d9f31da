//! Runs labelled rows through a model into a prediction file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use assize_calibration::Shape;
use assize_preprocess::decision::Shape as Asked;
use assize_preprocess::{Excess, PromptError, Until};

use super::predictions::{Prediction, PredictionError, PredictionWriter, PromptTokens};
use super::rows::{LabelledRow, RowFault, Rows, RowsError};
use super::{SHOWN_QUESTION, SHOWN_STATE, beginning};
use crate::service::{Prepared, RawMedium, Service, ServiceError};

/// Rows that are read ahead, so that those of like length can share a forward pass.
const WINDOW: usize = 64;
/// Batches that a window holds at most: media are large.
const WINDOW_BATCHES: usize = 8;
/// Largest media file that is read: the most that any kind of medium may have.
const MOST_BYTES: u64 = 512 << 20;

/// Why a run ended before its rows did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The rows cannot be read on.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The predictions cannot be written.
    #[error(transparent)]
    Predictions(#[from] PredictionError),
    /// The model failed.
    #[error("the model failed: {0}; what was done is kept, and the same command goes on from there")]
    Model(ServiceError),
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Predicted {
    /// Rows that the file had before.
    pub before: usize,
    /// Rows that went through the model now.
    pub forward: usize,
    /// Rows that could not be read or asked, now.
    pub failed: usize,
    /// Tokens that were computed now.
    pub tokens: usize,
}

/// Asks every row that the file lacks, in windows of neighbouring rows: within one, rows of like length share forward passes
/// of up to `batch_tokens` rows, and the window is appended in the rows' order. `progress` hears of each row.
///
/// # Errors
/// The rows cannot be read on, the file cannot be written, or the model fails. What is wrong with one row is written into the
/// file.
pub fn predict(
    service: &Service,
    rows: &mut Rows,
    writer: &mut PredictionWriter,
    batch_tokens: usize,
    mut progress: impl FnMut(),
) -> Result<Predicted, PredictError> {
    let mut predicted = Predicted::default();
    loop {
        let mut window: Vec<Slot> = Vec::new();
        let mut tokens = 0;
        let mut ended = true;
        for row in rows.by_ref() {
            let row = row?;
            let number = match &row {
                Ok(row) => row.row,
                Err(fault) => fault.row,
            };
            if writer.has(number) {
                predicted.before += 1;
                progress();
                continue;
            }
            let slot = match row {
                Ok(row) => prepare(service, row),
                Err(fault) => Slot::Done(Box::new(Err(fault))),
            };
            tokens += slot.tokens();
            window.push(slot);
            if window.len() >= WINDOW || tokens >= batch_tokens.saturating_mul(WINDOW_BATCHES) {
                ended = false;
                break;
            }
        }
        predicted.tokens += tokens;
        for batch in batches(&window, batch_tokens) {
            predicted.forward += batch.len();
            score(service, &mut window, &batch).map_err(PredictError::Model)?;
            batch.iter().for_each(|_| progress());
        }
        let answered: Vec<Result<Prediction, RowFault>> = window.into_iter().filter_map(Slot::done).collect();
        let failed = answered.iter().filter(|row| row.is_err()).count();
        predicted.failed += failed;
        writer.write(&answered)?;
        if ended {
            return Ok(predicted);
        }
    }
}

/// A row of a window.
enum Slot {
    Ready(Box<LabelledRow>, Box<Prepared>),
    Done(Box<Result<Prediction, RowFault>>),
}

impl Slot {
    fn tokens(&self) -> usize {
        match self {
            Slot::Ready(_, prepared) => prepared.tokens(),
            Slot::Done(_) => 0,
        }
    }

    fn done(self) -> Option<Result<Prediction, RowFault>> {
        match self {
            Slot::Ready(..) => None,
            Slot::Done(row) => Some(*row),
        }
    }
}

/// Places of the rows that are ready, short prompts first, in batches of at most `most` tokens; one that is longer is alone.
fn batches(window: &[Slot], most: usize) -> Vec<Vec<usize>> {
    let mut ready: Vec<(usize, usize)> = window
        .iter()
        .enumerate()
        .filter(|(_, slot)| matches!(slot, Slot::Ready(..)))
        .map(|(place, slot)| (slot.tokens(), place))
        .collect();
    ready.sort_unstable();
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (tokens, place) in ready {
        match batches.last_mut() {
            Some(batch) if tokens <= room => {
                batch.push(place);
                room -= tokens;
            }
            _ => {
                batches.push(vec![place]);
                room = most.saturating_sub(tokens);
            }
        }
    }
    batches
}

fn prepare(service: &Service, row: LabelledRow) -> Slot {
    let read = || -> Result<Prepared, (String, String)> {
        let mut media = Vec::new();
        for medium in &row.media {
            let bytes = bounded(&medium.path).map_err(|reason| (medium.kind.name().to_owned(), reason))?;
            media.push(RawMedium {
                kind: medium.kind,
                bytes: bytes.into(),
            });
        }
        let of_service = |error: ServiceError| {
            let field = match (error.medium().and_then(|index| row.media.get(index)), &error) {
                (Some(medium), _) => medium.kind.name(),
                (None, ServiceError::Prompt(PromptError::TooLong { .. })) => "state",
                _ => "(row)",
            };
            (field.to_owned(), with_remedy(&error))
        };
        let media = service
            .read_media(&media, &Until::default())
            .map_err(of_service)?;
        service
            .prepare_with_media(&row.decision, media, row.settings)
            .map_err(of_service)
    };
    match read() {
        Ok(prepared) => Slot::Ready(Box::new(row), Box::new(prepared)),
        Err((field, message)) => Slot::Done(Box::new(Err(failed(&row, field, message)))),
    }
}

fn failed(row: &LabelledRow, field: String, message: String) -> RowFault {
    RowFault {
        row: row.row,
        id: Some(row.id.clone()),
        field,
        message,
    }
}

fn with_remedy(error: &ServiceError) -> String {
    match error {
        ServiceError::Prompt(PromptError::TooLong {
            excess: Excess::State,
            ..
        }) => format!("{error}, or let --truncate start, end or middle drop part of it"),
        _ => error.to_string(),
    }
}

fn bounded(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("{}: {error}", path.display())),
        Ok(_) if bytes.len() as u64 > MOST_BYTES => Err(format!(
            "{}: has more than {MOST_BYTES} bytes: give a smaller file",
            path.display()
        )),
        Ok(_) => Ok(bytes),
    }
}

/// Runs one batch and puts what came of it in place of the rows.
fn score(service: &Service, window: &mut [Slot], batch: &[usize]) -> Result<(), ServiceError> {
    let prepared: Vec<&Prepared> = batch
        .iter()
        .filter_map(|place| match window.get(*place) {
            Some(Slot::Ready(_, prepared)) => Some(prepared.as_ref()),
            _ => None,
        })
        .collect();
    let scored = service.score(&prepared)?;
    for (place, scored) in batch.iter().zip(&scored) {
        let Some(slot) = window.get_mut(*place) else {
            continue;
        };
        let Slot::Ready(row, prepared) = slot else {
            continue;
        };
        let done = match service.answers(&row.decision, scored) {
            Ok(answers) => match answers.first() {
                Some(answer) => Ok(prediction(service, row, prepared, answer)),
                None => Err(failed(row, "(row)".into(), "the engine answered nothing".into())),
            },
            Err(error) => Err(failed(row, "(row)".into(), error.to_string())),
        };
        *slot = Slot::Done(Box::new(done));
    }
    Ok(())
}

fn prediction(
    service: &Service,
    row: &LabelledRow,
    prepared: &Prepared,
    answer: &crate::service::Answer,
) -> Prediction {
    let question = row.question();
    let asked = question.and_then(|question| question.instructions.as_ref());
    Prediction {
        row: row.row,
        id: row.id.clone(),
        group: row.group.clone(),
        shape: match question.map(|question| &question.shape) {
            Some(Asked::Predicate { .. }) => Shape::Predicate,
            Some(Asked::Score(_)) => Shape::Score,
            _ => Shape::Choice,
        },
        options: row.options(),
        state: beginning(&row.decision.state.to_text(), SHOWN_STATE),
        question: beginning(
            &asked.map_or_else(Default::default, |text| text.to_text()),
            SHOWN_QUESTION,
        ),
        tokens: Some(PromptTokens {
            count: prepared.tokens(),
            sha256: prepared.token_hash(),
            truncated: prepared.truncated_tokens(),
        }),
        scores: Some(answer.options.iter().map(|option| option.raw_score).collect()),
        raw_probabilities: service.calibration_id().is_some().then(|| {
            answer
                .options
                .iter()
                .map(|option| option.raw_probability)
                .collect()
        }),
        probabilities: answer.options.iter().map(|option| option.probability).collect(),
        gold: row.gold.named(),
        ratings: row.gold.weights().map(<[f64]>::to_vec),
    }
}
