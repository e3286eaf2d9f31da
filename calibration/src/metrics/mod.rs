//! Metrics: how good probabilities are, against gold answers.
//!
//! Rows of one data set may have different numbers of options. Every metric refuses empty input and labels out of
//! range.

mod accuracy;
mod auroc;
mod brier;
mod ece;
mod macro_accuracy;
mod nll;

pub use accuracy::accuracy;
pub use auroc::auroc;
pub use brier::{brier_binary, brier_multiclass};
pub use ece::ece;
pub use macro_accuracy::macro_accuracy;
pub use nll::nll;

use crate::{CalibrationError, Probability};

/// Checks that every row has a label and the label is one of its options.
fn check(rows: &[Vec<Probability>], labels: &[usize]) -> Result<(), CalibrationError> {
    check_lengths(rows.len(), labels.len())?;
    match rows
        .iter()
        .zip(labels)
        .enumerate()
        .find(|(_, (row, label))| **label >= row.len())
    {
        None => Ok(()),
        Some((index, (row, label))) => Err(CalibrationError::Label {
            row: index,
            label: *label,
            options: row.len(),
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

/// The first most probable option of a row and its probability.
fn top(row: &[Probability]) -> (usize, f64) {
    row.iter()
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |best, (option, p)| {
            if p.get() > best.1 { (option, p.get()) } else { best }
        })
}

#[cfg(test)]
mod example {
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

    pub(super) fn probabilities(values: &[f64]) -> Vec<Probability> {
        values
            .iter()
            .map(|value| Probability::new(*value).unwrap())
            .collect()
    }

    pub(super) fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}
