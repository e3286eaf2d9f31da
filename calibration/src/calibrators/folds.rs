//! Seeded folds and splits that never divide a group.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::CalibrationError;

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

impl Folds {
    /// The fold of each row. Rows of one group share a fold; a row without one is a group of its own. Groups are shuffled
    /// and each is put in the fold that has the fewest rows so far, so that folds are of like size and none is empty.
    ///
    /// # Errors
    /// No rows, fewer than 2 folds, or more folds than groups.
    pub fn assign<'a>(
        &self,
        groups: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<Vec<usize>, CalibrationError> {
        let (of_row, sizes) = groups_of(groups);
        if of_row.is_empty() {
            return Err(CalibrationError::Empty("rows"));
        }
        if self.count < 2 || self.count > sizes.len() {
            return Err(CalibrationError::Setting {
                name: "folds",
                value: self.count as f64,
                must: "from 2 to the number of rows, or of groups where rows have them",
            });
        }
        let mut filled = vec![0_usize; self.count];
        let mut fold_of = vec![0; sizes.len()];
        for group in shuffled(sizes.len(), self.seed) {
            let fold = (0..self.count)
                .min_by_key(|fold| filled.get(*fold))
                .unwrap_or_default();
            if let (Some(filled), Some(fold_of), Some(size)) =
                (filled.get_mut(fold), fold_of.get_mut(group), sizes.get(group))
            {
                *filled += size;
                *fold_of = fold;
            }
        }
        Ok(of_row
            .iter()
            .filter_map(|group| fold_of.get(*group).copied())
            .collect())
    }
}

/// Puts about `share` of the rows into a first part and the rest into a second one, by seed, never dividing a group: true
/// for rows of the first part. Neither part is empty.
///
/// # Errors
/// Fewer than 2 groups (rows, where they have none), or a share that is not between 0 and 1.
pub fn split<'a>(
    groups: impl Iterator<Item = Option<&'a str>>,
    share: f64,
    seed: u64,
) -> Result<Vec<bool>, CalibrationError> {
    if !(share > 0.0 && share < 1.0) {
        return Err(CalibrationError::Setting {
            name: "share",
            value: share,
            must: "between 0 and 1",
        });
    }
    let (of_row, sizes) = groups_of(groups);
    if sizes.len() < 2 {
        return Err(CalibrationError::NotApplicable {
            what: "a split",
            needs: "at least 2 rows, or 2 groups where rows have them".to_owned(),
            found: sizes.len().to_string(),
        });
    }
    let wanted = share * of_row.len() as f64;
    let mut first = vec![false; sizes.len()];
    let mut taken = 0.0;
    for (place, group) in shuffled(sizes.len(), seed).into_iter().enumerate() {
        let size = sizes.get(group).copied().unwrap_or_default() as f64;
        // Half a group over is as near as half a group short.
        if place > 0 && (place + 1 == sizes.len() || taken + size / 2.0 > wanted) {
            break;
        }
        taken += size;
        if let Some(first) = first.get_mut(group) {
            *first = true;
        }
    }
    Ok(of_row
        .iter()
        .filter_map(|group| first.get(*group).copied())
        .collect())
}

/// The group number of each row, in order of first appearance, and the number of rows of each group.
fn groups_of<'a>(groups: impl Iterator<Item = Option<&'a str>>) -> (Vec<usize>, Vec<usize>) {
    let mut number_of: HashMap<&str, usize> = HashMap::new();
    let mut sizes: Vec<usize> = Vec::new();
    let of_row = groups
        .map(|name| {
            let next = sizes.len();
            let group = name.map_or(next, |name| *number_of.entry(name).or_insert(next));
            match sizes.get_mut(group) {
                Some(size) => *size += 1,
                None => sizes.push(1),
            }
            group
        })
        .collect();
    (of_row, sizes)
}

/// 0 to n - 1 in an order that the seed gives (Fisher and Yates).
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, random.random_range(0..=last));
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bad_settings_are_refused() {
        let none = || std::iter::repeat_n(None, 5);
        for count in [0, 1, 6] {
            assert!(Folds { count, seed: 0 }.assign(none()).is_err());
        }
        assert!(Folds::default().assign(std::iter::empty()).is_err());
        let one_group = || ["a"; 5].into_iter().map(Some);
        assert!(Folds { count: 2, seed: 0 }.assign(one_group()).is_err());
        assert!(split(one_group(), 0.5, 0).is_err());
        for share in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(split(none(), share, 0).is_err());
        }
        let folds = |seed| {
            Folds { count: 2, seed }
                .assign(std::iter::repeat_n(None, 50))
                .unwrap()
        };
        assert_eq!(folds(1), folds(1));
        assert_ne!(folds(1), folds(2));
    }

    proptest! {
        #[test]
        fn groups_stay_whole(groups in prop::collection::vec(prop::option::of("[a-f]"), 2..60), seed in any::<u64>()) {
            let names = || groups.iter().map(|group| group.as_deref());
            let (_, sizes) = groups_of(names());
            let whole = |part: &[usize]| {
                groups.iter().zip(part).all(|(group, one)| {
                    groups.iter().zip(part).all(|(other, two)| group.is_none() || group != other || one == two)
                })
            };
            for count in 2..=5.min(sizes.len()) {
                let folds = Folds { count, seed }.assign(names()).unwrap();
                prop_assert_eq!(folds.len(), groups.len());
                prop_assert!(whole(&folds));
                prop_assert!((0..count).all(|fold| folds.contains(&fold)));
            }
            if sizes.len() > 1 {
                let first: Vec<usize> = split(names(), 0.3, seed).unwrap().into_iter().map(usize::from).collect();
                prop_assert!(whole(&first));
                prop_assert!(first.contains(&0) && first.contains(&1));
            }
        }
    }
}
