//! Which rows take part: fixed parts by the hash of a row's id.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A part of the rows, by `sha256(id)` as a number modulo 100. The same row is in the same part on every machine, in every
/// order and in every larger file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// 0 to 49: to fit heads on.
    Train,
    /// 50 to 74: to fit calibrators and thresholds on.
    Calibration,
    /// 75 to 99: to report on.
    Test,
    /// Every row.
    #[default]
    All,
}

impl Split {
    /// Whether the row of this id belongs to the part.
    pub fn holds(self, id: &str) -> bool {
        // The remainder of a number of many digits in base 256.
        let place = Sha256::digest(id.as_bytes())
            .iter()
            .fold(0, |rest: u32, byte| (rest * 256 + u32::from(*byte)) % 100);
        match self {
            Split::Train => place < 50,
            Split::Calibration => (50..75).contains(&place),
            Split::Test => place >= 75,
            Split::All => true,
        }
    }

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Calibration => "calibration",
            Split::Test => "test",
            Split::All => "all",
        }
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Split::Train, Split::Calibration, Split::Test, Split::All]
            .into_iter()
            .find(|split| split.as_str() == text)
            .ok_or_else(|| format!("unknown split {text:?}: use train, calibration, test or all"))
    }
}

/// Which of the rows that can be read take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowSelection {
    /// The part.
    pub split: Split,
    /// The first so many of the part; all where none is given. Data sets known by name are in the order of
    /// [`crate::datasets::hash_order`], files in their own.
    pub most: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_published_hash_modulo_100() {
        // python3 -c 'import hashlib; print([int(hashlib.sha256(i).hexdigest(), 16) % 100 for i in (b"", b"a", b"row-2", b"tweets/17", b"x")])
        // 49, 99, 76, 22, 65'
        for (id, split) in [
            ("", Split::Train),
            ("a", Split::Test),
            ("row-2", Split::Test),
            ("tweets/17", Split::Train),
            ("x", Split::Calibration),
        ] {
            assert!(split.holds(id) && Split::All.holds(id), "{id}");
            let others = [Split::Train, Split::Calibration, Split::Test];
            assert_eq!(others.into_iter().filter(|other| other.holds(id)).count(), 1);
        }
    }

    #[test]
    fn shares_are_as_promised() {
        let count = |split: Split| (0..20_000).filter(|n| split.holds(&n.to_string())).count();
        let (train, calibration, test) = (count(Split::Train), count(Split::Calibration), count(Split::Test));
        assert_eq!(train + calibration + test, 20_000);
        assert!(
            train.abs_diff(10_000) < 300 && calibration.abs_diff(5_000) < 300,
            "{train} {calibration}"
        );
    }
}
