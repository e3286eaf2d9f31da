//! Angular frequencies of the rotary position embedding.

use crate::Rope;

/// How a checkpoint stretches its rotary frequencies beyond the trained context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RopeScaling {
    /// Frequencies as trained.
    Default,
    /// Every frequency divided by one factor.
    Linear {
        /// The divisor.
        factor: f32,
    },
    /// Llama 3: low frequencies divided, high ones kept, a ramp in between.
    Llama3 {
        /// The divisor of low frequencies.
        factor: f32,
        /// Turns in the original context below which a frequency is low.
        low_freq_factor: f32,
        /// Turns in the original context above which a frequency is high.
        high_freq_factor: f32,
        /// Context that the model was first trained with.
        original_context: f32,
    },
    /// Gemma 4: the first part of the frequencies as trained, the rest zero.
    Proportional {
        /// The part of them that is not zero, at most 1.
        share: f32,
    },
}

/// The `head_dim / 2` frequencies `theta^(-2j / head_dim)`, scaled.
///
/// Rounded step by step to single precision, as the reference implementation does (Su et al., arXiv 2104.09864, for the
/// formula; the Llama 3.1 release for its ramp), so that long positions keep the same angle.
pub(crate) fn rope(head_dim: usize, theta: f32, scaling: RopeScaling) -> Rope {
    let inverse_frequencies = (0..head_dim / 2)
        .map(|j| {
            let exponent = (2 * j) as f32 / head_dim as f32;
            let inverse = 1.0 / (f64::from(theta).powf(f64::from(exponent)) as f32);
            match scaling {
                RopeScaling::Proportional { share } if j >= rotating(head_dim, share) => 0.0,
                _ => scaled(inverse, scaling),
            }
        })
        .collect();
    Rope { inverse_frequencies }
}

/// Frequencies that are not zero in a proportional embedding.
fn rotating(head_dim: usize, share: f32) -> usize {
    (f64::from(share) * head_dim as f64 / 2.0).floor() as usize
}

fn scaled(inverse: f32, scaling: RopeScaling) -> f32 {
    match scaling {
        RopeScaling::Default | RopeScaling::Proportional { .. } => inverse,
        RopeScaling::Linear { factor } => inverse / factor,
        RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_context,
        } => {
            let wavelength = 2.0 * std::f32::consts::PI / inverse;
            if wavelength > original_context / low_freq_factor {
                inverse / factor
            } else if wavelength < original_context / high_freq_factor {
                inverse
            } else {
                let smooth =
                    (original_context / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                (1.0 - smooth) * inverse / factor + smooth * inverse
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_frequencies_follow_the_formula() {
        let rope = rope(4, 10_000.0, RopeScaling::Default);
        assert_eq!(rope.inverse_frequencies, vec![1.0, 0.01]);
    }

    #[test]
    fn proportional_scaling_zeroes_the_rest() {
        let plain = rope(512, 1e6, RopeScaling::Default).inverse_frequencies;
        let part = rope(512, 1e6, RopeScaling::Proportional { share: 0.25 }).inverse_frequencies;
        assert_eq!(part.len(), 256);
        assert_eq!(part[..64], plain[..64]);
        assert!(part[64..].iter().all(|frequency| *frequency == 0.0));
    }

    #[test]
    fn linear_scaling_divides() {
        let rope = rope(4, 10_000.0, RopeScaling::Linear { factor: 8.0 });
        assert_eq!(rope.inverse_frequencies, vec![0.125, 0.00125]);
    }

    #[test]
    fn llama3_keeps_high_and_divides_low_frequencies() {
        let scaling = RopeScaling::Llama3 {
            factor: 32.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_context: 8192.0,
        };
        let plain = rope(64, 500_000.0, RopeScaling::Default).inverse_frequencies;
        let stretched = rope(64, 500_000.0, scaling).inverse_frequencies;
        assert_eq!(stretched[0], plain[0]);
        assert_eq!(stretched[31], plain[31] / 32.0);
        let between = plain
            .iter()
            .zip(&stretched)
            .filter(|(a, b)| a != b && (**a / 32.0 - **b).abs() > 1e-12)
            .count();
        assert!(between > 0, "no frequency lies on the ramp");
    }
}
