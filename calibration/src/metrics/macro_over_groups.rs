//! Means over groups: every group counts the same, whatever its size.

use super::{check, top};
use crate::{CalibrationError, Probability};

/// Mean over the groups of `metric` on the rows of each: `(1 / G) sum_g metric(rows of g)`. The metric gets the indices
/// of a group's rows, in order; `groups` names each row's group.
///
/// # Errors
/// No rows, or what the metric says: a group on which it is undefined is no reason to leave it out silently.
pub fn macro_over_groups<G: Ord>(
    groups: &[G],
    mut metric: impl FnMut(&[usize]) -> Result<f64, CalibrationError>,
) -> Result<f64, CalibrationError> {
    let members = members(groups)?;
    let mut total = 0.0;
    for rows in &members {
        total += metric(rows)?;
    }
    Ok(total / members.len() as f64)
}

/// Accuracy, averaged over groups such as scenarios. With the labels as groups it is
/// [`macro_accuracy`](super::macro_accuracy).
///
/// # Errors
/// No rows, unequal lengths, or a label out of range.
pub fn accuracy_over_groups<G: Ord>(
    rows: &[impl AsRef<[Probability]>],
    labels: &[usize],
    groups: &[G],
) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    if groups.len() != rows.len() {
        return Err(CalibrationError::Groups {
            rows: rows.len(),
            groups: groups.len(),
        });
    }
    let right: Vec<bool> = rows
        .iter()
        .zip(labels)
        .map(|(row, label)| top(row.as_ref()).0 == *label)
        .collect();
    macro_over_groups(groups, |indices| {
        let hits = indices.iter().filter(|index| right.get(**index) == Some(&true));
        Ok(hits.count() as f64 / indices.len() as f64)
    })
}

/// The rows of every group, groups in the order of their first row.
pub(crate) fn members<G: Ord>(groups: &[G]) -> Result<Vec<Vec<usize>>, CalibrationError> {
    if groups.is_empty() {
        return Err(CalibrationError::Empty("rows"));
    }
    let mut rows: Vec<usize> = (0..groups.len()).collect();
    // Stable: the rows of a group stay in order.
    rows.sort_by(|a, b| groups.get(*a).cmp(&groups.get(*b)));
    let mut members: Vec<Vec<usize>> = rows
        .chunk_by(|a, b| groups.get(*a) == groups.get(*b))
        .map(<[usize]>::to_vec)
        .collect();
    members.sort_by_key(|rows| rows.first().copied());
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, rows};
    use super::super::{accuracy, macro_accuracy, nll, take};
    use super::*;

    #[test]
    fn groups_weigh_the_same() {
        let (rows, labels) = rows();
        let groups = ["b", "a", "b", "b", "a", "b"];
        assert_eq!(members(&groups).unwrap(), [vec![0, 2, 3, 5], vec![1, 4]]);
        // Of b one in four is right, of a both.
        close(
            accuracy_over_groups(&rows, &labels, &groups).unwrap(),
            (0.25 + 1.0) / 2.0,
        );
        close(
            accuracy_over_groups(&rows, &labels, &[0; 6]).unwrap(),
            accuracy(&rows, &labels).unwrap(),
        );
        close(
            accuracy_over_groups(&rows, &labels, &labels).unwrap(),
            macro_accuracy(&rows, &labels).unwrap(),
        );
        let found = macro_over_groups(&groups, |rows_of| {
            nll(&take(&rows, rows_of), &take(&labels, rows_of))
        });
        let a = (0.6_f64.ln() + 0.8_f64.ln()) / 2.0;
        let b = (0.7_f64.ln() + 0.3_f64.ln() + 0.25_f64.ln() + 0.4_f64.ln()) / 4.0;
        close(found.unwrap(), -(a + b) / 2.0);
    }

    #[test]
    fn bad_input_is_refused() {
        let (rows, labels) = rows();
        assert!(matches!(
            accuracy_over_groups(&rows, &labels, &["a"]),
            Err(CalibrationError::Groups { rows: 6, groups: 1 })
        ));
        assert!(macro_over_groups::<u8>(&[], |_| Ok(0.0)).is_err());
    }
}
