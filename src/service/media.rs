//! Media of a decision: from the bytes of files to soft tokens.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assize_models::{Medium, PatchPosition, PatchValues, Picture, PixelScale, Sound};
use assize_preprocess::audio::{self, AudioError, AudioLimits, SAMPLES_PER_FRAME};
use assize_preprocess::image::{self, ImageError, ImageLimits, ImagePatches, SoftTokenBudget};
use assize_preprocess::prompt::{FrameOutline, FrameScale, MediaForm, MediumOutline};
use assize_preprocess::video::{self, RgbFrame, VideoError, VideoLimits};
use assize_preprocess::{Excess, PromptError, Until};
use bytes::Bytes;

use super::{Service, ServiceError};

/// What a medium is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediumKind {
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// A video.
    Video,
}

impl MediumKind {
    /// `image`, `audio` or `video`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}

/// A file as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMedium {
    /// What its sender says it is.
    pub kind: MediumKind,
    /// The file.
    pub bytes: Bytes,
}

/// Why a medium cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediumError {
    /// A picture.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A sound.
    #[error(transparent)]
    Audio(#[from] AudioError),
    /// A video.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// A preprocessor gave something that the engine does not take.
    #[error("the medium gives no usable numbers: {0}")]
    Internal(String),
    /// Nobody waits for it any more.
    #[error("the deadline passed before the medium was read")]
    OutOfTime,
    /// A kind that the model does not take.
    #[error("this model takes no {kind}: {takes}")]
    NotTaken {
        /// The kind.
        kind: &'static str,
        /// What the model takes.
        takes: String,
    },
}

/// What is wrong with a medium, as far as a caller must tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumFault {
    /// Of a kind that is not read.
    Unsupported,
    /// Over a limit.
    TooLarge,
    /// Broken, empty, or of no use otherwise.
    Damaged,
}

impl MediumError {
    /// What is wrong, in short.
    pub fn fault(&self) -> MediumFault {
        match self {
            Self::NotTaken { .. }
            | Self::Image(ImageError::UnsupportedKind { .. } | ImageError::UnsupportedFeature { .. })
            | Self::Audio(AudioError::UnsupportedKind(_))
            | Self::Video(VideoError::UnsupportedKind(_)) => MediumFault::Unsupported,
            Self::OutOfTime
            | Self::Image(ImageError::TooLarge { .. })
            | Self::Audio(AudioError::TooLarge { .. } | AudioError::OutOfTime { .. })
            | Self::Video(VideoError::TooLarge { .. } | VideoError::OutOfTime { .. }) => {
                MediumFault::TooLarge
            }
            _ => MediumFault::Damaged,
        }
    }
}

/// What became of one medium.
#[derive(Debug, Clone, PartialEq)]
pub struct MediumReport {
    /// What it is.
    pub kind: MediumKind,
    /// Its soft tokens.
    pub soft_tokens: usize,
    /// Frames that are seen, of a video.
    pub frames: Option<usize>,
    /// How long it is, of a sound or a video, where that is known.
    pub length: Option<Duration>,
    /// How much of it is heard, of a sound that was cut.
    pub cut_to: Option<Duration>,
    /// Whether a sound track was not heard, of a video.
    pub sound_ignored: bool,
    /// Whether the file holds more of its kind, which is not read: other frames of an animation, pages, or sound tracks.
    pub others_ignored: bool,
}

/// Media ready for a forward pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreparedMedia {
    /// What each takes in the prompt.
    pub(super) outlines: Vec<MediumOutline>,
    /// Every picture, frame and sound, in the order of the prompt.
    pub(super) media: Vec<Arc<Medium>>,
    /// What became of each.
    pub reports: Vec<MediumReport>,
    /// Time of decoding.
    pub decode: Duration,
    /// Time from pixels and samples to patches and frames.
    pub preprocess: Duration,
}

impl PreparedMedia {
    /// Soft tokens of one kind.
    pub fn soft_tokens(&self, kind: MediumKind) -> usize {
        let of_kind = self.reports.iter().filter(|report| report.kind == kind);
        of_kind.map(|report| report.soft_tokens).sum()
    }

    /// Every picture, frame and sound, in the order of the prompt.
    pub fn media(&self) -> &[Arc<Medium>] {
        &self.media
    }

