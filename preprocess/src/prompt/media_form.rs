//! How media stand in a prompt: their marks, their soft tokens, and the form of a video.

use serde::{Deserialize, Serialize};

use crate::PromptError;

/// Soft tokens that a picture may have at most, as the preprocessor of Gemma 4 knows them.
const PICTURE_BUDGETS: [usize; 5] = [70, 140, 280, 560, 1120];

/// Which media a form can show, and how. In JSON each kind is optional; a kind that is missing is refused in requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaForm {
    /// Pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageForm>,
    /// Sounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioForm>,
    /// Videos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoForm>,
}

/// A picture: `open`, then `token` once per soft token, then `close`. All three are special tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageForm {
    /// The special token before the soft tokens.
    pub open: String,
    /// The special token whose place a soft token takes.
    pub token: String,
    /// The special token behind the soft tokens.
    pub close: String,
    /// Most soft tokens of one picture: 70, 140, 280, 560 or 1120.
    pub soft_tokens: usize,
}

/// A sound: as a picture, 25 soft tokens a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudioForm {
    /// The special token before the soft tokens.
    pub open: String,
    /// The special token whose place a soft token takes.
    pub token: String,
    /// The special token behind the soft tokens.
    pub close: String,
    /// Seconds that are heard; what follows is cut.
    pub seconds: u32,
}

/// A video: some frames, each as a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoForm {
    /// The special token before the soft tokens of each frame.
    pub open: String,
    /// The special token whose place a soft token takes.
    pub token: String,
    /// The special token behind the soft tokens of each frame.
    pub close: String,
    /// Frames that are seen, evenly spaced; a shorter video shows all it has.
    pub frames: usize,
    /// Most soft tokens of one frame: 70, 140, 280, 560 or 1120.
    pub soft_tokens: usize,
    /// Whether each frame stands behind its time as `MM:SS `, and frames are parted by a space.
    pub times: bool,
    /// How bytes become pixel values.
    pub scale: FrameScale,
}

/// How a frame's bytes become pixel values: the two differ by one unit in the last place for half of all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameScale {
    /// `f32(byte) * f32(1/255)`, as for pictures.
    Image,
    /// `f32(byte) / 255`, as the video processor of Gemma 4 does.
    Video,
}

/// What a medium takes in the prompt, known once it was decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum MediumOutline {
    /// A picture.
    Image {
        /// Its soft tokens.
        soft_tokens: usize,
    },
    /// A sound.
    Audio {
        /// Its soft tokens.
        soft_tokens: usize,
    },
    /// A video.
    Video {
        /// Its frames in order.
        frames: Vec<FrameOutline>,
    },
}

/// One frame of a video.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameOutline {
    /// Its soft tokens.
    pub soft_tokens: usize,
    /// Seconds from the start of the video.
    pub seconds: f64,
}

impl MediumOutline {
    /// `image`, `audio` or `video`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Image { .. } => "image",
            Self::Audio { .. } => "audio",
            Self::Video { .. } => "video",
        }
    }

    /// Frames of a video; 1 for other media.
    pub fn frames(&self) -> usize {
        match self {
            Self::Image { .. } | Self::Audio { .. } => 1,
            Self::Video { frames } => frames.len(),
        }
    }

    /// Soft tokens of the whole medium.
    pub fn soft_tokens(&self) -> usize {
        match self {
            Self::Image { soft_tokens } | Self::Audio { soft_tokens } => *soft_tokens,
            Self::Video { frames } => frames.iter().map(|frame| frame.soft_tokens).sum(),
        }
    }
}

impl MediaForm {
    /// The special tokens of each kind that the form shows: open, token, close.
    pub(super) fn marks(&self) -> impl Iterator<Item = [&str; 3]> {
        let image = self
            .image
            .as_ref()
            .map(|form| (&form.open, &form.token, &form.close));
        let audio = self
            .audio
            .as_ref()
            .map(|form| (&form.open, &form.token, &form.close));
        let video = self
            .video
            .as_ref()
            .map(|form| (&form.open, &form.token, &form.close));
        [image, audio, video]
            .into_iter()
            .flatten()
            .map(|(open, token, close)| [open.as_str(), token.as_str(), close.as_str()])
    }

    /// Checks the numbers and that every mark has a text.
    pub(super) fn check(&self, form: &str) -> Result<(), PromptError> {
        let error = |field: &'static str, reason: String| PromptError::Form {
            form: form.to_owned(),
            field,
            reason,
        };
        let budget = |field, soft_tokens: usize| {
            if PICTURE_BUDGETS.contains(&soft_tokens) {
                return Ok(());
            }
            Err(error(
                field,
                format!("is {soft_tokens}: use 70, 140, 280, 560 or 1120"),
            ))
        };
        if self.marks().flatten().any(str::is_empty) {
            return Err(error("media", "holds an empty mark".into()));
        }
        if let Some(image) = &self.image {
            budget("media.image.soft_tokens", image.soft_tokens)?;
        }
        if let Some(audio) = &self.audio
            && !(1..=3600).contains(&audio.seconds)
        {
            let seconds = audio.seconds;
            return Err(error(
                "media.audio.seconds",
                format!("is {seconds}: use 1 to 3600"),
            ));
        }
        if let Some(video) = &self.video {
            budget("media.video.soft_tokens", video.soft_tokens)?;
            if !(1..=1024).contains(&video.frames) {
                return Err(error(
                    "media.video.frames",
                    format!("is {}: use 1 to 1024", video.frames),
                ));
            }
        }
        Ok(())
    }
}

/// `MM:SS` of a time in seconds, both cut to whole numbers; minutes may exceed 59.
pub(super) fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).floor() as u64;
    format!("{:02}:{:02}", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_and_seconds() {
        for (seconds, text) in [
            (0.0, "00:00"),
            (4.99, "00:04"),
            (61.0, "01:01"),
            (7322.5, "122:02"),
        ] {
            assert_eq!(clock(seconds), text);
        }
        assert_eq!(clock(f64::NAN), "00:00");
    }
}
