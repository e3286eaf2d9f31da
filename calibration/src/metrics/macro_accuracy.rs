//! Macro accuracy: accuracy that does not reward the majority class.

use std::collections::BTreeMap;

use super::{check, top};
use crate::{CalibrationError, Probability};

/// Mean over the labels that occur of the share of their rows answered right: `mean_c recall_c`, known as balanced
/// accuracy. Chance and the majority class both give 1 / number of labels.
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn macro_accuracy(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    // Label to (rows answered right, rows).
    let mut classes: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (row, label) in rows.iter().zip(labels) {
        let class = classes.entry(*label).or_default();
        class.0 += usize::from(top(row.as_ref()).0 == *label);
        class.1 += 1;
    }
    let recalls: f64 = classes
        .values()
        .map(|(right, all)| *right as f64 / *all as f64)
        .sum();
    Ok(recalls / classes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.balanced_accuracy_score(y, p.argmax(1))
        let (rows, labels) = rows();
        close(macro_accuracy(&rows, &labels).unwrap(), 0.5);
        // balanced_accuracy_score([0,0,0,1], [0,0,1,1])
        let rows: Vec<_> = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]
            .iter()
            .map(|row| probabilities(row))
            .collect();
        close(macro_accuracy(&rows, &[0, 0, 0, 1]).unwrap(), 0.8333333333333333);
    }
}
