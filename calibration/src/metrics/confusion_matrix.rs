//! Confusion matrix.

use super::{check, top};
use crate::{CalibrationError, Probability};

const MOST_OPTIONS: usize = 4096;

/// `matrix[label][answer]`: how many rows with this label got this most probable option (the first of equals), as
/// scikit-learn's `confusion_matrix`. Square, over the largest number of options of any row; scikit-learn leaves out
/// indices that occur neither as label nor as answer unless they are passed as `labels`.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or more than 4,096 options: the matrix is their square.
pub fn confusion_matrix(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
) -> Result<Vec<Vec<usize>>, CalibrationError> {
    check(rows, labels)?;
    let options = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    if options > MOST_OPTIONS {
        return Err(CalibrationError::Undefined {
            metric: "a confusion matrix",
            needs: "at most 4,096 options",
        });
    }
    let mut matrix = vec![vec![0; options]; options];
    for (row, label) in rows.iter().zip(labels) {
        let answer = top(row.as_ref()).0;
        if let Some(count) = matrix.get_mut(*label).and_then(|line| line.get_mut(answer)) {
            *count += 1;
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::super::example::rows;
    use super::*;

    #[test]
    fn as_scikit_learn() {
        // sklearn.metrics.confusion_matrix(y, p.argmax(1))
        let (rows, labels) = rows();
        let expected = [vec![1, 0, 1], vec![1, 1, 0], vec![0, 1, 1]];
        assert_eq!(confusion_matrix(&rows, &labels).unwrap(), expected);
    }

    #[test]
    fn no_file_can_ask_for_all_memory() {
        let row = vec![Probability::ZERO; MOST_OPTIONS + 1];
        assert!(confusion_matrix(&[row], &[0]).is_err());
    }
}
