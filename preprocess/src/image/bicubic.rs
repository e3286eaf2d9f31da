//! Bicubic weights of one axis in 16-bit fixed point, as torchvision's 8-bit resize on CPU computes them.
//!
//! Keys' kernel with a = -0.5, widened by the scale when shrinking. The weights are float64 until they are rounded; the
//! number of fraction bits is the largest at which the largest weight of the axis still fits 16 bits.

/// Keys' parameter.
const A: f64 = -0.5;
/// Source samples on each side of the centre that the kernel covers at scale 1.
const SUPPORT: f64 = 2.0;
/// Weights per target sample are padded with zeros to a multiple of this, so that vector code needs no remainder.
pub(super) const TAP_GROUP: usize = 4;
/// The most fraction bits that a weight may have.
const MOST_FRACTION_BITS: u32 = 22;

fn keys(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

/// What turns one axis of `source` samples into one of `target` samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AxisFilter {
    /// First source sample of each target sample.
    starts: Vec<usize>,
    /// `stride` weights per target sample, the last of them zeros.
    weights: Vec<i16>,
    /// Weights per target sample, a multiple of [`TAP_GROUP`].
    stride: usize,
    /// Fraction bits of the weights.
    fraction_bits: u32,
    /// Whether the target is the source.
    identity: bool,
}

/// The weights of one target sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    /// Index of the source sample that the first weight belongs to.
    pub(super) start: usize,
    /// Weights of consecutive source samples; behind the end of the axis they are zero.
    pub(super) weights: &'a [i16],
}

impl AxisFilter {
    /// The filter from `source` to `target` samples; `mirrored` if the source is stored from its far end.
    pub(super) fn new(source: u32, target: u32, mirrored: bool) -> Self {
        let taps = if source == target {
            copying(target)
        } else {
            bicubic(source, target)
        };
        let widest = taps.iter().map(|tap| tap.weights.len()).max().unwrap_or(0);
        let stride = widest.next_multiple_of(TAP_GROUP);
        let largest = taps
            .iter()
            .flat_map(|tap| &tap.weights)
            .copied()
            .fold(0.0, f64::max);
        let fraction_bits = fraction_bits(largest);
        let one = f64::from(1_u32 << fraction_bits);
        let mut filter = Self {
            starts: Vec::with_capacity(taps.len()),
            weights: Vec::with_capacity(taps.len() * stride),
            stride,
            fraction_bits,
            identity: source == target && !mirrored,
        };
        for Taps { start, weights } in &taps {
            let row = filter.weights.len();
            // Rounded as the reference does; the cast cannot saturate (see fraction_bits).
            let fixed = weights
                .iter()
                .map(|weight| (weight * one + 0.5_f64.copysign(*weight)).trunc() as i16);
            if mirrored {
                filter
                    .starts
                    .push((source as usize).saturating_sub(start + weights.len()));
                filter.weights.extend(fixed.rev());
            } else {
                filter.starts.push(*start);
                filter.weights.extend(fixed);
            }
            filter.weights.resize(row + stride, 0);
        }
        filter
    }

    /// Whether the pass can be left out.
    pub(super) fn is_identity(&self) -> bool {
        self.identity
    }

    /// Target samples.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Weights per target sample, padding included.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Fraction bits of the weights, at least 1.
    pub(super) fn fraction_bits(&self) -> u32 {
        self.fraction_bits
    }

    /// The windows of all target samples in order.
    pub(super) fn windows(&self) -> impl Iterator<Item = Window<'_>> {
        self.starts
            .iter()
            .zip(self.weights.chunks_exact(self.stride.max(1)))
            .map(|(&start, weights)| Window { start, weights })
    }
}

struct Taps {
    start: usize,
    weights: Vec<f64>,
}

/// One weight of 1 per sample: an axis whose length stays.
fn copying(length: u32) -> Vec<Taps> {
    (0..length as usize)
        .map(|start| Taps {
            start,
            weights: vec![1.0],
        })
        .collect()
}

fn bicubic(source: u32, target: u32) -> Vec<Taps> {
    let length = f64::from(source);
    let scale = length / f64::from(target);
    let (reach, narrowing) = if scale >= 1.0 {
        (SUPPORT * scale, 1.0 / scale)
    } else {
        (SUPPORT, 1.0)
    };
    (0..target)
        .map(|i| {
            let centre = scale * (f64::from(i) + 0.5);
            // Both are within 0..=source, so the casts only drop the fraction.
            let first = (centre - reach + 0.5).trunc().max(0.0);
            let end = (centre + reach + 0.5).trunc().min(length);
            let count = (end - first).max(0.0) as u32;
            let mut weights: Vec<f64> = (0..count)
                .map(|j| keys((f64::from(j) + first - centre + 0.5) * narrowing))
                .collect();
            let sum: f64 = weights.iter().sum();
            if sum != 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= sum);
            }
            Taps {
                start: first as usize,
                weights,
            }
        })
        .collect()
}

/// The largest number of fraction bits at which the largest weight is below 2^15.
fn fraction_bits(largest: f64) -> u32 {
    (0..MOST_FRACTION_BITS)
        .find(|bits| (0.5 + largest * f64::from(1_u32 << (bits + 1))).trunc() >= 32768.0)
        .unwrap_or(MOST_FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_axis_fit_32_bits() {
        for source in (1..200).chain([1000, 1920, 3000, 20_000, 65_535]) {
            for target in [48, 96, 480, 768, 1056, 2016, 13_440, 53_760] {
                for mirrored in [false, true] {
                    let filter = AxisFilter::new(source, target, mirrored);
                    assert_eq!(filter.len(), target as usize);
                    for window in filter.windows() {
                        let largest: i64 = window.weights.iter().map(|&w| 255 * i64::from(w).abs()).sum();
                        let rounded = largest + (1 << filter.fraction_bits());
                        assert!(rounded <= i64::from(i32::MAX), "{source} to {target}");
                        let beyond = (source as usize).saturating_sub(window.start);
                        assert!(
                            window.weights.iter().skip(beyond).all(|&w| w == 0),
                            "{source} to {target}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_mirrored_axis_has_the_same_weights_in_reverse() {
        let [forwards, backwards] = [false, true].map(|mirrored| AxisFilter::new(37, 48, mirrored));
        for (a, b) in forwards.windows().zip(backwards.windows()) {
            let of = |window: Window<'_>| -> Vec<(usize, i16)> {
                let places = window.weights.iter().enumerate().filter(|(_, w)| **w != 0);
                places.map(|(i, &w)| (window.start + i, w)).collect()
            };
            let reversed: Vec<_> = of(b).into_iter().rev().map(|(at, w)| (36 - at, w)).collect();
            assert_eq!(of(a), reversed);
        }
    }
}
