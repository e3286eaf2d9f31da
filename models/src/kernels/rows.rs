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

per_isa! {
    /// out = row / sqrt(mean(row^2) + epsilon). `out` is as long as `row`.
    pub(crate) fn rms_scale(row: &[f32], epsilon: f32, out: &mut [f32]) = rms_scale_body
}

#[inline(always)]
fn rms_scale_body<const FMA: bool>(row: &[f32], epsilon: f32, out: &mut [f32]) {
    let factor = inverse_rms::<FMA>(row, epsilon);
    for (out, value) in out.iter_mut().zip(row) {
        *out = value * factor;
    }
}

per_isa! {
    /// out = (row - mean(row)) / sqrt(variance(row) + epsilon) * weight + bias, all as long as `row`.
    ///
    /// Mean first, then the centred variance, both in float64: a patch of one colour has variance zero, and float32
    /// rounding of its mean would come out 300 times as large.
    pub(crate) fn layer_norm(row: &[f32], weight: &[f32], bias: &[f32], epsilon: f32, out: &mut [f32]) = layer_norm_body
}

#[inline(always)]
fn layer_norm_body<const FMA: bool>(
    row: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
    out: &mut [f32],
) {
    let count = row.len() as f64;
    let mean = sum_of(row, |value| value) / count;
    let variance = sum_of(row, |value| (value - mean) * (value - mean)) / count;
    let factor = 1.0 / (variance + f64::from(epsilon)).sqrt();
    for (((out, value), weight), bias) in out.iter_mut().zip(row).zip(weight).zip(bias) {
        let centred = ((f64::from(*value) - mean) * factor) as f32;
        *out = fused::<FMA>(centred, *weight, *bias);
    }
}

/// Sum of a function of every number, in 8 interleaved lanes of float64.
#[inline(always)]
fn sum_of(row: &[f32], of: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0f64; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += of(f64::from(*value));
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += of(f64::from(*value));
    }
    lanes.iter().sum()
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
    fn layer_norm_of_a_constant_row_is_its_bias() {
        for isa in Isa::available() {
            let (weight, bias) = ([7.0; 6912], [0.25; 6912]);
            let mut out = vec![0f32; 6912];
            layer_norm(isa, &[0.1; 6912], &weight, &bias, 1e-5, &mut out);
            assert!(out.iter().all(|out| (out - 0.25).abs() < 1e-6), "{isa:?}");
        }
    }

    #[test]
    fn layer_norm_follows_its_definition() {
        let row: Vec<f32> = (0..45).map(|i| ((i * 7919) % 101) as f32 / 10.0 + 3.0).collect();
        let weight: Vec<f32> = (0..45).map(|i| 1.0 + i as f32 / 50.0).collect();
        let bias: Vec<f32> = (0..45).map(|i| i as f32 - 20.0).collect();
        let mean: f64 = row.iter().map(|x| f64::from(*x)).sum::<f64>() / 45.0;
        let variance = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / 45.0;
        for isa in Isa::available() {
            let mut out = vec![0f32; 45];
            layer_norm(isa, &row, &weight, &bias, 1e-5, &mut out);
            for i in 0..45 {
                let unit = (f64::from(row[i]) - mean) / (variance + 1e-5).sqrt();
                let exact = unit * f64::from(weight[i]) + f64::from(bias[i]);
                assert!((f64::from(out[i]) - exact).abs() < 1e-5, "{isa:?} {i}");
            }
        }
    }

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
