//! Softmax and its kin in f64, for scores that were checked before.

/// `ln sum_i exp(x_i)`, stable; minus infinity for nothing.
pub(crate) fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest
        + values
            .iter()
            .map(|value| (value - largest).exp())
            .sum::<f64>()
            .ln()
}

/// `softmax(x)`.
pub(crate) fn softmax(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = values.iter().map(|value| (value - largest).exp()).collect();
    let total: f64 = exponentials.iter().sum();
    exponentials
        .iter()
        .map(|exponential| exponential / total)
        .collect()
}

/// `softmax(scale * s)`.
pub(crate) fn scaled_softmax(scores: &[f32], scale: f64) -> Vec<f64> {
    let scaled: Vec<f64> = scores.iter().map(|score| f64::from(*score) * scale).collect();
    softmax(&scaled)
}

/// `ln softmax(s)`: the raw scores as log-probabilities.
pub(crate) fn log_softmax(scores: &[f32]) -> Vec<f64> {
    let scores: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
    let total = log_sum_exp(&scores);
    scores.iter().map(|score| score - total).collect()
}

/// `ln(1 + exp(x))`.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `1 / (1 + exp(-x))`.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}
