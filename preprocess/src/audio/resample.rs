//! Resampling to the 16 kHz of the model.
//!
//! The reference resamples with soxr at its setting HQ: linear phase, flat to 0.913 of the lower Nyquist frequency,
//! nothing above that frequency. Here it is an FFT convolution with a sinc under a squared Blackman-Harris window,
//! [`FILTER`] samples long at the lower rate: flat within 0.01 dB to 0.91 of the lower Nyquist frequency, more than
//! 120 dB down above it. Between the two the two filters differ; below they agree to 1e-4 of
//! full scale, as the tests check against soxr's own numbers. A rate that has few factors in common with 16000 gets a
//! longer and steeper filter, since one block must hold whole periods of the ratio.

use std::ops::RangeInclusive;
use std::time::Duration;

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Resampler, WindowFunction};

use super::SAMPLE_RATE;

/// Sample rates that are taken: from below the telephone's to the highest of any converter.
pub(super) const RATES: RangeInclusive<u32> = 1_000..=768_000;

/// Length of the filter in samples of the lower rate; sets the width of the transition band.
const FILTER: usize = 320;

/// How many samples at `rate` cover `length` of output: the length, and the filter's reach past its end.
pub(super) fn source_samples(rate: u32, length: Duration) -> usize {
    let wanted = length.as_secs_f64() * f64::from(rate);
    if rate == SAMPLE_RATE {
        return wanted as usize;
    }
    let (block_in, _) = blocks(rate);
    (wanted as usize).saturating_add(block_in + 1)
}

/// Resamples one channel from `rate` to 16 kHz: `ceil(n * 16000 / rate)` samples, aligned with the input.
/// Input at 16 kHz is returned as it is.
///
/// # Errors
///
/// What the resampler said; does not occur for a rate in [`RATES`].
pub(super) fn to_16_khz(samples: Vec<f32>, rate: u32) -> Result<Vec<f32>, String> {
    if rate == SAMPLE_RATE {
        return Ok(samples);
    }
    let said = |e: &dyn std::fmt::Display| format!("resampling from {rate} Hz: {e}");
    let (block_in, _) = blocks(rate);
    let mut resampler = Fft::<f32>::new_custom(
        rate as usize,
        SAMPLE_RATE as usize,
        block_in,
        1,
        1,
        WindowFunction::BlackmanHarris2,
        FixedSync::Both,
    )
    .map_err(|e| said(&e))?;
    let input = InterleavedSlice::new(&samples, 1, samples.len()).map_err(|e| said(&e))?;
    let room = resampler.process_all_needed_output_len(samples.len());
    let mut output = vec![0.0; room];
    let mut adapter = InterleavedSlice::new_mut(&mut output, 1, room).map_err(|e| said(&e))?;
    // The delay of the filter is cut off by the call.
    resampler
        .process_all_into_buffer(&input, &mut adapter, samples.len(), None)
        .map_err(|e| said(&e))?;
    // The resampler's own count is a rounded float; this one is exact.
    output.truncate(output_samples(samples.len(), rate));
    Ok(output)
}

/// `ceil(n * 16000 / rate)`.
pub(super) fn output_samples(n: usize, rate: u32) -> usize {
    let exact = (n as u128 * u128::from(SAMPLE_RATE)).div_ceil(u128::from(rate.max(1)));
    usize::try_from(exact).unwrap_or(usize::MAX)
}

/// The lengths of one FFT block, which is also the filter's, at the rate of the file and at 16 kHz: whole periods of
/// the ratio, at least [`FILTER`] samples at the lower rate.
fn blocks(rate: u32) -> (usize, usize) {
    let divisor = gcd(rate, SAMPLE_RATE);
    let (period_in, period_out) = ((rate / divisor) as usize, (SAMPLE_RATE / divisor) as usize);
    // An even number of them: the delay of a filter of odd length is no whole number of output samples.
    let periods = FILTER.div_ceil(period_in.min(period_out)).next_multiple_of(2);
    (periods * period_in, periods * period_out)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
