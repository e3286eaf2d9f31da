//! Register-only loops of 64-bit ARM.

use std::arch::aarch64::*;
use std::hint::black_box;

use super::{Arithmetic, Loop};

/// Independent sums: enough to hide a latency of 4 cycles at four instructions a cycle.
const SUMS: usize = 16;

/// float32 only: the 8-bit and bfloat16 dot products of ARM have no stable intrinsics.
pub(super) fn loops() -> Vec<Loop> {
    vec![Loop {
        arithmetic: Arithmetic::Fp32,
        instruction: "fmla v.4s",
        operations: (2 * 4 * SUMS) as u64,
        // SAFETY: NEON is part of 64-bit ARM.
        run: |iterations| unsafe { fmla(iterations) },
    }]
}

#[target_feature(enable = "neon")]
fn fmla(iterations: u64) {
    let mut sums = [vdupq_n_f32(0.0); SUMS];
    let (a, b) = (black_box(vdupq_n_f32(0.5)), black_box(vdupq_n_f32(0.5)));
    for _ in 0..iterations {
        for sum in &mut sums {
            *sum = vfmaq_f32(*sum, a, b);
        }
    }
    black_box(sums);
}
