//! From labelled rows to a head's folder.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use assize_calibration::calibrators::Temperature;
use assize_calibration::{ScoredRow, Shape as ScoredShape, metrics, softmax};
use assize_heads::fit::{FitOptions, Fitted, HiddenRows, assign, fit};
use assize_heads::fitted_head::{
    HeadBase, HeadCard, HeadData, HeadQuality, HeadQuestion, HeadTraining, PromptCut, TriedDepth, write,
};
use assize_heads::{FittedHead, HeadError, SlotHead};
use assize_models::TokenId;
use assize_preprocess::prompt::Truncate;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{FitRow, HeadFitError, HiddenCache, PromptKey, extract};
use crate::service::{Service, ServiceError};

/// Bins of the calibration error.
const BINS: usize = 15;

/// How a head is fitted, and what its card says of the rows.
#[derive(Debug, Clone)]
pub struct HeadFitOptions {
    /// How prompts are cut.
    pub cut: PromptCut,
    /// Folds and strengths of regularisation.
    pub fit: FitOptions,
    /// Whether a temperature is fitted on the cross-validated scores and folded into the head.
    pub temperature: bool,
    /// Name of the data set or file.
    pub data: String,
    /// sha256 (hex) of the file, or of the package of the data set.
    pub source_sha256: Option<String>,
    /// Which of its rows are fitted on, in words.
    pub split: String,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many prompts were written.
    Written(usize),
    /// So many hidden states were computed or found.
    Hidden(usize),
    /// A fit of a fold, or of all rows, is done.
    Fit,
}

/// A head that was written, and what it took.
#[derive(Debug)]
pub struct HeadFit {
    /// As it was read back.
    pub head: FittedHead,
    /// What it took.
    pub report: HeadFitReport,
}

/// What a fit took.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HeadFitReport {
    /// Held-out rows that were left out because their prompt is that of a training row.
    pub held_out_known: usize,
    /// Prompts that a forward pass was run for; the others were kept from before, or equal.
    pub computed: usize,
    /// Tokens of those.
    pub tokens: usize,
    /// Seconds to write the prompts.
    pub write_s: f64,
    /// Seconds for the hidden states of the rows that are fitted on, of all numbers of layers that were tried.
    pub extract_s: f64,
    /// Seconds for cross-validation and fit.
    pub fit_s: f64,
    /// Seconds for the hidden states of the held-out rows.
    pub held_out_s: f64,
}

/// A row whose prompt is written.
struct WrittenRow {
    id: String,
    gold: usize,
    group: Option<String>,
    prompt: Vec<TokenId>,
    key: PromptKey,
    is_cut: bool,
}

