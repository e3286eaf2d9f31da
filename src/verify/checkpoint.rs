//! The configuration of a fixture's checkpoint: both spellings, and the rotary frequencies.

use assize_models::Checkpoint;

use super::VerifyError;
use super::fixtures::{FixtureError, Fixtures};
use super::report::{Area, Report};
use crate::service::ServiceError;

/// Largest relative difference of a rotary frequency: one unit in the last place.
const FREQUENCY_BOUND: f64 = 1.2e-7;

/// Opens the checkpoint of the folder.
pub(super) fn open(fixtures: &Fixtures) -> Result<Checkpoint, VerifyError> {
    Ok(Checkpoint::open(&fixtures.path("checkpoint")).map_err(ServiceError::from)?)
}

/// The configuration as the hub spells it describes the same decoder.
pub(super) fn spellings(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), VerifyError> {
    let name = "config_hub_style.json";
    let other = fixtures.path("checkpoint").join(name);
    let scratch = tempfile::tempdir().map_err(|error| FixtureError::new(&other, error))?;
    for (file, copy) in [
        (name, "config.json"),
        ("model.safetensors", "model.safetensors"),
        ("tokenizer.json", "tokenizer.json"),
    ] {
        let from = fixtures.path("checkpoint").join(file);
        std::fs::copy(&from, scratch.path().join(copy)).map_err(|error| FixtureError::new(&from, error))?;
    }
    let wrong = match Checkpoint::open(scratch.path()) {
        Err(error) => Some(error.to_string()),
        Ok(hub) => {
            (hub.description() != open(fixtures)?.description()).then(|| "describes another decoder".into())
        }
    };
    report.exact(Area::Checkpoint, name, wrong);
    Ok(())
}

/// Rotary frequencies of both kinds of layers.
pub(super) fn rotary(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), VerifyError> {
    let golden = fixtures.tensors("golden/rope.safetensors")?;
    let checkpoint = open(fixtures)?;
    for (kind, windowed) in [("sliding_attention", true), ("full_attention", false)] {
        let wanted = golden.floats(&format!("{kind}.inv_freq"))?;
        let layers = &checkpoint.description().layers;
        let layer = layers.iter().find(|layer| layer.window.is_some() == windowed);
        let found = layer.map_or(&[][..], |layer| &layer.rope.inverse_frequencies);
        // Relative, since frequencies span seven orders of magnitude.
        let relative = |(found, wanted): (&f32, &f32)| if found == wanted { 1.0 } else { found / wanted };
        let ratios: Vec<f32> = if found.len() == wanted.len() {
            found.iter().zip(&wanted).map(relative).collect()
        } else {
            Vec::new()
        };
        report.close(
            Area::Checkpoint,
            format!("rotary frequencies, {kind}"),
            &ratios,
            &vec![1.0; wanted.len()],
            FREQUENCY_BOUND,
        );
    }
    Ok(())
}
