//! The choice among calibrators by cross-validated NLL.

use serde::{Deserialize, Serialize};

use super::{
    Argmax, Beta, Bins, Calibrator, Folds, Histogram, Isotonic, Map, Platt, Targets, Temperature,
    TemperatureByOptions, TemperatureByShape, Vector,
};
use crate::metrics::nll;
use crate::{CalibrationError, FormatVersion, ScoredRow};

/// A kind of calibrator and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Candidate {
    /// The raw probabilities.
    Identity,
    /// One temperature.
    Temperature,
    /// One temperature per question shape.
    TemperatureByShape,
    /// One temperature per number of options.
    TemperatureByOptions,
    /// Platt scaling of a predicate.
    Platt {
        /// The labels that it aims at.
        targets: Targets,
    },
    /// Vector scaling of a fixed list of options.
    Vector {
        /// How strongly it is drawn to the identity; [`Vector::RIDGE`] is weak.
        ridge: f64,
    },
    /// Isotonic regression of a predicate.
    Isotonic,
    /// Beta calibration of a predicate.
    Beta {
        /// The labels that it aims at.
        targets: Targets,
    },
    /// Histogram binning of a predicate.
    Histogram {
        /// Number of bins.
        count: usize,
        /// How they are laid.
        bins: Bins,
        /// By how many rows each is drawn to its middle.
        prior: f64,
    },
}

impl Candidate {
    /// Every kind with its usual settings, the simplest first.
    pub const ALL: [Candidate; 9] = [
        Candidate::Identity,
        Candidate::Temperature,
        Candidate::TemperatureByShape,
        Candidate::TemperatureByOptions,
        Candidate::Platt {
            targets: Targets::Smoothed,
        },
        Candidate::Beta {
            targets: Targets::Smoothed,
        },
        Candidate::Vector { ridge: Vector::RIDGE },
        Candidate::Isotonic,
        Candidate::Histogram {
            count: 10,
            bins: Bins::EqualMass,
            prior: 1.0,
        },
    ];

    /// Fits it on all of the rows.
    ///
    /// # Errors
    /// Those of its type's `fit`; no rows.
    pub fn fit(&self, rows: &[ScoredRow], argmax: Argmax) -> Result<Calibrator, CalibrationError> {
        if rows.is_empty() {
            return Err(CalibrationError::Empty("rows"));
        }
        let map = match *self {
            Candidate::Identity => Map::Identity,
            Candidate::Temperature => Map::Temperature(Temperature::fit(rows)?),
            Candidate::TemperatureByShape => Map::TemperatureByShape(TemperatureByShape::fit(rows)?),
            Candidate::TemperatureByOptions => Map::TemperatureByOptions(TemperatureByOptions::fit(rows)?),
            Candidate::Platt { targets } => Map::Platt(Platt::fit(rows, targets)?),
            Candidate::Vector { ridge } => Map::Vector(Vector::fit(rows, ridge)?),
            Candidate::Isotonic => Map::Isotonic(Isotonic::fit(rows)?),
            Candidate::Beta { targets } => Map::Beta(Beta::fit(rows, targets)?),
            Candidate::Histogram { count, bins, prior } => {
                Map::Histogram(Histogram::fit(rows, count, bins, prior)?)
            }
        };
        Ok(Calibrator::new(map, argmax))
    }
}

/// How one candidate did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Which.
    pub candidate: Candidate,
    /// Mean NLL over all rows, each predicted by the fit on the folds that it is not in; none when it was refused.
    pub nll: Option<f64>,
    /// Why it could not be fitted or applied, if so.
    pub refused: Option<String>,
}

/// The choice and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The version of this form.
    pub version: FormatVersion<1>,
    /// The chosen calibrator, fitted on all rows that were given.
    pub calibrator: Calibrator,
    /// The candidate that it is a fit of.
    pub candidate: Candidate,
    /// All candidates in the order given.
    pub tried: Vec<Tried>,
    /// How the rows were divided.
    pub folds: Folds,
    /// The fold of each row: a row's NLL in `tried` comes from fits on the rows of all other folds. The calibrator itself
    /// has seen every row, so it is to be judged on other rows than these.
    pub fold_of: Vec<usize>,
}

/// Fits every candidate on all folds but one, judges it on that one, and fits the one of lowest mean NLL on all rows.
///
/// Of equal ones the first wins. A candidate that cannot be fitted or applied in some fold is listed with the reason. NLL is
/// that of [`crate::metrics::nll`], after the argmax was kept where asked. The lowest of several estimates is a little too
/// low by being chosen: report the figures of other rows.
///
/// # Errors
/// No rows, no candidate, folds that cannot be made, or no candidate that can be fitted.
pub fn choose(
    rows: &[ScoredRow],
    candidates: &[Candidate],
    argmax: Argmax,
    folds: Folds,
) -> Result<Chosen, CalibrationError> {
    if candidates.is_empty() {
        return Err(CalibrationError::Empty("candidates"));
    }
    let fold_of = folds.assign(rows.iter().map(ScoredRow::group))?;
    let tried: Vec<Tried> = candidates
        .iter()
        .map(|candidate| {
            let (nll, refused) = match cross_validated(rows, &fold_of, folds.count, *candidate, argmax) {
                Ok(nll) => (Some(nll), None),
                Err(error) => (None, Some(error.to_string())),
            };
            Tried {
                candidate: *candidate,
                nll,
                refused,
            }
        })
        .collect();
    let best = tried
        .iter()
        .filter_map(|tried| Some((tried.nll?, tried.candidate)))
        .min_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((_, candidate)) = best else {
        return Err(CalibrationError::Fit {
            what: "every candidate",
            reason: tried
                .iter()
                .find_map(|tried| tried.refused.clone())
                .unwrap_or_default(),
        });
    };
    Ok(Chosen {
        version: FormatVersion,
        calibrator: candidate.fit(rows, argmax)?,
        candidate,
        tried,
        folds,
        fold_of,
    })
}

fn cross_validated(
    rows: &[ScoredRow],
    fold_of: &[usize],
    count: usize,
    candidate: Candidate,
    argmax: Argmax,
) -> Result<f64, CalibrationError> {
    let mut predictions = Vec::with_capacity(rows.len());
    let mut labels = Vec::with_capacity(rows.len());
    for fold in 0..count {
        let (judged, fitted): (Vec<_>, Vec<_>) = rows.iter().zip(fold_of).partition(|(_, of)| **of == fold);
        let fitted: Vec<ScoredRow> = fitted.into_iter().map(|(row, _)| row.clone()).collect();
        let calibrator = candidate.fit(&fitted, argmax)?;
        for (row, _) in judged {
            predictions.push(calibrator.apply(row.scores(), row.shape())?);
            labels.push(row.label());
        }
    }
    nll(&predictions, &labels)
}
