//! Whole and other numbers in cells, which some writers turn into floats or texts.

use serde_json::{Number, Value};

/// The whole number that is meant, not negative; a float only where it is whole.
pub(super) fn whole(number: &Number) -> Option<usize> {
    if let Some(whole) = number.as_u64() {
        return usize::try_from(whole).ok();
    }
    let value = number.as_f64()?;
    // Beyond 2^53 floats skip whole numbers.
    (value.fract() == 0.0 && (0.0..9e15).contains(&value)).then_some(value as usize)
}

/// A weight: a finite number that is not negative.
pub(super) fn weight(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|weight| weight.is_finite() && *weight >= 0.0)
}