    /// Decodes one medium and cuts it into the patches or frames of `form`, as [`Service::read_media`] does.
    ///
    /// # Errors
    /// The form takes none of that kind, or the file is of an unknown kind, too large, broken or empty.
    pub fn of(form: &MediaForm, raw: &RawMedium) -> Result<Self, MediumError> {
        let mut prepared = Self::default();
        Service::read_medium(Some(form), raw, &Until::default(), &mut prepared)?;
        Ok(prepared)
    }
}

impl Service {
    /// Whether the model takes any medium.
    pub fn takes_media(&self) -> bool {
        self.form.media().is_some() && self.backbone.description().media.is_some()
    }

    /// The kinds of media that the model takes.
    pub fn media_kinds(&self) -> Vec<MediumKind> {
        let Some(form) = self.form.media().filter(|_| self.takes_media()) else {
            return Vec::new();
        };
        let kinds = [
            (form.image.is_some(), MediumKind::Image),
            (form.audio.is_some(), MediumKind::Audio),
            (form.video.is_some(), MediumKind::Video),
        ];
        kinds
            .into_iter()
            .filter_map(|(taken, kind)| taken.then_some(kind))
            .collect()
    }

    /// Decodes media and cuts them into patches and frames. Pure computation on the calling thread, which goes on `until`
    /// nobody waits any more.
    ///
    /// # Errors
    /// The model takes none of that kind, or a file is of an unknown kind, too large, broken or empty.
    pub fn read_media(&self, media: &[RawMedium], until: &Until) -> Result<PreparedMedia, ServiceError> {
        let form = self.form.media().filter(|_| self.takes_media());
        let mut prepared = PreparedMedia::default();
        for (index, medium) in media.iter().enumerate() {
            Self::read_medium(form, medium, until, &mut prepared)
                .map_err(|error| ServiceError::Medium { index, error })?;
            // Seen before time is spent on the next one.
            let soft_tokens: usize = prepared.reports.iter().map(|report| report.soft_tokens).sum();
            if soft_tokens > self.context() {
                return Err(ServiceError::Prompt(PromptError::TooLong {
                    needed: soft_tokens,
                    at_least: true,
                    allowed: self.context(),
                    excess: Excess::Media(soft_tokens),
                }));
            }
        }
        Ok(prepared)
    }

