//! Upper bounds on the numbers of a model configuration, so that a damaged file cannot ask for absurd work.

/// Most layers.
pub(crate) const LAYERS: u64 = 1024;
/// Widest residual stream, feed-forward block or head.
pub(crate) const WIDTH: u64 = 1 << 20;
/// Most heads of a layer.
pub(crate) const HEADS: u64 = 4096;
/// Largest vocabulary.
pub(crate) const VOCABULARY: u64 = 1 << 24;
/// Longest context.
pub(crate) const CONTEXT: u64 = 1 << 28;

/// `value` as a size, if it lies in `1..=most`.
///
/// # Errors
/// A sentence that names `field`, its value and the bound.
pub(crate) fn within(field: &str, value: u64, most: u64) -> Result<usize, String> {
    if value == 0 || value > most {
        return Err(format!("{field} is {value}; it must lie between 1 and {most}"));
    }
    usize::try_from(value).map_err(|_| format!("{field} is {value}: too large for this machine"))
}

/// `value`, if it is finite and above zero.
///
/// # Errors
/// A sentence that names `field` and its value.
pub(crate) fn positive(field: &str, value: f64) -> Result<f32, String> {
    let single = value as f32;
    if single.is_finite() && single > 0.0 {
        Ok(single)
    } else {
        Err(format!("{field} is {value}; it must be a finite number above 0"))
    }
}