/// Fits a head on `rows`, judges it on `held_out` as well, and writes it into `folder`.
///
/// `services` are one model with different numbers of layers; the head of the lowest cross-validated NLL is kept, of equals
/// the first. They are asked for one after the other, and none but the best so far is held. `cache` is the folder that
/// hidden states are kept in.
///
/// # Errors
/// Rows ask different questions or are not valid, a prompt cannot be written, the engine or the fit fails, or the head
/// cannot be written.
pub fn fit_head<S: Borrow<Service>>(
    services: impl IntoIterator<Item = Result<S, ServiceError>>,
    rows: Vec<FitRow>,
    held_out: Vec<FitRow>,
    options: &HeadFitOptions,
    cache: Option<&Path>,
    folder: &Path,
    progress: impl Fn(Progress) + Sync,
) -> Result<HeadFit, HeadFitError> {
    let mut services = services.into_iter();
    let first = services.next().ok_or_else(|| HeadFitError::Setting {
        field: "layers",
        value: "no number".into(),
        remedy: "give at least one".into(),
    })??;
    let cut = check_cut(first.borrow(), options.cut)?;
    let question = question_of(&rows, &held_out)?;
    let started = Instant::now();
    let write_rows = |rows: &[FitRow]| write_prompts(first.borrow(), rows, cut, &progress);
    let (rows, mut held_out) = (write_rows(&rows)?, write_rows(&held_out)?);
    let known: HashSet<PromptKey> = rows.iter().map(|row| row.key).collect();
    let before = held_out.len();
    held_out.retain(|row| !known.contains(&row.key));
    let held_out_known = before - held_out.len();
    let mut report = HeadFitReport {
        held_out_known,
        write_s: started.elapsed().as_secs_f64(),
        ..HeadFitReport::default()
    };

    let classes = question.option_names().len();
    let mut best: Option<Candidate<S>> = None;
    let mut depths = Vec::new();
    for service in std::iter::once(Ok(first)).chain(services) {
        let found = Candidate::fit(service?, &rows, classes, options, cache, &mut report, &progress)?;
        depths.push(TriedDepth {
            layers: found.service.borrow().backbone().description().layers.len(),
            nll: found.cross_validated.nll,
            accuracy: found.cross_validated.accuracy,
        });
        let is_better = |best: &Candidate<S>| found.cross_validated.nll < best.cross_validated.nll;
        if best.as_ref().is_none_or(is_better) {
            best = Some(found);
        }
    }
    let Some(Candidate {
        service,
        training,
        fitted,
        temperature,
        cross_validated,
    }) = best
    else {
        return Err(HeadError::Fit("no number of layers to try".into()).into());
    };
    if depths.len() == 1 {
        depths.clear();
    }
    let service = service.borrow();
    let artifact = service.base_artifact().clone();
    let mut card = HeadCard {
        schema: HeadCard::SCHEMA.to_owned(),
        program: concat!("assize ", env!("CARGO_PKG_VERSION")).to_owned(),
        weights_sha256: String::new(),
        fingerprint: String::new(),
        base: HeadBase {
            model: service.name().to_owned(),
            id: artifact.id(),
            description: artifact,
        },
        question,
        width: service.backbone().description().hidden,
        prompt: cut,
        data: describe(&rows, &training, options),
        training: HeadTraining {
            method: "L2-regularised multinomial logistic regression on normalised hidden states".to_owned(),
            folds: options.fit.folds,
            tried: fitted.tried.clone(),
            c: fitted.strength,
            depths,
            temperature,
        },
        cross_validated,
        held_out: None,
    };
    let mut head = write(folder, card.clone(), &fitted.normaliser, &fitted.weights)?;

    let started = Instant::now();
    if !held_out.is_empty() {
        let hidden = hidden_of(service, &held_out, cache, &mut report, &progress)?;
        let scores = scores(head.head(), &hidden, classes)?;
        let gold: Vec<usize> = held_out.iter().map(|row| row.gold).collect();
        card.held_out = Some(quality(&scores, &gold)?);
        head = write(folder, card, &fitted.normaliser, &fitted.weights)?;
    }
    report.held_out_s = started.elapsed().as_secs_f64();
    Ok(HeadFit { head, report })
}

/// A fit on the hidden states of one service.
struct Candidate<S> {
    service: S,
    training: HiddenRows,
    fitted: Fitted,
    temperature: f64,
    cross_validated: HeadQuality,
}

impl<S: Borrow<Service>> Candidate<S> {
    fn fit(
        service: S,
        rows: &[WrittenRow],
        classes: usize,
        options: &HeadFitOptions,
        cache: Option<&Path>,
        report: &mut HeadFitReport,
        progress: &(impl Fn(Progress) + Sync),
    ) -> Result<Self, HeadFitError> {
        let started = Instant::now();
        let hidden = hidden_of(service.borrow(), rows, cache, report, progress)?;
        report.extract_s += started.elapsed().as_secs_f64();

        let started = Instant::now();
        let width = service.borrow().backbone().description().hidden;
        let mut training = HiddenRows::new(width, classes)?;
        for (row, hidden) in rows.iter().zip(&hidden) {
            training.push(hidden, row.gold, &row.group())?;
        }
        let mut fitted = fit(&training, &options.fit, || progress(Progress::Fit))?;
        let (temperature, left_out) = if options.temperature {
            with_temperature(&training, &mut fitted, options)?
        } else {
            (1.0, fitted.out_of_fold.clone())
        };
        let cross_validated = quality(&left_out, training.gold())?;
        report.fit_s += started.elapsed().as_secs_f64();
        Ok(Self {
            service,
            training,
            fitted,
            temperature,
            cross_validated,
        })
    }
}

