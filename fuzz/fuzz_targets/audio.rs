//! Any bytes as a sound, with the limits of the server.
#![no_main]

use assize_preprocess::audio::{self, AudioLimits, SAMPLE_RATE, SAMPLES_PER_FRAME};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: panics_of_symphonia_go_on(), |bytes: &[u8]| {
    let limits = AudioLimits::default();
    let waveform = match audio::decode(bytes, &limits) {
        Ok(waveform) => waveform,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let count = waveform.samples().len();
    assert!(count > 0 && count as u64 <= limits.length.as_secs() * u64::from(SAMPLE_RATE));
    assert!(waveform.samples().iter().all(|sample| sample.is_finite()));
    assert!(waveform.source().sample_rate > 0 && waveform.source().channels > 0);
    let frames = waveform.into_frames();
    assert_eq!(frames.soft_tokens(), count.div_ceil(SAMPLES_PER_FRAME));
    assert_eq!(frames.samples().len(), frames.soft_tokens() * SAMPLES_PER_FRAME);
});

/// libFuzzer ends the process at every panic, before it can be caught. Those of symphonia are caught and become an error, since
/// it indexes out of range on hostile bytes; all others are faults.
fn panics_of_symphonia_go_on() {
    let end = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        if !file.contains("/symphonia-") {
            end(panic);
        }
    }));
}
