//! Fits a calibration to predictions, and judges it on rows that it has not seen.

use std::collections::HashSet;

use assize_calibration::calibrators::{Argmax, Calibrator, Candidate, Folds, choose, split};
use assize_calibration::metrics::{ece_equal_mass, nll};
use assize_calibration::{CalibrationError, Probability, ScoredRow, softmax};

use super::predictions::{Prediction, PredictionSet};
use crate::service::{CalibrationFile, EvaluatedOn, FittedOn};

/// Bins of the expected calibration error that is reported.
const BINS: usize = 15;

/// What a calibration is judged on.
#[derive(Debug, Clone, Copy)]
pub enum HeldOut<'s> {
    /// Each fold in turn, by what the others choose and fit.
    Folds,
    /// The share of the rows that is not fitted on.
    Share(f64),
    /// Another file.
    File(&'s PredictionSet),
}

/// How a calibration is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOptions {
    /// The kinds that are tried.
    pub candidates: Vec<Candidate>,
    /// Whether the most probable option may change.
    pub argmax: Argmax,
    /// Folds of the cross-validation that chooses, and the seed of every division.
    pub folds: Folds,
}

/// A calibration, and the rows that it has not seen.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The calibration as a file holds it.
    pub file: CalibrationFile,
    /// Places of rows of the held-out set that it was judged on and has not seen: those of the test file, else of the fitted
    /// file; none where it was judged by folds, which have all been fitted on in the end.
    pub unseen: Option<Vec<usize>>,
}

/// Fits to a set of predictions by cross-validated negative log-likelihood.
///
/// # Errors
/// No rows with a right option, too few of them for the folds or the division, or no kind that can be fitted.
pub fn fit(
    set: &PredictionSet,
    held_out: HeldOut<'_>,
    options: &FitOptions,
) -> Result<Fitted, CalibrationError> {
    let (places, rows): (Vec<usize>, Vec<ScoredRow>) = set.scored()?.into_iter().unzip();
    if rows.is_empty() {
        return Err(CalibrationError::Empty("rows with a right option"));
    }
    let by_group = divides_by_group(&rows, options.folds.count);
    let rows = if by_group { rows } else { ungrouped(&rows)? };
    let fits = match held_out {
        HeldOut::Share(share) => split(rows.iter().map(ScoredRow::group), share, options.folds.seed)?,
        _ => vec![true; rows.len()],
    };
    let part = |wanted: bool| -> Vec<ScoredRow> {
        rows.iter()
            .zip(&fits)
            .filter(|(_, fits)| **fits == wanted)
            .map(|(row, _)| row.clone())
            .collect()
    };
    let fitted_rows = part(true);
    let chosen = choose(&fitted_rows, &options.candidates, options.argmax, options.folds)?;
    let mut file = CalibrationFile::new(
        set.header.as_ref().map(|header| header.artifact.clone()),
        chosen.calibrator.clone(),
    );
    file.chosen = Some(chosen.candidate);
    file.fitted_on = Some(FittedOn {
        file: set.path.display().to_string(),
        sha256: set.sha256.clone(),
        rows: fitted_rows.len(),
        folds_by: if by_group { "group" } else { "row" }.to_owned(),
    });
    let mut seen = 0;
    let (how, judged_set, judged, after, unseen) = match held_out {
        HeldOut::Folds => {
            let after = by_folds(&fitted_rows, &chosen.fold_of, options)?;
            ("held-out folds", set, fitted_rows, after, None)
        }
        HeldOut::Share(_) => {
            let judged = part(false);
            let unseen = places
                .iter()
                .zip(&fits)
                .filter(|(_, fits)| !**fits)
                .map(|(place, _)| *place)
                .collect();
            let after = mapped(&chosen.calibrator, &judged)?;
            ("held-out share", set, judged, after, Some(unseen))
        }
        HeldOut::File(test) => {
            let fitted_on: HashSet<_> = set.rows.iter().filter_map(asked).collect();
            let is_new = |(place, _): &(usize, ScoredRow)| {
                let row = test.rows.get(*place).and_then(asked);
                row.is_none_or(|row| !fitted_on.contains(&row))
            };
            let all = test.scored()?;
            let count = all.len();
            let (unseen, judged): (Vec<usize>, Vec<ScoredRow>) = all.into_iter().filter(is_new).unzip();
            seen = count - judged.len();
            if judged.is_empty() && seen > 0 {
                return Err(CalibrationError::NotApplicable {
                    what: "--test",
                    needs: "rows that were not fitted on".to_owned(),
                    found: format!("{seen} rows that all were"),
                });
            }
            let after = mapped(&chosen.calibrator, &judged)?;
            ("test file", test, judged, after, Some(unseen))
        }
    };
    let before = judged
        .iter()
        .map(|row| softmax(row.scores()))
        .collect::<Result<Vec<_>, _>>()?;
    let labels: Vec<usize> = judged.iter().map(ScoredRow::label).collect();
    let (nll_before, nll_after) = (nll(&before, &labels)?, nll(&after, &labels)?);
    file.evaluated_on = Some(EvaluatedOn {
        how: how.to_owned(),
        file: judged_set.path.display().to_string(),
        sha256: judged_set.sha256.clone(),
        rows: judged.len(),
        seen,
        nll_before,
        nll_after,
        ece_before: ece(&before, &labels)?,
        ece_after: ece(&after, &labels)?,
        improved: nll_after < nll_before,
    });
    file.tried = chosen.tried;
    Ok(Fitted { file, unseen })
}

