//! Whole cases: from a prompt and media files to hidden states and head probabilities.

use std::sync::Arc;

use assize_calibration::softmax;
use assize_heads::SlotHead;
use assize_models::engines::{self, EngineOptions};
use assize_models::{Backbone, MaskStyle, Medium, PackedBatch, Part, Sound};
use assize_preprocess::PromptTokenizer;
use assize_preprocess::audio::SAMPLES_PER_FRAME;
use assize_preprocess::image::SoftTokenBudget;
use assize_preprocess::prompt::{FrameOutline, MarkedPrompt, MediumOutline, PromptForm};

use super::fixtures::{CaseEntry, FixtureError, Fixtures, Tensors};
use super::report::{Area, Report};
use super::{HIDDEN_BOUND, PROBABILITY_BOUND, VerifyError, checkpoint, media};
use crate::service::{ServiceError, picture};

/// The form whose marks the fixtures' prompts use.
const FORM: &str = "jev-omni-native";
/// Options of the golden probabilities.
const OPTION_COUNTS: [usize; 2] = [4, 256];

/// A case ready for the engine.
struct Case<'f> {
    name: &'f str,
    entry: &'f CaseEntry,
    prompt: MarkedPrompt,
    /// One per soft run.
    media: Vec<Arc<Medium>>,
    golden: Tensors,
}

/// Every case under both mask styles.
pub(super) fn all(
    fixtures: &Fixtures,
    options: &EngineOptions,
    report: &mut Report<'_>,
) -> Result<(), VerifyError> {
    let opened = checkpoint::open(fixtures)?;
    let tokenizer = PromptTokenizer::from_json(opened.tokenizer_json()).map_err(ServiceError::from)?;
    let head_file = fixtures.path("golden/head.safetensors");
    let head = SlotHead::open(&head_file).map_err(ServiceError::from)?;
    let mut cases = Vec::new();
    for (name, entry) in &fixtures.manifest.cases {
        cases.extend(Case::prepare(fixtures, name, entry, &tokenizer, report)?);
    }
    for style in [MaskStyle::Direct, MaskStyle::Local] {
        let checkpoint = checkpoint::open(fixtures)?.with_mask_style(style);
        let backbone = engines::load(&checkpoint, options).map_err(ServiceError::from)?;
        for case in &cases {
            case.run(style, backbone.as_ref(), &head, report)?;
        }
    }
    Ok(())
}

impl<'f> Case<'f> {
    /// Reads the media and writes the prompt; `None` where that failed, which is a failed check.
    fn prepare(
        fixtures: &Fixtures,
        name: &'f str,
        entry: &'f CaseEntry,
        tokenizer: &PromptTokenizer,
        report: &mut Report<'_>,
    ) -> Result<Option<Self>, VerifyError> {
        let golden = fixtures.tensors(&format!("golden/cases/{name}.safetensors"))?;
        let read = match read_media(fixtures, entry)? {
            Ok(read) => read,
            Err(reason) => {
                report.exact(Area::Prompt, name, Some(reason));
                return Ok(None);
            }
        };
        let outlines: Vec<MediumOutline> = read.iter().map(|(outline, _)| outline.clone()).collect();
        let form = PromptForm::built_in(FORM).map_err(ServiceError::from)?;
        let prompt = match form.encode_marked(tokenizer, &entry.prompt, &outlines) {
            Ok(prompt) => prompt,
            Err(error) => {
                report.exact(Area::Prompt, name, Some(error.to_string()));
                return Ok(None);
            }
        };
        let wanted = golden.integers("input_ids")?;
        let found: Vec<i64> = prompt.ids.iter().map(|id| i64::from(*id)).collect();
        let types = golden.integers("mm_token_type_ids")?;
        let mut wrong = (found != wanted).then(|| "token ids differ".to_owned());
        if wrong.is_none() && soft_places(&prompt) != types.iter().map(|kind| *kind != 0).collect::<Vec<_>>()
        {
            wrong = Some("places of soft tokens differ".into());
        }
        let passed = wrong.is_none();
        report.exact(Area::Prompt, name, wrong);
        // A medium's parts stand in its runs, in order.
        let mut parts: Vec<_> = read.into_iter().map(|(_, parts)| parts.into_iter()).collect();
        let media = prompt
            .media
            .iter()
            .filter_map(|medium| parts.get_mut(*medium)?.next())
            .collect();
        Ok(passed.then_some(Self {
            name,
            entry,
            prompt,
            media,
            golden,
        }))
    }

