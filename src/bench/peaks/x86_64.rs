//! Register-only loops of x86-64, widest instruction first.

use std::arch::x86_64::*;
use std::hint::black_box;

use super::{Arithmetic, Loop};

/// Independent sums: enough to hide a latency of 5 cycles at two instructions a cycle.
const SUMS: usize = 12;

/// The widest loop of each arithmetic that this host can run.
pub(super) fn loops() -> Vec<Loop> {
    let mut found = Vec::new();
    if is_x86_feature_detected!("avx512vnni") {
        // SAFETY: the feature was detected.
        found.push(int8("vpdpbusd zmm", 64, |n| unsafe { vpdpbusd_512(n) }));
    } else if is_x86_feature_detected!("avxvnni") {
        // SAFETY: the feature was detected.
        found.push(int8("vpdpbusd ymm", 32, |n| unsafe { vpdpbusd_256(n) }));
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was detected.
        found.push(int8("vpmaddubsw + vpmaddwd + vpaddd ymm", 32, |n| unsafe {
            maddubs_256(n)
        }));
    }
    if is_x86_feature_detected!("avx512bf16") {
        found.push(Loop {
            arithmetic: Arithmetic::Bf16,
            instruction: "vdpbf16ps zmm",
            operations: (2 * 32 * SUMS) as u64,
            // SAFETY: the feature was detected.
            run: |n| unsafe { vdpbf16ps_512(n) },
        });
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was detected.
        found.push(fp32("vfmadd231ps zmm", 16, |n| unsafe { fma_512(n) }));
    } else if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx") {
        // SAFETY: the features were detected.
        found.push(fp32("vfmadd231ps ymm", 8, |n| unsafe { fma_256(n) }));
    } else {
        found.push(fp32("mulps + addps xmm", 4, mul_add_128));
    }
    found
}

fn int8(instruction: &'static str, lanes: usize, run: fn(u64)) -> Loop {
    Loop {
        arithmetic: Arithmetic::Int8,
        instruction,
        operations: (2 * lanes * SUMS) as u64,
        run,
    }
}

fn fp32(instruction: &'static str, lanes: usize, run: fn(u64)) -> Loop {
    Loop {
        arithmetic: Arithmetic::Fp32,
        instruction,
        operations: (2 * lanes * SUMS) as u64,
        run,
    }
}

/// `SUMS` sums held in registers; the factors pass `black_box` so that nothing can be computed beforehand.
macro_rules! register_loop {
    ($(#[$meta:meta])* $name:ident, $zero:expr, $factor:expr, |$sum:ident, $a:ident, $b:ident| $step:expr) => {
        $(#[$meta])*
        fn $name(iterations: u64) {
            let mut sums = [$zero; SUMS];
            let ($a, $b) = (black_box($factor), black_box($factor));
            for _ in 0..iterations {
                for $sum in &mut sums {
                    *$sum = $step;
                }
            }
            black_box(sums);
        }
    };
}

register_loop!(
    #[target_feature(enable = "avx512f,avx512vnni")]
    vpdpbusd_512,
    _mm512_setzero_si512(),
    _mm512_set1_epi8(3),
    |sum, a, b| _mm512_dpbusd_epi32(*sum, a, b)
);
register_loop!(
    #[target_feature(enable = "avx2,avxvnni")]
    vpdpbusd_256,
    _mm256_setzero_si256(),
    _mm256_set1_epi8(3),
    |sum, a, b| _mm256_dpbusd_avx_epi32(*sum, a, b)
);
register_loop!(
    #[target_feature(enable = "avx2")]
    maddubs_256,
    _mm256_setzero_si256(),
    _mm256_set1_epi8(3),
    |sum, a, b| _mm256_add_epi32(
        *sum,
        // The factor differs per sum, or the compiler would compute the product once.
        _mm256_madd_epi16(_mm256_maddubs_epi16(a, black_box(b)), _mm256_set1_epi16(1))
    )
);
register_loop!(
    #[target_feature(enable = "avx512f,avx512bf16")]
    vdpbf16ps_512,
    _mm512_setzero_ps(),
    _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5), _mm512_set1_ps(0.5)),
    |sum, a, b| _mm512_dpbf16_ps(*sum, a, b)
);
register_loop!(
    #[target_feature(enable = "avx512f")]
    fma_512,
    _mm512_setzero_ps(),
    _mm512_set1_ps(0.5),
    |sum, a, b| _mm512_fmadd_ps(a, b, *sum)
);
register_loop!(
    #[target_feature(enable = "avx,fma")]
    fma_256,
    _mm256_setzero_ps(),
    _mm256_set1_ps(0.5),
    |sum, a, b| _mm256_fmadd_ps(a, b, *sum)
);
// SAFETY of the intrinsics: SSE is part of x86-64.
register_loop!(
    #[target_feature(enable = "sse")]
    mul_add_128_sse,
    _mm_setzero_ps(),
    _mm_set1_ps(0.5),
    |sum, a, b| _mm_add_ps(*sum, _mm_mul_ps(a, black_box(b)))
);

fn mul_add_128(iterations: u64) {
    // SAFETY: SSE is part of x86-64.
    unsafe { mul_add_128_sse(iterations) }
}
