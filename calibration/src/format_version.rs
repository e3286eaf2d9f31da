//! The version number that every stored object carries.

use serde::{Deserialize, Serialize};

use crate::CalibrationError;

/// The version `N` of a JSON form: written as the number, and only that number is read back.
///
/// A stored object of another version is refused rather than half understood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct FormatVersion<const N: u64>;

impl<const N: u64> TryFrom<u64> for FormatVersion<N> {
    type Error = CalibrationError;

    fn try_from(found: u64) -> Result<Self, CalibrationError> {
        if found == N {
            Ok(Self)
        } else {
            Err(CalibrationError::FormatVersion { found, reads: N })
        }
    }
}

impl<const N: u64> From<FormatVersion<N>> for u64 {
    fn from(_: FormatVersion<N>) -> u64 {
        N
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_version_is_read() {
        assert_eq!(serde_json::to_string(&FormatVersion::<3>).unwrap(), "3");
        assert!(serde_json::from_str::<FormatVersion<3>>("3").is_ok());
        for other in ["2", "4", "\"3\"", "null", "-3", "3.5"] {
            assert!(
                serde_json::from_str::<FormatVersion<3>>(other).is_err(),
                "{other}"
            );
        }
        let error = serde_json::from_str::<FormatVersion<3>>("4").unwrap_err();
        assert_eq!(
            error.to_string(),
            "format version 4: this program reads version 3"
        );
    }
}