/// Hidden states of `rows`, from the folder `cache` as far as they are there.
fn hidden_of(
    service: &Service,
    rows: &[WrittenRow],
    cache: Option<&Path>,
    report: &mut HeadFitReport,
    progress: &impl Fn(Progress),
) -> Result<Vec<Vec<f32>>, HeadFitError> {
    let width = service.backbone().description().hidden;
    let cache = cache.map(|root| HiddenCache::open(root, service.base_artifact(), width));
    let cache = cache.transpose()?;
    let prompts: Vec<_> = rows.iter().map(|row| (row.key, row.prompt.clone())).collect();
    let extracted = extract(service, &prompts, cache.as_ref(), |done| {
        progress(Progress::Hidden(done));
    })?;
    report.computed += extracted.computed;
    report.tokens += extracted.tokens;
    Ok(extracted.hidden)
}

impl WrittenRow {
    /// The group that no fold divides: the row's own, or all rows with this prompt.
    fn group(&self) -> String {
        match &self.group {
            Some(group) => format!("group {group}"),
            None => self.key.hex(),
        }
    }
}

fn check_cut(service: &Service, cut: PromptCut) -> Result<PromptCut, HeadFitError> {
    let context = service.context();
    if cut.truncate == Truncate::Error {
        return Err(HeadFitError::Setting {
            field: "truncate",
            value: "error".into(),
            remedy: "a head is fitted and asked with texts that are cut in one way: use start, middle or end"
                .into(),
        });
    }
    if !(1..=context).contains(&cut.max_tokens) {
        return Err(HeadFitError::Setting {
            field: "max tokens",
            value: cut.max_tokens.to_string(),
            remedy: format!("use from 1 to the model's context of {context}"),
        });
    }
    Ok(cut)
}

/// The one question that all rows ask.
fn question_of(rows: &[FitRow], held_out: &[FitRow]) -> Result<HeadQuestion, HeadFitError> {
    let wrong = |row: &FitRow, reason: String| HeadFitError::Row {
        id: row.id.clone(),
        reason,
    };
    let mut first: Option<(HeadQuestion, usize)> = None;
    for row in rows.iter().chain(held_out) {
        let [question] = row.decision.questions.as_slice() else {
            let found = row.decision.questions.len();
            return Err(wrong(
                row,
                format!("it asks {found} questions: a head answers one"),
            ));
        };
        let question = HeadQuestion::from(question);
        let (first, options) = first.get_or_insert_with(|| {
            let options = question.option_names().len();
            (question.clone(), options)
        });
        if let Some(reason) = first.mismatch(&question) {
            return Err(wrong(
                row,
                format!(
                    "all rows must ask one question with one list of options: {reason}, with the first row"
                ),
            ));
        }
        if row.gold >= *options {
            return Err(wrong(row, format!("gold option {} of {options}", row.gold)));
        }
    }
    let found = first.filter(|_| !rows.is_empty()).map(|(question, _)| question);
    found.ok_or_else(|| HeadFitError::Setting {
        field: "rows",
        value: "0".into(),
        remedy: "give labelled rows to fit on".into(),
    })
}

