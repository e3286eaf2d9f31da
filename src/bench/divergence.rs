//! How far one next-token distribution is from another.

/// Agreement of a variant with the reference over many prompts.
#[derive(Debug, Clone, Default)]
pub struct Divergence {
    same_top: usize,
    kl: Vec<f64>,
}

impl Divergence {
    /// Adds one prompt: logits of the reference and of the variant over the same vocabulary.
    pub fn add(&mut self, reference: &[f32], variant: &[f32]) {
        self.same_top += usize::from(top(reference) == top(variant));
        self.kl.push(kl_divergence(reference, variant));
    }

    /// Prompts added.
    pub fn prompts(&self) -> usize {
        self.kl.len()
    }

    /// Share of prompts where both put the same token first.
    pub fn top1_agreement(&self) -> f64 {
        self.same_top as f64 / self.kl.len().max(1) as f64
    }

    /// KL(reference || variant) in nats, one per prompt.
    pub fn kl(&self) -> &[f64] {
        &self.kl
    }
}

/// KL(p || q) in nats of the distributions with these logits, in float64. Infinite where the vocabularies differ in
/// size or a logit is no number.
pub fn kl_divergence(p: &[f32], q: &[f32]) -> f64 {
    if p.len() != q.len() || p.iter().chain(q).any(|logit| !logit.is_finite()) {
        return f64::INFINITY;
    }
    let (p_normalizer, q_normalizer) = (log_sum_exp(p), log_sum_exp(q));
    let sum: f64 = p
        .iter()
        .zip(q)
        .map(|(p, q)| {
            let (log_p, log_q) = (f64::from(*p) - p_normalizer, f64::from(*q) - q_normalizer);
            log_p.exp() * (log_p - log_q)
        })
        .sum();
    // Rounding can leave a tiny negative sum for equal distributions.
    sum.max(0.0)
}

fn log_sum_exp(logits: &[f32]) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    highest
        + logits
            .iter()
            .map(|logit| (f64::from(*logit) - highest).exp())
            .sum::<f64>()
            .ln()
}

fn top(logits: &[f32]) -> Option<usize> {
    logits
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kl_of_known_distributions() {
        let log = |p: [f32; 2]| p.map(f32::ln);
        // KL((1/2, 1/2) || (1/4, 3/4)) = ln 2 - ln 3 / 2
        let found = kl_divergence(&log([0.5, 0.5]), &log([0.25, 0.75]));
        assert!(
            (found - (2.0_f64.ln() - 3.0_f64.ln() / 2.0)).abs() < 1e-6,
            "{found}"
        );
        // A shift of all logits changes nothing.
        assert!(kl_divergence(&[1.0, 2.0, 3.0], &[101.0, 102.0, 103.0]) < 1e-12);
    }

    #[test]
    fn broken_logits_are_infinitely_far() {
        assert_eq!(kl_divergence(&[1.0], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(kl_divergence(&[1.0, f32::NAN], &[1.0, 2.0]), f64::INFINITY);
    }

    #[test]
    fn agreement_counts_the_top_token() {
        let mut found = Divergence::default();
        found.add(&[1.0, 2.0], &[1.5, 2.0]);
        found.add(&[1.0, 2.0], &[3.0, 2.0]);
        assert_eq!(found.prompts(), 2);
        assert_eq!(found.top1_agreement(), 0.5);
    }
}
