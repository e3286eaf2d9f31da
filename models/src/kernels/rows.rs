//! Kernels on single rows: RMS norm and the gates of the feed-forward block.

use super::elementary::{fused, gelu_tanh, silu};
use super::per_isa;
use crate::Activation;

per_isa! {
    /// out = row / sqrt(mean(row^2) + epsilon) * weight. `out` and `weight` are as long as `row`.
    pub(crate) fn rms_norm(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) = rms_norm_body
}

#[inline(always)]
fn rms_norm_body<const FMA: bool>(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let factor = inverse_rms::<FMA>(row, epsilon);
    for ((out, value), weight) in out.iter_mut().zip(row).zip(weight) {
        *out = value * factor * weight;
    }
}

/// 1 / sqrt(mean(row^2) + epsilon), summed in 16 interleaved lanes.
#[inline(always)]
fn inverse_rms<const FMA: bool>(row: &[f32], epsilon: f32) -> f32 {
    let mut lanes = [0f32; 16];
    let (chunks, rest) = row.as_chunks::<16>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = fused::<FMA>(*value, *value, *lane);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = fused::<FMA>(*value, *value, *lane);
    }
    let mean = lanes.iter().map(|lane| f64::from(*lane)).sum::<f64>() / row.len() as f64;
    (1.0 / (mean + f64::from(epsilon)).sqrt()) as f32
}

per_isa! {
    /// out = gate function(gate) * up, element by element.
    pub(crate) fn gate(activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) = gate_body
}

#[inline(always)]
fn gate_body<const FMA: bool>(activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) {
    match activation {
        Activation::Silu => {
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = silu::<FMA>(*gate) * up;
            }
        }
        Activation::GeluTanh => {
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = gelu_tanh::<FMA>(*gate) * up;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Isa;

    #[test]
    fn rms_norm_of_a_constant_row_is_its_weight() {
        for isa in Isa::available() {
            let weight: Vec<f32> = (0..37).map(|i| i as f32).collect();
            let mut out = vec![0f32; 37];
            rms_norm(isa, &[-3.0; 37], &weight, 0.0, &mut out);
            for (out, weight) in out.iter().zip(&weight) {
                assert!((out + weight).abs() < 1e-5);
            }
        }
    }
}