    fn read_medium(
        form: Option<&MediaForm>,
        raw: &RawMedium,
        until: &Until,
        prepared: &mut PreparedMedia,
    ) -> Result<(), MediumError> {
        if until.is_over() {
            return Err(MediumError::OutOfTime);
        }
        let not_taken = || MediumError::NotTaken {
            kind: raw.kind.name(),
            takes: takes(form),
        };
        let started = Instant::now();
        let (outline, report) = match raw.kind {
            MediumKind::Image => {
                let form = form.and_then(|form| form.image.as_ref()).ok_or_else(not_taken)?;
                let decoded = image::decode(&raw.bytes, &ImageLimits::default())?;
                prepared.decode += started.elapsed();
                let started = Instant::now();
                let patches = decoded.patches(budget(form.soft_tokens), image::PixelScale::Image)?;
                let soft_tokens = patches.len();
                prepared.media.push(picture(patches)?);
                prepared.preprocess += started.elapsed();
                let report = MediumReport {
                    others_ignored: decoded.has_others(),
                    ..MediumReport::of(raw.kind, soft_tokens)
                };
                (MediumOutline::Image { soft_tokens }, report)
            }
            MediumKind::Audio => {
                let form = form.and_then(|form| form.audio.as_ref()).ok_or_else(not_taken)?;
                let limits = AudioLimits {
                    length: Duration::from_secs(form.seconds.into()),
                    until: until.clone(),
                    ..AudioLimits::default()
                };
                let waveform = audio::decode(&raw.bytes, &limits)?;
                prepared.decode += started.elapsed();
                let started = Instant::now();
                let frames = waveform.into_frames();
                let soft_tokens = frames.soft_tokens();
                let cut = frames.cut();
                let others_ignored = frames.source().others;
                let report = MediumReport {
                    others_ignored,
                    length: cut.map_or(Some(frames.duration()), |cut| cut.full_length),
                    cut_to: cut.map(|_| frames.duration()),
                    ..MediumReport::of(raw.kind, soft_tokens)
                };
                let sound = Sound::new(frames.into_samples(), SAMPLES_PER_FRAME)
                    .map_err(|error| MediumError::Internal(error.to_string()))?;
                prepared.media.push(Arc::new(Medium::Sound(sound)));
                prepared.preprocess += started.elapsed();
                (MediumOutline::Audio { soft_tokens }, report)
            }
            MediumKind::Video => {
                let form = form.and_then(|form| form.video.as_ref()).ok_or_else(not_taken)?;
                let scale = match form.scale {
                    FrameScale::Image => image::PixelScale::Image,
                    FrameScale::Video => image::PixelScale::Video,
                };
                let count = NonZeroUsize::new(form.frames).unwrap_or(NonZeroUsize::MIN);
                let mut cutting = Duration::ZERO;
                let limits = VideoLimits {
                    until: until.clone(),
                    ..VideoLimits::default()
                };
                // Each frame is cut as it comes, so that two at most are held at their full size.
                let video = video::sample_with(&raw.bytes, count, &limits, |frame| {
                    let started = Instant::now();
                    let patches = patches_of(&frame, budget(form.soft_tokens), scale);
                    cutting += started.elapsed();
                    patches
                })?;
                prepared.decode += started.elapsed().saturating_sub(cutting);
                prepared.preprocess += cutting;
                let rate = video.frame_rate.per_second();
                let mut frames = Vec::with_capacity(video.frames.len());
                for frame in video.frames {
                    let patches = frame.picture?;
                    frames.push(FrameOutline {
                        soft_tokens: patches.len(),
                        seconds: frame.index as f64 / rate,
                    });
                    prepared.media.push(picture(patches)?);
                }
                let outline = MediumOutline::Video { frames };
                let report = MediumReport {
                    frames: Some(outline.frames()),
                    length: Duration::try_from_secs_f64(video.total_frames as f64 / rate).ok(),
                    sound_ignored: video.ignored_sound,
                    others_ignored: video.others,
                    ..MediumReport::of(raw.kind, outline.soft_tokens())
                };
                (outline, report)
            }
        };
        prepared.outlines.push(outline);
        prepared.reports.push(report);
        Ok(())
    }
}

/// What a model takes, for messages.
fn takes(form: Option<&MediaForm>) -> String {
    let Some(form) = form else {
        return "it reads text only".into();
    };
    let kinds = [
        (form.image.is_some(), "pictures"),
        (form.audio.is_some(), "sounds"),
        (form.video.is_some(), "videos"),
    ];
    let kinds: Vec<_> = kinds
        .iter()
        .filter(|(taken, _)| *taken)
        .map(|(_, name)| *name)
        .collect();
    format!("it takes text, {}", kinds.join(", "))
}

/// The budget that a form names; forms are checked to name one of the five.
fn budget(soft_tokens: usize) -> SoftTokenBudget {
    u32::try_from(soft_tokens)
        .ok()
        .and_then(SoftTokenBudget::from_tokens)
        .unwrap_or_default()
}

/// The patches of one frame.
fn patches_of(
    frame: &RgbFrame,
    budget: SoftTokenBudget,
    scale: image::PixelScale,
) -> Result<ImagePatches, ImageError> {
    // A side beyond 32 bits has no pixels that fit, which is said.
    let [width, height] = [frame.width, frame.height].map(|side| u32::try_from(side).unwrap_or(0));
    image::patches_from_rgb(&frame.rgb, width, height, budget, scale)
}

/// Patches as the engine takes them.
pub(crate) fn picture(patches: ImagePatches) -> Result<Arc<Medium>, MediumError> {
    let scale = match patches.scale() {
        image::PixelScale::Image => PixelScale::Image,
        image::PixelScale::Video => PixelScale::Video,
    };
    let positions = patches.positions().map(|(x, y)| PatchPosition { x, y }).collect();
    let values = PatchValues::Bytes {
        values: patches.into_bytes(),
        scale,
    };
    let picture =
        Picture::new(values, positions).map_err(|error| MediumError::Internal(error.to_string()))?;
    Ok(Arc::new(Medium::Picture(picture)))
}

impl MediumReport {
    fn of(kind: MediumKind, soft_tokens: usize) -> Self {
        Self {
            kind,
            soft_tokens,
            frames: None,
            length: None,
            cut_to: None,
            sound_ignored: false,
            others_ignored: false,
        }
    }
}