    fn run(
        &self,
        style: MaskStyle,
        backbone: &dyn Backbone,
        head: &SlotHead,
        report: &mut Report<'_>,
    ) -> Result<(), VerifyError> {
        let label = format!("{}, {style}", self.name);
        let golden_style = if self.entry.local_equals_direct {
            MaskStyle::Direct
        } else {
            style
        };
        let kept = self.golden.integers("kept_positions")?;
        let hidden = match self.forward(&kept, backbone) {
            Ok(hidden) => hidden,
            Err(error) => {
                report.exact(Area::Hidden, label, Some(error.to_string()));
                return Ok(());
            }
        };
        let wanted = self.golden.floats(&format!("{golden_style}.last_hidden_state"))?;
        report.close(Area::Hidden, &label, hidden.values(), &wanted, HIDDEN_BOUND);
        let last = hidden.values().len().saturating_sub(hidden.width());
        let last = hidden.values().get(last..).unwrap_or_default();
        for count in OPTION_COUNTS {
            let wanted = self
                .golden
                .floats(&format!("{golden_style}.head_probs_{count}.post_norm"))?;
            let probabilities = head
                .scores(last, count)
                .map_err(ServiceError::from)
                .and_then(|scores| Ok(softmax(&scores)?));
            let label = format!("{label}, {count} options");
            match probabilities {
                Err(error) => report.exact(Area::Head, label, Some(error.to_string())),
                Ok(found) => {
                    let found: Vec<f32> = found.iter().map(|probability| probability.get() as f32).collect();
                    report.close(Area::Head, label, &found, &wanted, PROBABILITY_BOUND);
                }
            }
        }
        Ok(())
    }

    fn forward(
        &self,
        kept: &[i64],
        backbone: &dyn Backbone,
    ) -> Result<assize_models::HiddenStates, assize_models::ModelError> {
        let mut parts = Vec::new();
        let mut behind = 0;
        for (run, medium) in self.prompt.soft_runs.iter().zip(&self.media) {
            parts.push(Part::Tokens(
                self.prompt.ids.get(behind..run.start).unwrap_or_default(),
            ));
            parts.push(Part::Medium {
                placeholder: self.prompt.ids.get(run.start).copied().unwrap_or_default(),
                medium: Arc::clone(medium),
            });
            behind = run.start + run.len;
        }
        parts.push(Part::Tokens(self.prompt.ids.get(behind..).unwrap_or_default()));
        let mut batch = PackedBatch::new();
        let segment = batch.push_parts(None, &parts)?;
        for position in kept {
            batch.read(segment, usize::try_from(*position).unwrap_or(usize::MAX))?;
        }
        backbone.forward(&batch)
    }
}

/// Whether each token is a soft one.
fn soft_places(prompt: &MarkedPrompt) -> Vec<bool> {
    let mut places = vec![false; prompt.ids.len()];
    for run in &prompt.soft_runs {
        if let Some(places) = places.get_mut(run.start..run.start + run.len) {
            places.fill(true);
        }
    }
    places
}

/// What a medium takes in the prompt, and its pictures, frames or sound.
type ReadMedium = (MediumOutline, Vec<Arc<Medium>>);

/// The media of a case from their files; the inner error is a failed check.
fn read_media(
    fixtures: &Fixtures,
    entry: &CaseEntry,
) -> Result<Result<Vec<ReadMedium>, String>, FixtureError> {
    let mut read = Vec::new();
    for file in &entry.media {
        let medium = if file.ends_with('/') {
            read_video(fixtures)?
        } else if file.ends_with(".wav") {
            read_sound(fixtures, file)?
        } else {
            let tokens = entry.images_kwargs.max_soft_tokens.unwrap_or(280);
            match SoftTokenBudget::from_tokens(tokens) {
                None => Err(format!("max_soft_tokens is {tokens}, which is no budget")),
                Some(budget) => media::picture(fixtures, file, budget)?.and_then(|patches| {
                    let soft_tokens = patches.len();
                    let picture = picture(patches).map_err(|error| error.to_string())?;
                    Ok((MediumOutline::Image { soft_tokens }, vec![picture]))
                }),
            }
        };
        match medium {
            Ok(medium) => read.push(medium),
            Err(reason) => return Ok(Err(format!("{file}: {reason}"))),
        }
    }
    Ok(Ok(read))
}

fn read_sound(fixtures: &Fixtures, file: &str) -> Result<Result<ReadMedium, String>, FixtureError> {
    Ok(media::sound(fixtures, file)?.and_then(|waveform| {
        let frames = waveform.into_frames();
        let soft_tokens = frames.soft_tokens();
        let sound =
            Sound::new(frames.into_samples(), SAMPLES_PER_FRAME).map_err(|error| error.to_string())?;
        Ok((
            MediumOutline::Audio { soft_tokens },
            vec![Arc::new(Medium::Sound(sound))],
        ))
    }))
}

fn read_video(fixtures: &Fixtures) -> Result<Result<ReadMedium, String>, FixtureError> {
    let video = &fixtures.manifest.video;
    let (mut frames, mut pictures) = (Vec::new(), Vec::new());
    for index in media::frame_indices(video.total_num_frames, video.num_frames) {
        let patches = match media::frame(fixtures, index)? {
            Ok(patches) => patches,
            Err(reason) => return Ok(Err(reason)),
        };
        frames.push(FrameOutline {
            soft_tokens: patches.len(),
            seconds: index as f64 / video.fps,
        });
        match picture(patches) {
            Ok(picture) => pictures.push(picture),
            Err(error) => return Ok(Err(error.to_string())),
        }
    }
    Ok(Ok((MediumOutline::Video { frames }, pictures)))
}
