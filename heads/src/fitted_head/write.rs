//! Writing a fitted head.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sha2::{Digest, Sha256};

use super::{CARD_FILE, FittedHead, HeadCard, WEIGHTS_FILE, fingerprint};
use crate::HeadError;
use crate::fit::{LinearWeights, Normaliser};

/// Writes a head's two files into `folder`, which is created where it is missing, and reads them back. Each file appears
/// whole or not at all, the card last; until then the folder holds the head that it held before or one that is refused.
/// The card's `weights_sha256`, `fingerprint` and `width` are filled in.
///
/// # Errors
/// A file cannot be written, or the numbers make no head.
pub fn write(
    folder: &Path,
    mut card: HeadCard,
    normaliser: &Normaliser,
    weights: &LinearWeights,
) -> Result<FittedHead, HeadError> {
    let width = normaliser.mean.len();
    let bytes = safetensors_of(folder, width, normaliser, weights)?;
    card.weights_sha256 = hex::encode(Sha256::digest(&bytes));
    card.width = width;
    card.fingerprint = fingerprint(&card).map_err(|error| HeadError::HeadCard {
        path: folder.join(CARD_FILE),
        reason: error.to_string(),
    })?;
    let failed = |reason: String| HeadError::HeadCard {
        path: folder.join(CARD_FILE),
        reason,
    };
    card.check().map_err(failed)?;
    let mut json = serde_json::to_vec_pretty(&card).map_err(|error| failed(error.to_string()))?;
    json.push(b'\n');
    std::fs::create_dir_all(folder).map_err(|source| HeadError::Io {
        path: folder.to_path_buf(),
        source,
    })?;
    replace(folder, WEIGHTS_FILE, &bytes)?;
    replace(folder, CARD_FILE, &json)?;
    FittedHead::open(folder)
}

fn safetensors_of(
    folder: &Path,
    width: usize,
    normaliser: &Normaliser,
    weights: &LinearWeights,
) -> Result<Vec<u8>, HeadError> {
    let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let options = weights.bias.len();
    let tensors = [
        ("mu", vec![width], normaliser.mean.clone()),
        ("sd", vec![width], normaliser.deviation.clone()),
        ("linear.weight", vec![options, width], narrow(&weights.weight)),
        ("linear.bias", vec![options], narrow(&weights.bias)),
    ];
    let bytes = tensors.map(|(name, shape, values)| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (name, shape, bytes)
    });
    let failed = |error: safetensors::SafeTensorError| HeadError::HeadFile {
        path: folder.join(WEIGHTS_FILE),
        reason: error.to_string(),
    };
    let mut views = HashMap::new();
    for (name, shape, bytes) in &bytes {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(failed)?;
        views.insert(*name, view);
    }
    safetensors::serialize(&views, None).map_err(failed)
}

/// Puts a file in place of whatever has its name.
fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), HeadError> {
    let path = folder.join(name);
    let io = |source| HeadError::Io {
        path: path.clone(),
        source,
    };
    let mut scratch = tempfile::Builder::new();
    scratch.prefix(".head-");
    // As other files: a scratch file alone would be its owner's only.
    #[cfg(unix)]
    scratch.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = scratch.tempfile_in(folder).map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    file.persist(&path).map_err(|error| io(error.error))?;
    Ok(())
}
