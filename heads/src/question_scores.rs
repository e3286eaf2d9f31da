//! The result for one question, and averaging over option orders.

/// Scores of one question's options.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionScores {
    /// One per option in the caller's order, in log space, finite; softmax gives raw probabilities. With one option
    /// order these are the readout's own numbers; averaged over several they are logs of probabilities.
    pub scores: Vec<f32>,
    /// Share of the model's next-token mass that fell on the options, 0 to 1: for labels, on the label tokens; for
    /// text, on the options' texts. `None` where it is not defined: an option's text is the start of another's. Averaged
    /// over option orders.
    pub option_mass: Option<f32>,
    /// Option orders that were averaged over; 1 where the prompt form shows no options, whatever was asked.
    pub orders: usize,
}

/// Scores of one question in one option order, before they are averaged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderScores {
    pub(crate) scores: Vec<f64>,
    pub(crate) option_mass: Option<f64>,
}

/// Averages the probabilities of all orders and gives their logs: `log mean_o softmax(scores_o)`. One order is passed
/// through. The mean of probabilities (not of logs) is what marginalising over a uniformly drawn order gives.
pub(crate) fn average_orders(orders: &[OrderScores]) -> (Vec<f64>, Option<f64>) {
    let count = orders.len() as f64;
    let option_mass = orders
        .iter()
        .map(|order| order.option_mass)
        .sum::<Option<f64>>()
        .map(|sum| (sum / count).clamp(0.0, 1.0));
    if let [only] = orders {
        return (only.scores.clone(), option_mass);
    }
    let normalised: Vec<(f64, &Vec<f64>)> = orders
        .iter()
        .map(|order| (log_sum_exp(order.scores.iter().copied()), &order.scores))
        .collect();
    let options = orders.first().map_or(0, |order| order.scores.len());
    let scores = (0..options)
        .map(|option| {
            let logs = normalised
                .iter()
                .filter_map(|(total, scores)| scores.get(option).map(|score| score - total));
            log_sum_exp(logs) - count.ln()
        })
        .collect();
    (scores, option_mass)
}

/// log sum exp, stable for any finite numbers.
pub(crate) fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
}