/// Writes prompts on all processors: mails are long, and most of one is read only to be cut.
fn write_prompts(
    service: &Service,
    rows: &[FitRow],
    cut: PromptCut,
    progress: &(impl Fn(Progress) + Sync),
) -> Result<Vec<WrittenRow>, HeadFitError> {
    let write = |row: &FitRow| {
        let written = written(service, row, cut)?;
        progress(Progress::Written(1));
        Ok(written)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = rows.len().div_ceil(threads).max(1);
    let shares: Vec<Result<Vec<WrittenRow>, HeadFitError>> = std::thread::scope(|scope| {
        let started: Vec<_> = rows
            .chunks(share)
            .map(|rows| scope.spawn(move || rows.iter().map(write).collect()))
            .collect();
        let failed = || HeadError::Fit("writing prompts ended early".into()).into();
        let ends = started.into_iter().map(|share| share.join());
        ends.map(|end| end.unwrap_or_else(|_| Err(failed()))).collect()
    });
    let mut written = Vec::with_capacity(rows.len());
    for share in shares {
        written.extend(share?);
    }
    Ok(written)
}

fn written(service: &Service, row: &FitRow, cut: PromptCut) -> Result<WrittenRow, HeadFitError> {
    match service.prepare_for_head(&row.decision, cut) {
        Ok(prepared) => {
            let prompt = prepared.prompt();
            Ok(WrittenRow {
                id: row.id.clone(),
                gold: row.gold,
                group: row.group.clone(),
                key: PromptKey::of(&prompt),
                prompt,
                is_cut: prepared.truncated_tokens() > 0,
            })
        }
        Err(error) => Err(HeadFitError::Prompt {
            id: row.id.clone(),
            error: Box::new(error),
        }),
    }
}

/// Divides the head's scores by the temperature at which the cross-validated ones are best. The scores that are returned
/// are each divided by the temperature of the other folds.
fn with_temperature(
    rows: &HiddenRows,
    fitted: &mut Fitted,
    options: &HeadFitOptions,
) -> Result<(f64, Vec<Vec<f32>>), HeadFitError> {
    let row =
        |(scores, gold): (&Vec<f32>, &usize)| ScoredRow::new(scores.clone(), *gold, ScoredShape::Choice);
    let scored = fitted.out_of_fold.iter().zip(rows.gold()).map(row);
    let scored = scored.collect::<Result<Vec<_>, _>>()?;
    let fold_of = assign(rows, options.fit.folds)?;
    let mut left_out = fitted.out_of_fold.clone();
    for fold in 0..options.fit.folds.count {
        let others = scored.iter().zip(&fold_of).filter(|(_, of)| **of != fold);
        let others: Vec<ScoredRow> = others.map(|(row, _)| row.clone()).collect();
        let temperature = Temperature::fit(&others)?.get() as f32;
        for (scores, _) in left_out.iter_mut().zip(&fold_of).filter(|(_, of)| **of == fold) {
            scores.iter_mut().for_each(|score| *score /= temperature);
        }
    }
    let temperature = Temperature::fit(&scored)?.get();
    fitted.weights.scale(1.0 / temperature);
    Ok((temperature, left_out))
}

fn scores(head: &SlotHead, hidden: &[Vec<f32>], options: usize) -> Result<Vec<Vec<f32>>, HeadFitError> {
    let scores = hidden.iter().map(|hidden| head.scores(hidden, options));
    Ok(scores.collect::<Result<_, _>>()?)
}

fn quality(scores: &[Vec<f32>], gold: &[usize]) -> Result<HeadQuality, HeadFitError> {
    let probabilities = scores.iter().map(|scores| softmax(scores));
    let probabilities = probabilities.collect::<Result<Vec<_>, _>>()?;
    Ok(HeadQuality {
        rows: gold.len(),
        accuracy: metrics::accuracy(&probabilities, gold)?,
        nll: metrics::nll(&probabilities, gold)?,
        ece15: metrics::ece_equal_mass(&probabilities, gold, BINS)?,
    })
}

fn describe(rows: &[WrittenRow], training: &HiddenRows, options: &HeadFitOptions) -> HeadData {
    let mut hasher = Sha256::new();
    for row in rows {
        let group = row.group();
        for field in [row.id.as_str(), &row.key.hex(), &group] {
            hasher.update((field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        hasher.update((row.gold as u64).to_le_bytes());
    }
    let groups: HashSet<&String> = training.groups().iter().collect();
    HeadData {
        name: options.data.clone(),
        sha256: hex::encode(hasher.finalize()),
        source_sha256: options.source_sha256.clone(),
        split: options.split.clone(),
        rows: rows.len(),
        groups: groups.len(),
        per_option: training.per_option(),
        truncated_rows: rows.iter().filter(|row| row.is_cut).count(),
    }
}
