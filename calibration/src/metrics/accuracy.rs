//! Accuracy.

use super::{check, top};
use crate::{CalibrationError, Probability};

/// Micro accuracy: the share of rows whose most probable option (the first of equals) is the label. Every row counts the
/// same; for every label to count the same see [`macro_accuracy`](super::macro_accuracy), and for every group,
/// [`accuracy_over_groups`](super::accuracy_over_groups).
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn accuracy(rows: &[impl AsRef<[Probability]>], labels: &[usize]) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    let right = rows
        .iter()
        .zip(labels)
        .filter(|(row, label)| top(row.as_ref()).0 == **label)
        .count();
    Ok(right as f64 / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, rows};
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.accuracy_score(y, p.argmax(1))
        let (rows, labels) = rows();
        close(accuracy(&rows, &labels).unwrap(), 0.5);
    }

    #[test]
    fn bad_input_is_refused() {
        let (rows, labels) = rows();
        assert!(matches!(
            accuracy(&rows, &labels[1..]),
            Err(CalibrationError::Lengths { .. })
        ));
        assert!(matches!(
            accuracy(&[] as &[Vec<Probability>], &[]),
            Err(CalibrationError::Empty(_))
        ));
        let refused = accuracy(&rows, &[0, 0, 3, 0, 0, 0]);
        assert!(matches!(
            refused,
            Err(CalibrationError::Label {
                row: 2,
                label: 3,
                options: 3
            })
        ));
    }
}
