//! From labelled rows to a head's folder.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use assize_calibration::calibrators::Temperature;
use assize_calibration::{ScoredRow, Shape as ScoredShape, metrics, softmax};
use assize_heads::fit::{FitOptions, Fitted, HiddenRows, assign, fit};
use assize_heads::fitted_head::{
    HeadBase, HeadCard, HeadData, HeadQuality, HeadQuestion, HeadTraining, PromptCut, write,
};
use assize_heads::{FittedHead, SlotHead};
use assize_models::TokenId;
use assize_preprocess::prompt::Truncate;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{FitRow, HeadFitError, HiddenCache, PromptKey, extract};
use crate::service::Service;

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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadFitReport {
    /// Held-out rows that were left out because their prompt is that of a training row.
    pub held_out_known: usize,
    /// Prompts that a forward pass was run for; the others were kept from before, or equal.
    pub computed: usize,
    /// Tokens of those.
    pub tokens: usize,
    /// Seconds to write the prompts.
    pub write_s: f64,
    /// Seconds for the hidden states of the rows that are fitted on.
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
/// # Errors
/// Rows ask different questions or are not valid, a prompt cannot be written, the engine or the fit fails, or the head
/// cannot be written.
pub fn fit_head(
    service: &Service,
    rows: Vec<FitRow>,
    held_out: Vec<FitRow>,
    options: &HeadFitOptions,
    cache: Option<&HiddenCache>,
    folder: &Path,
    progress: impl Fn(Progress) + Sync,
) -> Result<HeadFit, HeadFitError> {
    let cut = check_cut(service, options.cut)?;
    let question = question_of(&rows, &held_out)?;
    let started = Instant::now();
    let write_rows = |rows: Vec<FitRow>| {
        let write = |row| {
            let written = written(service, row, cut)?;
            progress(Progress::Written(1));
            Ok(written)
        };
        rows.into_iter()
            .map(write)
            .collect::<Result<Vec<_>, HeadFitError>>()
    };
    let (rows, mut held_out) = (write_rows(rows)?, write_rows(held_out)?);
    let known: HashSet<PromptKey> = rows.iter().map(|row| row.key).collect();
    let before = held_out.len();
    held_out.retain(|row| !known.contains(&row.key));
    let held_out_known = before - held_out.len();
    progress(Progress::Hidden(held_out_known));
    let write_s = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let hidden_of = |rows: &[WrittenRow]| {
        let prompts: Vec<_> = rows.iter().map(|row| (row.key, row.prompt.clone())).collect();
        extract(service, &prompts, cache, |done| progress(Progress::Hidden(done)))
    };
    let extracted = hidden_of(&rows)?;
    let extract_s = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let options_of = question.option_names().len();
    let width = service.backbone().description().hidden;
    let mut training = HiddenRows::new(width, options_of)?;
    for (row, hidden) in rows.iter().zip(&extracted.hidden) {
        training.push(hidden, row.gold, &row.group())?;
    }
    let mut fitted = fit(&training, &options.fit, || progress(Progress::Fit))?;
    let (temperature, left_out) = if options.temperature {
        with_temperature(&training, &mut fitted, options)?
    } else {
        (1.0, fitted.out_of_fold.clone())
    };
    let cross_validated = quality(&left_out, training.gold())?;
    let fit_s = started.elapsed().as_secs_f64();

    let artifact = service.base_artifact().clone();
    let mut card = HeadCard {
        schema: HeadCard::SCHEMA.to_owned(),
        program: concat!("assize ", env!("CARGO_PKG_VERSION")).to_owned(),
        weights_sha256: String::new(),
        base: HeadBase {
            model: service.name().to_owned(),
            id: artifact.id(),
            description: artifact,
        },
        question,
        width,
        prompt: cut,
        data: describe(&rows, &training, options),
        training: HeadTraining {
            method: "L2-regularised multinomial logistic regression on normalised hidden states".to_owned(),
            folds: options.fit.folds,
            tried: fitted.tried.clone(),
            c: fitted.strength,
            temperature,
        },
        cross_validated,
        held_out: None,
    };
    let mut head = write(folder, card.clone(), &fitted.normaliser, &fitted.weights)?;

    let started = Instant::now();
    let (mut computed, mut tokens) = (extracted.computed, extracted.tokens);
    if !held_out.is_empty() {
        let extracted = hidden_of(&held_out)?;
        computed += extracted.computed;
        tokens += extracted.tokens;
        let scores = scores(head.head(), &extracted.hidden, options_of)?;
        let gold: Vec<usize> = held_out.iter().map(|row| row.gold).collect();
        card.held_out = Some(quality(&scores, &gold)?);
        head = write(folder, card, &fitted.normaliser, &fitted.weights)?;
    }
    Ok(HeadFit {
        head,
        report: HeadFitReport {
            held_out_known,
            computed,
            tokens,
            write_s,
            extract_s,
            fit_s,
            held_out_s: started.elapsed().as_secs_f64(),
        },
    })
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

fn written(service: &Service, row: FitRow, cut: PromptCut) -> Result<WrittenRow, HeadFitError> {
    match service.prepare_for_head(&row.decision, cut) {
        Ok(prepared) => {
            let prompt = prepared.prompt();
            Ok(WrittenRow {
                id: row.id,
                gold: row.gold,
                group: row.group,
                key: PromptKey::of(&prompt),
                prompt,
                is_cut: prepared.truncated_tokens() > 0,
            })
        }
        Err(error) => Err(HeadFitError::Prompt {
            id: row.id,
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
        split: options.split.clone(),
        rows: rows.len(),
        groups: groups.len(),
        per_option: training.per_option(),
        truncated_rows: rows.iter().filter(|row| row.is_cut).count(),
    }
}
