//! Quantiles of sorted numbers.

/// The quantile `numerator / denominator` by linear interpolation between order statistics: position
/// `(n - 1) numerator / denominator`, type 7 of Hyndman and Fan (1996), numpy's and R's default. The position is exact,
/// where numpy's is rounded. 0 for no numbers.
pub(crate) fn quantile(sorted: &[f64], numerator: usize, denominator: usize) -> f64 {
    // In 128 bits no product of two sizes overflows.
    let denominator = denominator.max(1) as u128;
    let steps = sorted.len().saturating_sub(1) as u128 * numerator as u128;
    let whole = usize::try_from(steps / denominator).unwrap_or(usize::MAX);
    let share = (steps % denominator) as f64 / denominator as f64;
    let at = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or(0.0);
    let low = at(whole);
    let high = at(whole.saturating_add(1));
    (low + (high - low) * share).min(high)
}

#[cfg(test)]
mod tests {
    use super::super::example::close;
    use super::*;

    #[test]
    fn as_numpy() {
        // np.quantile([1, 2, 4, 8, 16], [0, .1, .25, .4, .975, 1])
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (numerator, expected) in [
            (0, 1.0),
            (100, 1.4),
            (250, 2.0),
            (400, 3.2),
            (975, 15.2),
            (1000, 16.0),
        ] {
            close(quantile(&sorted, numerator, 1000), expected);
        }
        close(quantile(&[3.0], 1, 2), 3.0);
        close(quantile(&sorted, usize::MAX, usize::MAX), 16.0);
        close(quantile(&[], 1, 2), 0.0);
    }
}
