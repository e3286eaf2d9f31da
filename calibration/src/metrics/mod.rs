//! Metrics: how good probabilities are, against gold answers.
//!
//! Rows of one data set may have different numbers of options. Every metric refuses empty input and labels out of
//! range, and says so where the rows leave it undefined: no metric returns NaN or infinity. [`distribution`] holds the
//! scores against several raters; [`Bootstrap`] gives any of them an interval.
//!
//! Metrics of the *top label* look at each row's most probable option only: its probability, and whether it is the
//! label. Probabilities are not checked to sum to 1, since files round them; [`check_sums`] does that.

mod accuracy;
mod adaptive_calibration_error;
mod aurc;
mod auroc;
mod average_precision;
mod bins;
mod bootstrap;
mod brier;
mod brier_decomposition;
mod classwise_ece;
mod confusion_matrix;
pub mod distribution;
mod ece;
mod log_loss_skill;
mod macro_accuracy;
mod macro_over_groups;
mod mce;
mod nll;
mod over_under_confidence;
mod quantile;
mod ranked_probability_score;
mod reliability_diagram;
mod risk_coverage;
mod selective_accuracy;

pub use accuracy::accuracy;
pub use adaptive_calibration_error::adaptive_calibration_error;
pub use aurc::aurc;
pub use auroc::auroc;
pub use average_precision::average_precision;
pub use bins::Binning;
pub use bootstrap::{Bootstrap, BootstrapInterval, take};
pub use brier::{brier_binary, brier_multiclass};
pub use brier_decomposition::{
    BrierDecomposition, brier_decomposition_binary, brier_decomposition_multiclass,
};
pub use classwise_ece::classwise_ece;
pub use confusion_matrix::confusion_matrix;
pub use ece::{ece, ece_binary, ece_equal_mass};
pub use log_loss_skill::log_loss_skill;
pub use macro_accuracy::macro_accuracy;
pub(crate) use macro_over_groups::members;
pub use macro_over_groups::{accuracy_over_groups, macro_over_groups};
pub use mce::mce;
pub use nll::{nll, nll_clipped_rows};
pub use over_under_confidence::{OverUnderConfidence, over_under_confidence};
pub(crate) use quantile::quantile;
pub use ranked_probability_score::{ranked_probability_score, ranked_probability_score_normalised};
pub use reliability_diagram::{ReliabilityBin, reliability_diagram, reliability_diagram_binary};
pub use risk_coverage::{RiskCoveragePoint, risk_coverage_curve};
pub use selective_accuracy::selective_accuracy;

use crate::{CalibrationError, Probability};

/// A forecast: the probability given to an event, and whether it happened.
type Forecast = (f64, bool);

/// Checks that the probabilities of every row sum to 1 within `tolerance`.
///
/// # Errors
/// The first row that does not, with its sum.
pub fn check_sums(rows: &[impl AsRef<[Probability]>], tolerance: f64) -> Result<(), CalibrationError> {
    for (row, probabilities) in rows.iter().enumerate() {
        let sum: f64 = probabilities.as_ref().iter().map(|p| p.get()).sum();
        if (sum - 1.0).abs() > tolerance {
            return Err(CalibrationError::NotADistribution { row, sum });
        }
    }
    Ok(())
}

/// Checks that every row has a label and the label is one of its options.
pub(crate) fn check(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<(), CalibrationError> {
    check_lengths(rows.len(), labels.len())?;
    match rows
        .iter()
        .zip(labels)
        .enumerate()
        .find(|(_, (row, label))| **label >= row.as_ref().len())
    {
        None => Ok(()),
        Some((index, (row, label))) => Err(CalibrationError::Label {
            row: index,
            label: *label,
            options: row.as_ref().len(),
        }),
    }
}

fn check_lengths(predictions: usize, labels: usize) -> Result<(), CalibrationError> {
    if predictions != labels {
        return Err(CalibrationError::Lengths { predictions, labels });
    }
    if predictions == 0 {
        return Err(CalibrationError::Empty("predictions"));
    }
    Ok(())
}

/// Checks that there is a finite score per label.
fn check_scores(scores: &[f64], labels: &[bool]) -> Result<(), CalibrationError> {
    check_lengths(scores.len(), labels.len())?;
    match scores.iter().enumerate().find(|(_, score)| !score.is_finite()) {
        None => Ok(()),
        Some((index, value)) => Err(CalibrationError::NotFinite { index, value: *value }),
    }
}

/// The first most probable option of a row and its probability.
fn top(row: &[Probability]) -> (usize, f64) {
    row.iter()
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |best, (option, p)| {
            if p.get() > best.1 { (option, p.get()) } else { best }
        })
}

/// Per row: the probability of its most probable option, and whether that is the label.
fn top_forecasts(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<Vec<Forecast>, CalibrationError> {
    check(rows, labels)?;
    let of_row = |(row, label): (_, &usize)| {
        let (option, p) = top(AsRef::as_ref(row));
        (p, option == *label)
    };
    Ok(rows.iter().zip(labels).map(of_row).collect())
}

/// Per option index: for every row that has it, its probability and whether it is the label.
fn option_forecasts<'a>(
    rows: &'a [impl AsRef<[Probability]>],
    labels: &'a [usize],
) -> Result<impl Iterator<Item = Vec<Forecast>> + 'a, CalibrationError> {
    check(rows, labels)?;
    let options = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    Ok((0..options).map(move |option| {
        rows.iter()
            .zip(labels)
            .filter_map(|(row, label)| Some((row.as_ref().get(option)?.get(), option == *label)))
            .collect()
    }))
}

fn binary_forecasts(
    probabilities: &[Probability],
    labels: &[bool],
) -> Result<Vec<Forecast>, CalibrationError> {
    check_lengths(probabilities.len(), labels.len())?;
    Ok(probabilities
        .iter()
        .map(|p| p.get())
        .zip(labels.iter().copied())
        .collect())
}

#[cfg(test)]
pub(crate) mod example {
    use crate::Probability;

    /// Six rows over three options, and their labels; the metrics' tests give scikit-learn's numbers for them.
    ///
    /// ```python
    /// import numpy as np
    /// p = np.array([[.7,.2,.1],[.1,.6,.3],[.3,.3,.4],[.25,.5,.25],[.05,.15,.8],[.5,.4,.1]])
    /// y = np.array([0, 1, 0, 2, 2, 1])
    /// ```
    pub(super) fn rows() -> (Vec<Vec<Probability>>, Vec<usize>) {
        let rows = [
            [0.7, 0.2, 0.1],
            [0.1, 0.6, 0.3],
            [0.3, 0.3, 0.4],
            [0.25, 0.5, 0.25],
            [0.05, 0.15, 0.8],
            [0.5, 0.4, 0.1],
        ];
        (
            rows.iter().map(|row| probabilities(row)).collect(),
            vec![0, 1, 0, 2, 2, 1],
        )
    }

    pub(crate) fn probabilities(values: &[f64]) -> Vec<Probability> {
        values
            .iter()
            .map(|value| Probability::new(*value).unwrap())
            .collect()
    }

    pub(super) fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}
