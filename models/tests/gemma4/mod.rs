//! The golden folder `gemma4_unified_tiny`: its checkpoint, and its cases as parts of a segment.

// Every test binary uses its own part of this module.
#![allow(dead_code)]

mod pictures;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assize_models::{Checkpoint, MaskStyle, Medium, Part, PixelScale, Sound, TokenId};
use safetensors::{Dtype, SafeTensors};

/// All cases.
pub const CASES: [&str; 9] = [
    "text_short",
    "text_long",
    "image_70",
    "image_280",
    "image_extreme_280",
    "two_images_70",
    "audio",
    "mixed",
    "video",
];

pub const STYLES: [MaskStyle; 2] = [MaskStyle::Direct, MaskStyle::Local];

/// The golden folder.
pub fn folder() -> PathBuf {
    super::golden_values::folder("gemma4_unified_tiny")
}

/// A file of the reference's values.
pub fn golden(file: &str) -> PathBuf {
    folder().join("golden").join(file)
}

/// The tiny checkpoint.
pub fn checkpoint() -> Checkpoint {
    Checkpoint::open(&folder().join("checkpoint")).unwrap_or_else(|error| panic!("{error}"))
}

/// A safetensors file in memory.
pub struct Numbers(Vec<u8>);

impl Numbers {
    pub fn open(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    fn file(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.0).expect("a safetensors file")
    }

    pub fn names(&self) -> Vec<String> {
        self.file().names().into_iter().map(str::to_owned).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.file().tensor(name).is_ok()
    }

    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.file().tensor(name).expect(name).shape().to_vec()
    }

    pub fn floats(&self, name: &str) -> Vec<f32> {
        let file = self.file();
        let tensor = file.tensor(name).expect(name);
        assert_eq!(tensor.dtype(), Dtype::F32, "{name}");
        let (numbers, _) = tensor.data().as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    pub fn integers(&self, name: &str) -> Vec<usize> {
        let file = self.file();
        let tensor = file.tensor(name).expect(name);
        assert_eq!(tensor.dtype(), Dtype::I64, "{name}");
        let (numbers, _) = tensor.data().as_chunks::<8>();
        numbers
            .iter()
            .map(|bytes| i64::from_le_bytes(*bytes) as usize)
            .collect()
    }
}

/// One golden case.
pub struct Case {
    pub name: String,
    ids: Vec<TokenId>,
    types: Vec<usize>,
    /// Positions whose hidden states the reference kept; the last is that of the last token.
    pub kept: Vec<usize>,
    media: Vec<Arc<Medium>>,
    values: Numbers,
}

impl Case {
    pub fn open(name: &str) -> Self {
        let manifest = std::fs::read(golden("manifest.json")).expect("manifest.json");
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("manifest.json is JSON");
        let values = Numbers::open(&golden(&format!("cases/{name}.safetensors")));
        let entry = &manifest["cases"][name];
        let budget = entry["images_kwargs"]["max_soft_tokens"].as_u64().unwrap_or(280) as usize;
        let files: Vec<&str> = entry["media"]
            .as_array()
            .expect("media")
            .iter()
            .map(|file| file.as_str().expect("a file"))
            .collect();
        let media = match name {
            "video" => frames(&manifest),
            _ => files
                .into_iter()
                .map(|file| medium(&manifest, file, budget))
                .collect(),
        };
        Self {
            name: name.to_owned(),
            ids: values
                .integers("input_ids")
                .into_iter()
                .map(|id| id as TokenId)
                .collect(),
            types: values.integers("mm_token_type_ids"),
            kept: values.integers("kept_positions"),
            media: media.into_iter().map(Arc::new).collect(),
            values,
        }
    }

    /// Text and media in the order of the prompt.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut media = self.media.iter();
        let mut parts = Vec::new();
        let mut first = 0;
        for run in self.types.chunk_by(|a, b| a == b) {
            let ids = &self.ids[first..first + run.len()];
            first += run.len();
            if run[0] == 0 {
                parts.push(Part::Tokens(ids));
                continue;
            }
            let medium = media.next().expect("as many media as runs of soft tokens");
            assert_eq!(medium.soft_tokens(), ids.len(), "{}", self.name);
            parts.push(Part::Medium {
                placeholder: ids[0],
                medium: Arc::clone(medium),
            });
        }
        assert!(media.next().is_none(), "{}: a medium without a place", self.name);
        parts
    }

    pub fn has_pictures(&self) -> bool {
        self.media
            .iter()
            .any(|medium| matches!(**medium, Medium::Picture(_)))
    }

    /// `name` under `style`; the reference left out what equals the direct style.
    fn styled(&self, style: MaskStyle, name: &str) -> Vec<f32> {
        let own = format!("{style}.{name}");
        match self.values.has(&own) || self.has_pictures() {
            true => self.values.floats(&own),
            false => self.values.floats(&format!("direct.{name}")),
        }
    }

    /// Hidden states after the final norm at the kept positions.
    pub fn hidden(&self, style: MaskStyle) -> Vec<f32> {
        self.styled(style, "last_hidden_state")
    }

    /// `[layers, kept positions, hidden]`
    pub fn layer_outputs(&self, style: MaskStyle) -> Vec<f32> {
        self.styled(style, "layer_outputs")
    }

    /// A value at the last position.
    pub fn at_last(&self, style: MaskStyle, name: &str) -> Vec<f32> {
        self.styled(style, name)
    }
}

fn medium(manifest: &serde_json::Value, file: &str, budget: usize) -> Medium {
    let stem = Path::new(file)
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    if file.ends_with(".wav") {
        let frames = Numbers::open(&golden("audio.safetensors")).floats(&format!("{stem}.input_features"));
        return Medium::Sound(Sound::new(frames, 640).expect("sound"));
    }
    let sha256 = &manifest["images"][&stem][format!("budget_{budget}")]["sha256_patches_u8"];
    let resized = golden(&format!("resized/{stem}.b{budget}.png"));
    let path = if resized.is_file() {
        resized
    } else {
        folder().join(file)
    };
    pictures::picture(&path, budget, PixelScale::Image, sha256.as_str().expect("a hash"))
}

/// The frames that the reference drew from the golden video.
fn frames(manifest: &serde_json::Value) -> Vec<Medium> {
    let indices = Numbers::open(&golden("video.safetensors")).integers("frame_indices");
    let hashes = manifest["video"]["frames"].as_array().expect("frames");
    assert_eq!(indices.len(), hashes.len());
    indices
        .into_iter()
        .zip(hashes)
        .map(|(index, frame)| {
            let path = folder().join(format!("media/video/frame_{index:03}.png"));
            let sha256 = frame["sha256_patches_u8"].as_str().expect("a hash");
            pictures::picture(&path, 70, PixelScale::Video, sha256)
        })
        .collect()
}
