//! Elementary functions written so that the compiler vectorises them.

/// a * b + c, fused where the instruction set has it.
#[inline(always)]
pub(crate) fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// e^x in float32, within 2 units in the last place for -87 <= x <= 88; smaller x give 0, larger are clamped.
///
/// Range reduction by ln 2 in two parts and a polynomial of degree 6 (Cephes `expf`, S. Moshier).
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Adding 1.5 * 2^23 rounds to the nearest integer in the low bits of the mantissa.
    const ROUNDER: f32 = 12_582_912.0;
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = fused::<FMA>(clamped, LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = fused::<FMA>(n, -LN2_HIGH, clamped);
    let r = fused::<FMA>(n, -LN2_LOW, r);
    let mut p = 1.987_569_1e-4;
    p = fused::<FMA>(p, r, 1.398_199_9e-3);
    p = fused::<FMA>(p, r, 8.333_452e-3);
    p = fused::<FMA>(p, r, 4.166_579_6e-2);
    p = fused::<FMA>(p, r, 1.666_666_5e-1);
    p = fused::<FMA>(p, r, 0.5);
    let value = fused::<FMA>(p, r * r, r) + 1.0;
    let exponent = (shifted.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32).wrapping_add(127) as u32;
    let scaled = value * f32::from_bits(exponent << 23);
    // NaN passes through clamp and the arithmetic, and must not be hidden here.
    if x < -87.0 { 0.0 } else { scaled }
}

/// x * sigmoid(x)
#[inline(always)]
pub(crate) fn silu<const FMA: bool>(x: f32) -> f32 {
    x / (1.0 + exp::<FMA>(-x))
}

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)).
#[inline(always)]
pub(crate) fn gelu_tanh<const FMA: bool>(x: f32) -> f32 {
    const TWICE_SQRT_2_OVER_PI: f32 = 1.595_769;
    let inner = TWICE_SQRT_2_OVER_PI * fused::<FMA>(0.044_715 * x * x, x, x);
    x / (1.0 + exp::<FMA>(-inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let mut x = -86.9f32;
        while x < 87.9 {
            for value in [exp::<true>(x), exp::<false>(x)] {
                let exact = f64::from(x).exp();
                assert!(
                    (f64::from(value) / exact - 1.0).abs() < 2.5e-7,
                    "exp({x}) = {value}, not {exact}"
                );
            }
            x += 0.013;
        }
        assert_eq!(exp::<true>(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp::<true>(-100.0), 0.0);
        assert_eq!(exp::<true>(0.0), 1.0);
        assert!(exp::<true>(f32::NAN).is_nan());
    }

    #[test]
    fn gates_follow_their_definitions() {
        let mut x = -20.0f32;
        while x < 20.0 {
            let wide = f64::from(x);
            let expected = wide / (1.0 + (-wide).exp());
            assert!((f64::from(silu::<true>(x)) - expected).abs() < 1e-6 * (1.0 + wide.abs()));
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044715 * wide.powi(3));
            let expected = 0.5 * wide * (1.0 + inner.tanh());
            assert!((f64::from(gelu_tanh::<true>(x)) - expected).abs() < 1e-6 * (1.0 + wide.abs()));
            x += 0.01;
        }
    }
}
