//! How pictures and sound enter a decoder: embedders of soft tokens, placeholder ids, and who sees whom.

use serde::{Deserialize, Serialize};

use crate::TokenId;

/// Which soft tokens of one picture see each other. A checkpoint answers as trained only under the style it was trained
/// with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskStyle {
    /// In every layer, even past the window: what calling the `gemma4_unified` model of transformers 5.24 directly does.
    #[default]
    Direct,
    /// In layers with a window only, and within it: the masks of that release's `create_masks_for_generate`.
    Local,
}

impl MaskStyle {
    /// What a picture's soft tokens see of each other in a layer with or without a window.
    pub fn sight(self, windowed: bool) -> PictureSight {
        match (self, windowed) {
            (MaskStyle::Direct, _) => PictureSight::Whole,
            (MaskStyle::Local, true) => PictureSight::Windowed,
            (MaskStyle::Local, false) => PictureSight::Causal,
        }
    }
}

impl std::fmt::Display for MaskStyle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MaskStyle::Direct => "direct",
            MaskStyle::Local => "local",
        })
    }
}

impl std::str::FromStr for MaskStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "direct" => Ok(MaskStyle::Direct),
            "local" => Ok(MaskStyle::Local),
            other => Err(format!("unknown mask style {other:?}: use direct or local")),
        }
    }
}

/// What one soft token of a picture sees of the same picture, in one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureSight {
    /// Earlier ones within the window, as text does.
    Causal,
    /// All later ones, and earlier ones within the window.
    Windowed,
    /// All of them, even those past the window.
    Whole,
}

/// Token ids that stand around media and in their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaTokens {
    /// Opens a picture or a video frame.
    pub begin_image: TokenId,
    /// Place of a picture's soft token.
    pub image: TokenId,
    /// Closes a picture or a video frame.
    pub end_image: TokenId,
    /// Opens sound.
    pub begin_audio: TokenId,
    /// Place of a sound's soft token.
    pub audio: TokenId,
    /// Closes sound.
    pub end_audio: TokenId,
    /// Place of a video frame's soft token.
    pub video: TokenId,
}

/// From square patches to soft tokens: norm, projection, norm, position, norm, RMS norm, projection. Patches do not see
/// each other here.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VisionEmbedder {
    /// Edge of a patch in pixels.
    pub patch_edge: usize,
    /// Width between the two projections.
    pub width: usize,
    /// Rows of each of the two position tables (columns, rows).
    pub positions: usize,
    /// Epsilon of the three norms with mean and bias.
    pub norm_epsilon: f32,
    /// Epsilon of the RMS norm before the last projection.
    pub rms_epsilon: f32,
}

impl VisionEmbedder {
    /// Numbers of one patch: red, green and blue of every pixel.
    pub fn patch_width(&self) -> usize {
        3 * self.patch_edge * self.patch_edge
    }
}

/// From frames of samples to soft tokens: RMS norm and projection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AudioEmbedder {
    /// Samples of one frame.
    pub frame: usize,
    /// Epsilon of the RMS norm.
    pub rms_epsilon: f32,
}

/// What a decoder that reads media has beside its layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaDescription {
    /// Embedder of pictures and video frames, where the model has one.
    pub vision: Option<VisionEmbedder>,
    /// Embedder of sound, where the model has one.
    pub audio: Option<AudioEmbedder>,
    /// Ids around media and in their places.
    pub tokens: MediaTokens,
    /// Who sees whom within a picture.
    pub mask_style: MaskStyle,
}

impl MediaDescription {
    /// Parameters of the embedders of a decoder `hidden` wide.
    pub fn parameters(&self, hidden: usize) -> u64 {
        let vision = self.vision.map_or(0, |vision| {
            let (patch, width) = (vision.patch_width(), vision.width);
            2 * patch + width * (patch + 1) + 4 * width + 2 * vision.positions * width + hidden * width
        });
        let audio = self.audio.map_or(0, |audio| audio.frame * hidden);
        (vision + audio) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_written_as_they_are_read() {
        for style in [MaskStyle::Direct, MaskStyle::Local] {
            assert_eq!(style.to_string().parse(), Ok(style));
            let json = serde_json::to_string(&style).unwrap();
            assert_eq!(json, format!("\"{style}\""));
        }
        assert!(
            "Direct"
                .parse::<MaskStyle>()
                .unwrap_err()
                .contains("direct or local")
        );
    }

    #[test]
    fn styles_differ_in_layers_without_a_window_and_past_it() {
        assert_eq!(MaskStyle::Direct.sight(true), PictureSight::Whole);
        assert_eq!(MaskStyle::Direct.sight(false), PictureSight::Whole);
        assert_eq!(MaskStyle::Local.sight(true), PictureSight::Windowed);
        assert_eq!(MaskStyle::Local.sight(false), PictureSight::Causal);
    }
}
