//! Pictures, sounds and frames of a fixture folder against their values, bit for bit.

use std::path::Path;

use assize_preprocess::audio::{self, AudioLimits, Waveform};
use assize_preprocess::image::{self, ImageLimits, ImagePatches, PixelScale, SoftTokenBudget};
use sha2::{Digest, Sha256};

use super::fixtures::{FixtureError, Fixtures};
use super::report::{Area, Report};

/// Budgets of the fixtures' pictures.
const BUDGETS: [SoftTokenBudget; 2] = [SoftTokenBudget::Tokens280, SoftTokenBudget::Tokens70];

/// The grid of every listed size.
pub(super) fn grids(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), FixtureError> {
    let sizes = &fixtures.manifest.image_grid_sizes;
    let wrong = sizes.iter().find_map(|[height, width, wanted @ ..]| {
        let [large, small] = BUDGETS.map(|budget| budget.grid(*width, *height));
        let found = [large.rows, large.columns, small.rows, small.columns];
        (found != *wanted).then(|| format!("{width}x{height} gives {found:?} instead of {wanted:?}"))
    });
    report.exact(Area::Grid, format!("{} sizes at 280 and 70", sizes.len()), wrong);
    Ok(())
}

/// Patches and positions of every picture at both budgets.
pub(super) fn images(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), FixtureError> {
    for (name, entry) in &fixtures.manifest.images {
        let bytes = fixtures.bytes(&entry.file)?;
        for (budget, wanted) in BUDGETS.into_iter().zip([&entry.budget_280, &entry.budget_70]) {
            let label = format!("{name} at {}", budget.tokens());
            let patches = match image::patches_from_bytes(&bytes, budget, &ImageLimits::default()) {
                Ok(patches) => patches,
                Err(error) => {
                    report.exact(Area::Image, label, Some(error.to_string()));
                    continue;
                }
            };
            let grid = patches.grid();
            let mut wrong = differing_patches(
                &patches,
                &wanted.sha256_patches_u8,
                &wanted.sha256_pixel_values_f32,
            );
            if sha256(position_bytes(&patches)) != wanted.sha256_position_ids_i64 {
                wrong = Some("positions differ".into());
            }
            if (grid.width(), grid.height(), patches.len())
                != (wanted.resized_width, wanted.resized_height, wanted.soft_tokens)
            {
                wrong = Some(format!(
                    "{}x{} of {} soft tokens instead of {}x{} of {}",
                    grid.width(),
                    grid.height(),
                    patches.len(),
                    wanted.resized_width,
                    wanted.resized_height,
                    wanted.soft_tokens
                ));
            }
            report.exact(Area::Image, label, wrong);
        }
    }
    Ok(())
}

/// Samples and frames of every sound.
pub(super) fn sounds(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), FixtureError> {
    let golden = fixtures.tensors("golden/audio.safetensors")?;
    for (name, entry) in &fixtures.manifest.audio {
        let waveform = match sound(fixtures, &entry.file)? {
            Ok(waveform) => waveform,
            Err(reason) => {
                report.exact(Area::Audio, name, Some(reason));
                continue;
            }
        };
        let samples = golden.floats(&format!("{name}.waveform"))?;
        let mut wrong = (waveform.samples() != samples).then(|| "samples differ".to_owned());
        let frames = waveform.into_frames();
        if frames.samples() != golden.floats(&format!("{name}.input_features"))? {
            wrong = Some("frames differ".into());
        }
        if frames.soft_tokens() != entry.soft_tokens {
            wrong = Some(format!(
                "{} soft tokens instead of {}",
                frames.soft_tokens(),
                entry.soft_tokens
            ));
        }
        report.exact(Area::Audio, name, wrong);
    }
    Ok(())
}

/// Patches of the video's frames, from the pictures of its frames.
pub(super) fn frames(fixtures: &Fixtures, report: &mut Report<'_>) -> Result<(), FixtureError> {
    let video = &fixtures.manifest.video;
    let indices = fixtures
        .tensors("golden/video.safetensors")?
        .integers("frame_indices")?;
    let ours: Vec<i64> = frame_indices(video.total_num_frames, video.num_frames)
        .map(|index| index as i64)
        .collect();
    report.exact(
        Area::Video,
        format!(
            "indices of {} frames of {}",
            video.num_frames, video.total_num_frames
        ),
        (indices != ours).then(|| format!("{ours:?} instead of {indices:?}")),
    );
    for (place, wanted) in video.frames.iter().enumerate() {
        let index = indices.get(place).copied().unwrap_or_default();
        let wrong = match frame(fixtures, index as usize)? {
            Err(reason) => Some(reason),
            Ok(patches) if patches.len() != wanted.soft_tokens => Some(format!(
                "{} soft tokens instead of {}",
                patches.len(),
                wanted.soft_tokens
            )),
            Ok(patches) => differing_patches(
                &patches,
                &wanted.sha256_patches_u8,
                &wanted.sha256_pixel_values_f32,
            ),
        };
        report.exact(Area::Video, format!("frame {index}"), wrong);
    }
    Ok(())
}

/// `floor(i * total / wanted)` for every i: the frames that are seen.
pub(super) fn frame_indices(total: usize, wanted: usize) -> impl Iterator<Item = usize> {
    (0..wanted).map(move |place| place * total / wanted)
}

/// A sound of the folder; the inner error is a failed check.
pub(super) fn sound(fixtures: &Fixtures, file: &str) -> Result<Result<Waveform, String>, FixtureError> {
    let bytes = fixtures.bytes(file)?;
    Ok(audio::decode(&bytes, &AudioLimits::default()).map_err(|error| error.to_string()))
}

/// A picture of the folder.
pub(super) fn picture(
    fixtures: &Fixtures,
    file: &str,
    budget: SoftTokenBudget,
) -> Result<Result<ImagePatches, String>, FixtureError> {
    let bytes = fixtures.bytes(file)?;
    let patches = image::patches_from_bytes(&bytes, budget, &ImageLimits::default());
    Ok(patches.map_err(|error| error.to_string()))
}

/// A frame of the folder's video, as the native form sees it.
pub(super) fn frame(fixtures: &Fixtures, index: usize) -> Result<Result<ImagePatches, String>, FixtureError> {
    let file = Path::new("media/video").join(format!("frame_{index:03}.png"));
    let bytes = fixtures.bytes(&file.to_string_lossy())?;
    let patches = image::decode(&bytes, &ImageLimits::default())
        .and_then(|picture| picture.patches(SoftTokenBudget::Tokens70, PixelScale::Video));
    Ok(patches.map_err(|error| error.to_string()))
}

fn differing_patches(patches: &ImagePatches, bytes: &str, values: &str) -> Option<String> {
    if sha256(patches.bytes()) != bytes {
        return Some("bytes of patches differ".into());
    }
    let floats: Vec<u8> = patches.values().flat_map(f32::to_le_bytes).collect();
    (sha256(floats) != values).then(|| "pixel values differ".into())
}

fn position_bytes(patches: &ImagePatches) -> Vec<u8> {
    patches
        .positions()
        .flat_map(|(x, y)| [i64::from(x), i64::from(y)])
        .flat_map(i64::to_le_bytes)
        .collect()
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}
