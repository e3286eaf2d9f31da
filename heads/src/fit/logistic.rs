//! Multinomial logistic regression at one strength of regularisation.

use super::minimise::minimise;
use crate::HeadError;

/// A linear layer in float64.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearWeights {
    width: usize,
    /// `[options, width]`, row-major.
    pub weight: Vec<f64>,
    /// `[options]`
    pub bias: Vec<f64>,
}

/// The gradient's norm at which a fit is done, and that is accepted where rounding lets it become no smaller. Both are of
/// the mean loss per row, in nats.
const DONE: f64 = 1e-9;
const ACCEPTED: f64 = 1e-6;

/// Numbers that are added in float64 one after the other; several such sums run side by side.
const LANES: usize = 8;

impl LinearWeights {
    /// All zero.
    pub(super) fn zero(width: usize, options: usize) -> Self {
        Self {
            width,
            weight: vec![0.0; width * options],
            bias: vec![0.0; options],
        }
    }

    /// Scores of one normalised hidden state.
    pub fn scores(&self, x: &[f32]) -> Vec<f64> {
        let rows = self.weight.chunks_exact(self.width);
        rows.zip(&self.bias)
            .map(|(row, bias)| dot(row, x) + bias)
            .collect()
    }

    /// The same scores times `factor`.
    pub fn scale(&mut self, factor: f64) {
        for value in self.weight.iter_mut().chain(&mut self.bias) {
            *value *= factor;
        }
    }

    fn to_point(&self) -> Vec<f64> {
        self.weight.iter().chain(&self.bias).copied().collect()
    }

    fn from_point(width: usize, options: usize, point: &[f64]) -> Self {
        let (weight, bias) = point.split_at_checked(width * options).unwrap_or_default();
        Self {
            width,
            weight: weight.to_vec(),
            bias: bias.to_vec(),
        }
    }
}

/// Minimises `mean_i NLL_i + |W|^2 / (2 C n)` over `x`, `[rows, width]` row-major and normalised, with the gold option of
/// each row, from `start`.
///
/// # Errors
/// `strength` (C) is not above 0, the numbers do not fit together, or the optimiser fails.
pub fn fit_at(
    x: &[f32],
    gold: &[usize],
    options: usize,
    strength: f64,
    start: Option<&LinearWeights>,
) -> Result<LinearWeights, HeadError> {
    fit_to(x, gold, options, strength, start, DONE)
}

/// [`fit_at`] to a chosen precision: where the gradient's norm is `done`.
pub(super) fn fit_to(
    x: &[f32],
    gold: &[usize],
    options: usize,
    strength: f64,
    start: Option<&LinearWeights>,
    done: f64,
) -> Result<LinearWeights, HeadError> {
    let rows = gold.len();
    let width = x.len().checked_div(rows).unwrap_or_default();
    if !(strength > 0.0 && strength.is_finite()) {
        return Err(HeadError::Fit(format!(
            "the inverse strength of regularisation is {strength}: it must be above 0"
        )));
    }
    if width == 0 || width * rows != x.len() || gold.iter().any(|gold| *gold >= options) {
        return Err(HeadError::Fit(format!(
            "{} numbers for {rows} rows and {options} options do not fit together",
            x.len()
        )));
    }
    let zero = LinearWeights::zero(width, options);
    let start = start.filter(|start| start.weight.len() == zero.weight.len());
    let penalty = 1.0 / (strength * rows as f64);
    let point = minimise(
        |point| value_and_gradient(x, gold, options, width, penalty, point),
        start.unwrap_or(&zero).to_point(),
        done,
        ACCEPTED.max(done),
    )?;
    Ok(LinearWeights::from_point(width, options, &point))
}

fn value_and_gradient(
    x: &[f32],
    gold: &[usize],
    options: usize,
    width: usize,
    penalty: f64,
    point: &[f64],
) -> (f64, Vec<f64>) {
    let per_row = 1.0 / gold.len() as f64;
    let (weight, bias) = point.split_at_checked(width * options).unwrap_or_default();
    let mut gradient = vec![0.0; point.len()];
    let (to_weight, to_bias) = gradient.split_at_mut(weight.len());
    let mut value = 0.0;
    let mut scores = vec![0.0; options];
    for (x, gold) in x.chunks_exact(width).zip(gold) {
        let rows = weight.chunks_exact(width).zip(bias);
        for (score, (row, bias)) in scores.iter_mut().zip(rows) {
            *score = dot(row, x) + bias;
        }
        let total = log_sum_exp(&scores);
        value += per_row * (total - scores.get(*gold).copied().unwrap_or_default());
        let rows = to_weight.chunks_exact_mut(width).zip(to_bias.iter_mut());
        for ((option, score), (row, bias)) in scores.iter().enumerate().zip(rows) {
            let off = per_row * ((score - total).exp() - f64::from(u8::from(option == *gold)));
            *bias += off;
            for (place, x) in row.iter_mut().zip(x) {
                *place += off * f64::from(*x);
            }
        }
    }
    for (place, weight) in to_weight.iter_mut().zip(weight) {
        value += 0.5 * penalty * weight * weight;
        *place += penalty * weight;
    }
    (value, gradient)
}

fn dot(weight: &[f64], x: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let (weights, weights_left) = weight.as_chunks::<LANES>();
    let (xs, xs_left) = x.as_chunks::<LANES>();
    for (weights, xs) in weights.iter().zip(xs) {
        for ((sum, weight), x) in sums.iter_mut().zip(weights).zip(xs) {
            *sum += weight * f64::from(*x);
        }
    }
    let left = weights_left.iter().zip(xs_left);
    sums.iter().sum::<f64>() + left.map(|(weight, x)| weight * f64::from(*x)).sum::<f64>()
}

/// log sum exp of finite numbers.
pub(super) fn log_sum_exp(values: &[f64]) -> f64 {
    crate::question_scores::log_sum_exp(values.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let x: Vec<f32> = (0..30).map(|i| (i as f32 * 0.7).sin()).collect();
        let gold = [0, 1, 2, 1, 0, 2, 2, 1, 0, 1];
        let point: Vec<f64> = (0..12).map(|i| f64::from(i).cos()).collect();
        let value = |point: &[f64]| value_and_gradient(&x, &gold, 3, 3, 0.1, point);
        let (_, gradient) = value(&point);
        for place in 0..point.len() {
            let moved = |by: f64| {
                let mut moved = point.clone();
                moved[place] += by;
                value(&moved).0
            };
            let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((numeric - gradient[place]).abs() < 1e-8, "{place}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(fit_at(&[1.0, 2.0], &[0, 1], 2, 0.0, None).is_err());
        assert!(fit_at(&[1.0, 2.0], &[0, 1], 2, f64::NAN, None).is_err());
        assert!(fit_at(&[1.0, 2.0, 3.0], &[0, 1], 2, 1.0, None).is_err());
        assert!(fit_at(&[1.0, 2.0], &[0, 2], 2, 1.0, None).is_err());
        assert!(fit_at(&[], &[], 2, 1.0, None).is_err());
    }
}