/// A row's prompt and options, where they are known: rows of two files may have different ids and be the same.
fn asked(row: &Prediction) -> Option<(&str, &[String])> {
    let tokens = row.tokens.as_ref()?;
    Some((&tokens.sha256, &row.options))
}

/// Whether there are enough groups to divide by them.
pub(super) fn divides_by_group(rows: &[ScoredRow], parts: usize) -> bool {
    let groups: HashSet<&str> = rows.iter().filter_map(ScoredRow::group).collect();
    let single = rows.iter().filter(|row| row.group().is_none()).count();
    !groups.is_empty() && groups.len() + single >= parts
}

fn ungrouped(rows: &[ScoredRow]) -> Result<Vec<ScoredRow>, CalibrationError> {
    rows.iter()
        .map(|row| ScoredRow::new(row.scores().to_vec(), row.label(), row.shape()))
        .collect()
}

/// Every row by the calibrator that the other folds choose and fit: the choice itself is judged as well.
fn by_folds(
    rows: &[ScoredRow],
    fold_of: &[usize],
    options: &FitOptions,
) -> Result<Vec<Vec<Probability>>, CalibrationError> {
    let mut after = vec![Vec::new(); rows.len()];
    for fold in 0..options.folds.count {
        let others: Vec<ScoredRow> = rows
            .iter()
            .zip(fold_of)
            .filter(|(_, of)| **of != fold)
            .map(|(row, _)| row.clone())
            .collect();
        // One fold fewer, so that as many groups as folds are enough.
        let inner = Folds {
            count: options.folds.count.saturating_sub(1).max(2),
            ..options.folds
        };
        let calibrator = choose(&others, &options.candidates, options.argmax, inner)?.calibrator;
        for ((row, of), place) in rows.iter().zip(fold_of).zip(&mut after) {
            if *of == fold {
                *place = calibrator.apply(row.scores(), row.shape())?;
            }
        }
    }
    Ok(after)
}

fn mapped(calibrator: &Calibrator, rows: &[ScoredRow]) -> Result<Vec<Vec<Probability>>, CalibrationError> {
    rows.iter()
        .map(|row| calibrator.apply(row.scores(), row.shape()))
        .collect()
}

fn ece(rows: &[Vec<Probability>], labels: &[usize]) -> Result<f64, CalibrationError> {
    let (mut tops, mut wrongs) = (Vec::new(), Vec::new());
    for (row, label) in rows.iter().zip(labels) {
        let mut best = (0, Probability::ZERO);
        for (option, p) in row.iter().enumerate() {
            if *p > best.1 {
                best = (option, *p);
            }
        }
        tops.push([best.1, best.1.complement()]);
        wrongs.push(usize::from(best.0 != *label));
    }
    ece_equal_mass(&tops, &wrongs, BINS)
}
