//! Expected calibration error.

use super::{check, top};
use crate::{CalibrationError, Probability};

/// Expected calibration error of the most probable option over `bins` bins of equal width:
/// `sum_b (n_b / n) |accuracy_b - mean probability_b|` (Naeini et al. 2015; Guo et al. 2017, equation 3).
///
/// Bin b holds probabilities in `(b / bins, (b + 1) / bins]`, the first one 0 as well. The usual numbers of bins are
/// 10 and 15; say which, since figures with different bins do not compare.
///
/// # Errors
/// No rows, unequal lengths, a label out of range, or no bins.
pub fn ece(rows: &[Vec<Probability>], labels: &[usize], bins: usize) -> Result<f64, CalibrationError> {
    check(rows, labels)?;
    if bins == 0 {
        return Err(CalibrationError::NoBins);
    }
    // Per bin: sum of (right - probability), whose absolute value is n_b |accuracy_b - probability_b|.
    let mut gaps = vec![0.0; bins];
    for (row, label) in rows.iter().zip(labels) {
        let (option, p) = top(row);
        if let Some(gap) = gaps.get_mut(bin_of(p, bins)) {
            *gap += f64::from(u8::from(option == *label)) - p;
        }
    }
    Ok(gaps.iter().map(|gap| gap.abs()).sum::<f64>() / rows.len() as f64)
}

fn bin_of(p: f64, bins: usize) -> usize {
    let edge = |bin: usize| bin as f64 / bins as f64;
    let mut bin = ((p * bins as f64).ceil() as usize)
        .saturating_sub(1)
        .min(bins - 1);
    // The product rounds (7/25 * 25 is above 7); the edges decide.
    while bin > 0 && p <= edge(bin) {
        bin -= 1;
    }
    while bin + 1 < bins && p > edge(bin + 1) {
        bin += 1;
    }
    bin
}

#[cfg(test)]
mod tests {
    use super::super::example::{close, probabilities, rows};
    use super::*;

    #[test]
    fn edges_belong_to_the_lower_bin() {
        for (p, bin) in [
            (0.0, 0),
            (0.1, 0),
            (0.10000001, 1),
            (0.3, 2),
            (0.6, 5),
            (0.7, 6),
            (0.9, 8),
            (1.0, 9),
        ] {
            assert_eq!(bin_of(p, 10), bin, "{p}");
        }
        assert_eq!(bin_of(1.0, 15), 14);
        assert_eq!(bin_of(0.2, 15), 2);
        assert_eq!(bin_of(0.5, 1), 0);
        // Where the product of probability and bins rounds to the wrong side of an edge.
        assert_eq!(bin_of(7.0 / 25.0, 25), 6);
        assert_eq!(bin_of((1.0_f64 / 3.0).next_up(), 3), 1);
    }

    #[test]
    fn as_the_definition() {
        // c = p.max(1); r = (p.argmax(1) == y).astype(float); e = np.linspace(0, 1, 11)
        // i = np.digitize(c, e, right=True)
        // sum(abs(r[i == k].mean() - c[i == k].mean()) * (i == k).mean() for k in set(i))
        let (rows, labels) = rows();
        close(ece(&rows, &labels, 10).unwrap(), 0.3833333333333333);
        close(ece(&rows, &labels, 15).unwrap(), 0.3833333333333333);
        // By hand: one bin of ten holds both rows, |0.38 - 0.68| / 2; of fifteen they have one each.
        let pair = [probabilities(&[0.62, 0.38]), probabilities(&[0.68, 0.32])];
        close(ece(&pair, &[0, 1], 10).unwrap(), 0.15);
        close(ece(&pair, &[0, 1], 15).unwrap(), 0.53);
        assert_eq!(ece(&rows, &labels, 0), Err(CalibrationError::NoBins));
    }
}
