//! A fixed order of rows, so that a sample of n is the same on every machine.

use sha2::{Digest, Sha256};

use super::DatasetError;

/// A row with an id that never changes and a gold answer.
pub trait Labelled {
    /// Unique within the data set.
    fn id(&self) -> &str;
    /// Index of the gold answer.
    fn gold(&self) -> usize;
}

/// The place of a row: the first eight bytes of the sha256 of its id.
pub fn hash_order(id: &str) -> u64 {
    let digest = Sha256::digest(id.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

/// The first `n` rows by [`hash_order`]; with `balanced`, an equal number of every gold answer, in one mixed order.
///
/// # Errors
/// There are fewer rows than `n`, or fewer of some gold answer than its share.
pub fn sample<R: Labelled>(rows: Vec<R>, n: usize, balanced: bool) -> Result<Vec<R>, DatasetError> {
    let mut rows = rows;
    rows.sort_by_cached_key(|row| (hash_order(row.id()), row.id().to_owned()));
    if rows.len() < n {
        return Err(DatasetError::TooFew {
            wanted: n,
            available: rows.len(),
            reason: format!("the data set has {}", rows.len()),
        });
    }
    if !balanced {
        rows.truncate(n);
        return Ok(rows);
    }
    let answers = rows.iter().map(Labelled::gold).max().map_or(0, |gold| gold + 1);
    let mut counts = vec![0; answers];
    for row in &rows {
        if let Some(count) = counts.get_mut(row.gold()) {
            *count += 1;
        }
    }
    let fewest = counts.iter().copied().min().unwrap_or(0);
    let share = n / answers.max(1);
    if share > fewest || share * answers != n {
        return Err(DatasetError::TooFew {
            wanted: n,
            available: fewest * answers,
            reason: format!(
                "a balanced sample takes a multiple of {answers} and the rarest answer has {fewest} rows"
            ),
        });
    }
    let mut left = vec![share; answers];
    rows.retain(|row| match left.get_mut(row.gold()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Row(String, usize);

    impl Labelled for Row {
        fn id(&self) -> &str {
            &self.0
        }
        fn gold(&self) -> usize {
            self.1
        }
    }

    fn rows() -> Vec<Row> {
        (0..40)
            .map(|n| Row(format!("row-{n}"), usize::from(n % 4 == 0)))
            .collect()
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // sha256("") starts e3b0c44298fc1c14.
        assert_eq!(hash_order(""), 0xe3b0_c442_98fc_1c14);
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_of_the_files() {
        let forward = sample(rows(), 12, false).unwrap();
        let mut reversed = rows();
        reversed.reverse();
        assert_eq!(forward, sample(reversed, 12, false).unwrap());
        assert_eq!(forward[..5], sample(rows(), 5, false).unwrap()[..]);
        assert_ne!(forward, rows()[..12]);
    }

    #[test]
    fn balanced_samples_have_equal_shares() {
        let found = sample(rows(), 20, true).unwrap();
        assert_eq!(found.iter().filter(|row| row.1 == 1).count(), 10);
        assert_eq!(found.len(), 20);
    }

    #[test]
    fn asking_for_too_much_says_how_much_there_is() {
        let message = sample(rows(), 41, false).unwrap_err().to_string();
        assert!(message.contains("at most 40"), "{message}");
        let message = sample(rows(), 22, true).unwrap_err().to_string();
        assert!(message.contains("at most 20"), "{message}");
    }
}
