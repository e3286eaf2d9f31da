//! Kernels on single rows: RMS norm, quantisation and the gates of the feed-forward block.

use super::elementary::{fused, gelu_tanh, silu};
use super::per_isa;
use super::tile_int8::ZERO_POINT;
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
    /// Quantises `row` in groups: `quantised` gets `round(x / scale) + 128` with `scale = max|x| / 127` of the group.
    ///
    /// `quantised` is a multiple of `group` long, at least `row.len()`; what is past the row is the zero point. A NaN
    /// makes its group's scale NaN, so that it reaches the result.
    pub(crate) fn quantise(row: &[f32], group: usize, quantised: &mut [u8], scales: &mut [f32]) = quantise_body
}

#[inline(always)]
fn quantise_body<const FMA: bool>(row: &[f32], group: usize, quantised: &mut [u8], scales: &mut [f32]) {
    // Adding 1.5 * 2^23 rounds half to even and leaves the integer in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    let zero_bits = ROUNDER.to_bits().wrapping_sub(ZERO_POINT as u32);
    let places = quantised
        .chunks_exact_mut(group)
        .zip(scales.iter_mut())
        .enumerate();
    for (index, (quantised, scale)) in places {
        let start = (index * group).min(row.len());
        let values = &row[start..(start + group).min(row.len())];
        // Magnitudes order like their bits, and NaN lies above infinity.
        let mut largest = 0u32;
        for value in values {
            largest = largest.max(value.to_bits() & 0x7fff_ffff);
        }
        let largest = f32::from_bits(largest);
        *scale = largest / 127.0;
        // Below the smallest normal quotient the reciprocal overflows; such groups are zero to float32 precision.
        let inverse = if largest > 1e-30 { 127.0 / largest } else { 0.0 };
        for (place, value) in quantised.iter_mut().zip(values) {
            *place = fused::<FMA>(*value, inverse, ROUNDER)
                .to_bits()
                .wrapping_sub(zero_bits) as u8;
        }
        for place in &mut quantised[values.len()..] {
            *place = ZERO_POINT as u8;
        }
    }
}

per_isa! {
    /// Quantises what [`quantise`] left over, in steps 254 times finer: the two parts together hold about 15 bits.
    pub(crate) fn quantise_rest(row: &[f32], group: usize, quantised: &[u8], scales: &[f32], rest: &mut [u8], rest_scales: &mut [f32]) = quantise_rest_body
}

#[inline(always)]
fn quantise_rest_body<const FMA: bool>(
    row: &[f32],
    group: usize,
    quantised: &[u8],
    scales: &[f32],
    rest: &mut [u8],
    rest_scales: &mut [f32],
) {
    for (rest_scale, scale) in rest_scales.iter_mut().zip(scales) {
        *rest_scale = scale / 254.0;
    }
    let places = rest
        .chunks_exact_mut(group)
        .zip(quantised.chunks_exact(group))
        .zip(scales);
    for (index, ((rest, quantised), scale)) in places.enumerate() {
        let start = (index * group).min(row.len());
        let values = &row[start..(start + group).min(row.len())];
        let inverse = if *scale > 1e-30 { 254.0 / scale } else { 0.0 };
        for ((place, value), code) in rest.iter_mut().zip(values).zip(quantised) {
            let left = fused::<FMA>(f32::from(*code) - ZERO_POINT as f32, -scale, *value);
            *place = ((left * inverse).round_ties_even().clamp(-127.0, 127.0) as i32 + ZERO_POINT) as u8;
        }
        for place in &mut rest[values.len()..] {
            *place = ZERO_POINT as u8;
        }
    }
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
    fn quantised_rows_come_back_within_half_a_step() {
        let row: Vec<f32> = (0..150)
            .map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 37.0)
            .collect();
        for isa in Isa::available() {
            let (mut quantised, mut scales) = (vec![0u8; 192], vec![0f32; 3]);
            quantise(isa, &row, 64, &mut quantised, &mut scales);
            for (index, value) in row.iter().enumerate() {
                let scale = scales[index / 64];
                let back = (f32::from(quantised[index]) - 128.0) * scale;
                assert!(
                    (back - value).abs() <= 0.5001 * scale,
                    "{isa:?} {index}: {value} became {back}"
                );
            }
            assert!(quantised[150..].iter().all(|place| *place == 128));
        }
    }

    #[test]
    fn two_parts_hold_fifteen_bits() {
        let row: Vec<f32> = (0..128)
            .map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 37.0)
            .collect();
        for isa in Isa::available() {
            let (mut codes, mut scales) = (vec![0u8; 128], vec![0f32; 2]);
            let (mut rest, mut rest_scales) = (codes.clone(), scales.clone());
            quantise(isa, &row, 64, &mut codes, &mut scales);
            quantise_rest(isa, &row, 64, &codes, &scales, &mut rest, &mut rest_scales);
            for (index, value) in row.iter().enumerate() {
                let part =
                    |codes: &[u8], scales: &[f32]| (f32::from(codes[index]) - 128.0) * scales[index / 64];
                let back = part(&codes, &scales) + part(&rest, &rest_scales);
                assert!(
                    (back - value).abs() <= scales[index / 64] / 500.0,
                    "{isa:?}: {value} became {back}"
                );
            }
        }
    }

    #[test]
    fn nan_and_zero_rows_are_not_hidden() {
        for isa in Isa::available() {
            let (mut quantised, mut scales) = (vec![0u8; 128], vec![0f32; 2]);
            let mut row = vec![0f32; 128];
            row[70] = f32::NAN;
            quantise(isa, &row, 64, &mut quantised, &mut scales);
            assert_eq!(scales[0], 0.0);
            assert!(quantised[..64].iter().all(|place| *place == 128));
            assert!(scales[1].is_nan());
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
