//! A number from 0 to 1.

use serde::{Deserialize, Serialize};

use crate::CalibrationError;

/// A finite number from 0 to 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// Certainly not.
    pub const ZERO: Probability = Probability(0.0);
    /// Certainly.
    pub const ONE: Probability = Probability(1.0);

    /// Checks a number.
    ///
    /// # Errors
    /// It is below 0, above 1 or NaN.
    pub fn new(value: f64) -> Result<Self, CalibrationError> {
        if (0.0..=1.0).contains(&value) {
            // -0.0 passes the check and would be written with its sign.
            Ok(Self(value.abs()))
        } else {
            Err(CalibrationError::NotAProbability(value))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// One minus this.
    pub fn complement(self) -> Self {
        Self(1.0 - self.0)
    }
}

impl TryFrom<f64> for Probability {
    type Error = CalibrationError;

    fn try_from(value: f64) -> Result<Self, CalibrationError> {
        Self::new(value)
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> f64 {
        probability.0
    }
}

impl std::fmt::Display for Probability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_to_one() {
        for value in [0.0, 1.0, 0.5, f64::MIN_POSITIVE] {
            assert_eq!(Probability::new(value).unwrap().get(), value);
        }
        assert!(Probability::new(-0.0).unwrap().get().is_sign_positive());
        for value in [
            -f64::MIN_POSITIVE,
            1.0 + f64::EPSILON,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert!(Probability::new(value).is_err(), "{value}");
        }
    }
}
