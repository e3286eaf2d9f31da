//! Seeded, stratified folds that never divide a group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::HiddenRows;
use crate::HeadError;

/// How rows are divided for cross-validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folds {
    /// How many; 5 is usual.
    pub count: usize,
    /// The seed of their order.
    pub seed: u64,
}

impl Default for Folds {
    fn default() -> Self {
        Self { count: 5, seed: 0 }
    }
}

/// The fold of each row. Groups are taken largest first, then in the order of the sha256 of seed and name; each goes to the
/// fold that has the fewest rows of the group's most frequent gold option, of equals to the one with the fewest rows.
///
/// # Errors
/// Fewer than 2 folds, more folds than groups, or an option that all but one fold lack, so that its rows cannot be left out.
pub fn assign(rows: &HiddenRows, folds: Folds) -> Result<Vec<usize>, HeadError> {
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, group) in rows.groups().iter().enumerate() {
        members.entry(group).or_default().push(row);
    }
    if folds.count < 2 || folds.count > members.len() {
        return Err(HeadError::Fit(format!(
            "{} folds of {} groups: use from 2 folds to as many as there are groups (rows, where they have none)",
            folds.count,
            members.len()
        )));
    }
    let mut groups: Vec<(&str, Vec<usize>)> = members.into_iter().collect();
    groups.sort_by_cached_key(|(name, members)| {
        let mut hasher = Sha256::new();
        hasher.update(folds.seed.to_le_bytes());
        hasher.update(name.as_bytes());
        (
            std::cmp::Reverse(members.len()),
            <[u8; 32]>::from(hasher.finalize()),
        )
    });
    let mut filled = vec![vec![0_usize; rows.options()]; folds.count];
    let mut fold_of = vec![0; rows.len()];
    for (_, members) in &groups {
        let mut counts = vec![0_usize; rows.options()];
        let gold = members.iter().filter_map(|row| rows.gold().get(*row));
        for gold in gold {
            if let Some(count) = counts.get_mut(*gold) {
                *count += 1;
            }
        }
        // The first of equals.
        let frequent = (0..counts.len()).rev().max_by_key(|option| counts.get(*option));
        let load = |fold: &usize| {
            let of_fold = filled.get(*fold);
            let same = of_fold.and_then(|of| of.get(frequent.unwrap_or_default()));
            (same.copied(), of_fold.map(|of| of.iter().sum::<usize>()))
        };
        let fold = (0..folds.count).min_by_key(load).unwrap_or_default();
        if let Some(filled) = filled.get_mut(fold) {
            for (filled, count) in filled.iter_mut().zip(&counts) {
                *filled += count;
            }
        }
        for row in members {
            if let Some(place) = fold_of.get_mut(*row) {
                *place = fold;
            }
        }
    }
    for option in 0..rows.options() {
        let with = filled.iter().filter(|of| of.get(option) > Some(&0)).count();
        if with < 2 {
            return Err(HeadError::Fit(format!(
                "option {option} has {} rows in {with} groups: give every option rows of at least 2 groups",
                rows.per_option().get(option).copied().unwrap_or_default()
            )));
        }
    }
    Ok(fold_of)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(golds: &[usize], groups: &[String]) -> HiddenRows {
        let mut rows = HiddenRows::new(1, 2).unwrap();
        for (gold, group) in golds.iter().zip(groups) {
            rows.push(&[0.0], *gold, group).unwrap();
        }
        rows
    }

    fn alone(n: usize) -> Vec<String> {
        (0..n).map(|row| row.to_string()).collect()
    }

    #[test]
    fn options_are_spread_evenly() {
        let golds: Vec<usize> = (0..103).map(|row| usize::from(row % 5 == 0)).collect();
        let rows = rows(&golds, &alone(103));
        let found = assign(&rows, Folds { count: 5, seed: 3 }).unwrap();
        for fold in 0..5 {
            let of = |gold| {
                (0..103)
                    .filter(|row| found[*row] == fold && golds[*row] == gold)
                    .count()
            };
            assert!(
                (4..=5).contains(&of(1)) && (16..=17).contains(&of(0)),
                "{found:?}"
            );
        }
        assert_ne!(found, assign(&rows, Folds { count: 5, seed: 4 }).unwrap());
        assert_eq!(found, assign(&rows, Folds { count: 5, seed: 3 }).unwrap());
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        let error = |golds: &[usize], groups: &[String], count| {
            let folds = Folds { count, seed: 0 };
            assign(&rows(golds, groups), folds).unwrap_err().to_string()
        };
        assert!(error(&[0, 1, 0, 1], &alone(4), 1).contains("1 folds of 4 groups"));
        assert!(error(&[0, 1, 0, 1], &alone(4), 5).contains("5 folds of 4 groups"));
        assert!(error(&[0, 0, 0, 0], &alone(4), 2).contains("option 1 has 0 rows"));
        assert!(error(&[0, 0, 0, 1], &alone(4), 2).contains("option 1 has 1 rows in 1 groups"));
        let grouped: Vec<String> = ["a", "b", "c", "c"].map(str::to_owned).to_vec();
        assert!(error(&[0, 0, 1, 1], &grouped, 2).contains("option 1 has 2 rows in 1 groups"));
    }

    proptest! {
        #[test]
        fn groups_stay_whole(drawn in prop::collection::vec((0_usize..2, "[a-h]"), 4..60), seed in any::<u64>()) {
            let (golds, groups): (Vec<usize>, Vec<String>) = drawn.into_iter().unzip();
            let rows = rows(&golds, &groups);
            if let Ok(found) = assign(&rows, Folds { count: 2, seed }) {
                for (group, fold) in groups.iter().zip(&found) {
                    for (other, other_fold) in groups.iter().zip(&found) {
                        prop_assert!(group != other || fold == other_fold);
                    }
                }
                prop_assert!(found.contains(&0) && found.contains(&1));
            }
        }
    }
}
