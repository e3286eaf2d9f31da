//! Reading a folder of a reference's values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

/// What is wrong with a folder.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct FixtureError {
    /// The file.
    path: PathBuf,
    /// What is wrong.
    reason: String,
}

impl FixtureError {
    pub(super) fn new(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        }
    }
}

/// A folder and its manifest.
pub(super) struct Fixtures {
    folder: PathBuf,
    pub(super) manifest: Manifest,
}

/// `golden/manifest.json`, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) images: BTreeMap<String, ImageEntry>,
    /// Height, width, rows and columns at 280, rows and columns at 70.
    pub(super) image_grid_sizes: Vec<[u32; 6]>,
    pub(super) audio: BTreeMap<String, AudioEntry>,
    pub(super) cases: BTreeMap<String, CaseEntry>,
    pub(super) video: VideoEntry,
}

#[derive(Debug, Deserialize)]
pub(super) struct ImageEntry {
    pub(super) file: String,
    pub(super) budget_280: BudgetEntry,
    pub(super) budget_70: BudgetEntry,
}

#[derive(Debug, Deserialize)]
pub(super) struct BudgetEntry {
    pub(super) soft_tokens: usize,
    pub(super) resized_width: u32,
    pub(super) resized_height: u32,
    pub(super) sha256_patches_u8: String,
    pub(super) sha256_pixel_values_f32: String,
    pub(super) sha256_position_ids_i64: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct AudioEntry {
    pub(super) file: String,
    pub(super) soft_tokens: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct CaseEntry {
    pub(super) prompt: String,
    pub(super) media: Vec<String>,
    #[serde(default)]
    pub(super) images_kwargs: ImageSettings,
    #[serde(default)]
    pub(super) local_equals_direct: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ImageSettings {
    pub(super) max_soft_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VideoEntry {
    pub(super) fps: f64,
    pub(super) total_num_frames: usize,
    pub(super) num_frames: usize,
    pub(super) frames: Vec<FrameEntry>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FrameEntry {
    pub(super) soft_tokens: usize,
    pub(super) sha256_patches_u8: String,
    pub(super) sha256_pixel_values_f32: String,
}

impl Fixtures {
    /// Opens a folder.
    ///
    /// # Errors
    /// It has no `golden/manifest.json` of the shape.
    pub(super) fn open(folder: &Path) -> Result<Self, FixtureError> {
        let path = folder.join("golden/manifest.json");
        let json = std::fs::read(&path).map_err(|error| FixtureError::new(&path, error))?;
        let manifest = serde_json::from_slice(&json).map_err(|error| FixtureError::new(&path, error))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            manifest,
        })
    }

    /// The path of a file.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The bytes of a file.
    pub(super) fn bytes(&self, file: &str) -> Result<Vec<u8>, FixtureError> {
        let path = self.path(file);
        std::fs::read(&path).map_err(|error| FixtureError::new(&path, error))
    }

    /// The tensors of a file.
    pub(super) fn tensors(&self, file: &str) -> Result<Tensors, FixtureError> {
        Ok(Tensors {
            path: self.path(file),
            bytes: self.bytes(file)?,
        })
    }
}

/// A safetensors file in memory.
pub(super) struct Tensors {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Tensors {
    fn read<const N: usize, T>(
        &self,
        name: &str,
        dtype: Dtype,
        from: fn([u8; N]) -> T,
    ) -> Result<Vec<T>, FixtureError> {
        let error = |reason: String| FixtureError::new(&self.path, reason);
        let file = SafeTensors::deserialize(&self.bytes).map_err(|reason| error(reason.to_string()))?;
        let tensor = file
            .tensor(name)
            .map_err(|reason| error(format!("{name}: {reason}")))?;
        if tensor.dtype() != dtype {
            return Err(error(format!(
                "{name} is {:?}: it must be {dtype:?}",
                tensor.dtype()
            )));
        }
        Ok(tensor
            .data()
            .as_chunks::<N>()
            .0
            .iter()
            .map(|bytes| from(*bytes))
            .collect())
    }

    /// A float32 tensor.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>, FixtureError> {
        self.read(name, Dtype::F32, f32::from_le_bytes)
    }

    /// An int64 tensor.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<i64>, FixtureError> {
        self.read(name, Dtype::I64, i64::from_le_bytes)
    }
}
