//! The strength of regularisation by cross-validation, and the fit with it.

use serde::{Deserialize, Serialize};

use super::logistic::{fit_to, log_sum_exp};
use super::{Folds, HiddenRows, LinearWeights, Normaliser, assign, fit_at};
use crate::HeadError;

/// How a head is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOptions {
    /// The folds.
    pub folds: Folds,
    /// The values of C (inverse strengths of regularisation) to try, rising.
    pub strengths: Vec<f64>,
}

impl Default for FitOptions {
    /// 5 folds, and C from 1e-5 to 10 in steps of half a decade.
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            strengths: (0..13)
                .map(|step| 10.0_f64.powf(f64::from(step) / 2.0 - 5.0))
                .collect(),
        }
    }
}

/// One value of C and what it gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedStrength {
    /// C, the inverse strength of regularisation.
    pub c: f64,
    /// Mean NLL of every row under the head that was fitted without its fold, in nats.
    pub nll: f64,
}

/// A fit on all rows, and the scores of every row by a fit without its fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Over all rows.
    pub normaliser: Normaliser,
    /// Over all rows.
    pub weights: LinearWeights,
    /// The chosen C.
    pub strength: f64,
    /// What was tried, by rising C. It ends where the NLL has risen twice in a row.
    pub tried: Vec<TriedStrength>,
    /// Scores of every row, in order, by the head that was fitted without the row's fold, at the chosen C.
    pub out_of_fold: Vec<Vec<f32>>,
}

/// Precision of the fits whose only use is to compare strengths.
const COARSE: f64 = 1e-5;
/// The search ends after so many strengths in a row that are worse than the best.
const WORSE: usize = 2;

struct Fold {
    train: Vec<f32>,
    train_gold: Vec<usize>,
    test: Vec<f32>,
    test_rows: Vec<usize>,
    weights: Option<LinearWeights>,
}

/// Fits a head: C by cross-validated NLL (the lowest, of equals the smallest C), then all rows with it. Mean and deviation
/// of a fold's fit are those of the rows it sees. `progress` hears of every fit.
///
/// # Errors
/// The rows cannot be divided into folds, no strength is given, or the optimiser fails.
pub fn fit(rows: &HiddenRows, options: &FitOptions, progress: impl Fn() + Sync) -> Result<Fitted, HeadError> {
    let fold_of = assign(rows, options.folds)?;
    let mut folds: Vec<Fold> = (0..options.folds.count)
        .map(|fold| {
            let inside = |row: usize| fold_of.get(row) == Some(&fold);
            let (train, test) = (rows.select(|row| !inside(row)), rows.select(inside));
            let normaliser = Normaliser::of(&train);
            Fold {
                train: normaliser.apply(&train),
                train_gold: train.gold().to_vec(),
                test: normaliser.apply(&test),
                test_rows: (0..rows.len()).filter(|row| inside(*row)).collect(),
                weights: None,
            }
        })
        .collect();
    let mut tried: Vec<TriedStrength> = Vec::new();
    let mut best: Option<(TriedStrength, Vec<Vec<f64>>)> = None;
    let mut worse = 0;
    for c in &options.strengths {
        let scores = score_left_out(&mut folds, rows, *c, &progress)?;
        let nll = mean_nll(&scores, rows.gold());
        let found = TriedStrength { c: *c, nll };
        tried.push(found);
        if best.as_ref().is_none_or(|(best, _)| nll < best.nll) {
            best = Some((found, scores));
            worse = 0;
        } else {
            worse += 1;
            if worse == WORSE {
                break;
            }
        }
    }
    let (chosen, scores) =
        best.ok_or_else(|| HeadError::Fit("no strength of regularisation to try".into()))?;
    let normaliser = Normaliser::of(rows);
    let weights = fit_at(
        &normaliser.apply(rows),
        rows.gold(),
        rows.options(),
        chosen.c,
        None,
    )?;
    progress();
    let narrow = |scores: Vec<f64>| scores.into_iter().map(|score| score as f32).collect();
    Ok(Fitted {
        normaliser,
        weights,
        strength: chosen.c,
        tried,
        out_of_fold: scores.into_iter().map(narrow).collect(),
    })
}

/// Fits every fold at `c`, from its last fit, and scores the rows that it leaves out.
fn score_left_out(
    folds: &mut [Fold],
    rows: &HiddenRows,
    c: f64,
    progress: &(impl Fn() + Sync),
) -> Result<Vec<Vec<f64>>, HeadError> {
    let options = rows.options();
    // Folds do not depend on each other, so the result is the same on any number of threads.
    let fits: Vec<Result<LinearWeights, HeadError>> = std::thread::scope(|scope| {
        let started: Vec<_> = folds
            .iter()
            .map(|fold| {
                scope.spawn(move || {
                    let start = fold.weights.as_ref();
                    let fitted = fit_to(&fold.train, &fold.train_gold, options, c, start, COARSE);
                    progress();
                    fitted
                })
            })
            .collect();
        let failed = || HeadError::Fit("a fit ended early".into());
        let ends = started.into_iter().map(|fit| fit.join());
        ends.map(|end| end.unwrap_or_else(|_| Err(failed()))).collect()
    });
    let mut scores = vec![Vec::new(); rows.len()];
    for (fold, weights) in folds.iter_mut().zip(fits) {
        let weights = weights?;
        for (row, x) in fold.test_rows.iter().zip(fold.test.chunks_exact(rows.width())) {
            if let Some(place) = scores.get_mut(*row) {
                *place = weights.scores(x);
            }
        }
        fold.weights = Some(weights);
    }
    Ok(scores)
}

fn mean_nll(scores: &[Vec<f64>], gold: &[usize]) -> f64 {
    let rows = scores.iter().zip(gold);
    let total: f64 = rows
        .map(|(scores, gold)| log_sum_exp(scores) - scores.get(*gold).copied().unwrap_or_default())
        .sum();
    total / gold.len().max(1) as f64
}
