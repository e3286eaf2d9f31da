//! The CPU engine: an ONNX Runtime graph whose heavy nodes are custom operators over mapped, packed weights.
//!
//! ONNX Runtime plans memory, orders nodes and lends its thread pool; the operators are this crate's own kernels,
//! because the standard ones quantise activations per tensor (which loses the answers), pad packed batches, and hold
//! weights twice.

mod graph;
mod library;
mod lowered;
mod media;
mod operators;
mod protobuf;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ort::session::{RunOptions, Session};
use ort::value::Tensor;

pub(crate) use self::library::{is_library, library_in};
use self::lowered::Lowered;
use self::media::MediaSessions;
use self::operators::{OutputConstants, Shared};
use super::{Device, EngineOptions, Host, Source, checks, default_precision};
use crate::kernels::Isa;
use crate::{
    Backbone, DecoderDescription, EngineInfo, HiddenStates, Interrupt, ModelError, PackedBatch, Precision,
    TokenId, check_fit,
};

/// The engine's name.
pub(crate) const ENGINE: &str = "onnx";

fn engine_error<E: std::fmt::Display>(error: E) -> ModelError {
    ModelError::Engine {
        engine: ENGINE,
        reason: error.to_string(),
    }
}

/// Rows up to which the buffers of a pass are kept for the next one; those of longer ones are given back, so that one long
/// text does not leave a server large for good.
const KEPT_ROWS: usize = 4096;

/// A model loaded on ONNX Runtime.
pub struct OnnxBackbone {
    description: DecoderDescription,
    info: EngineInfo,
    output: OutputConstants,
    decoder: Mutex<Session>,
    media: Option<MediaSessions>,
    normalizers: Mutex<Session>,
    logits: Mutex<Session>,
}

impl OnnxBackbone {
    /// Prepares the weights where that was not done before, maps them and builds the graphs.
    ///
    /// # Errors
    /// The library is missing, a tensor is missing or of another shape than the configuration says, or the engine's
    /// folder cannot be written.
    pub fn load(source: Source<'_>, options: &EngineOptions) -> Result<Self, ModelError> {
        checks::description(source)?;
        let run = checks::depth(source, options.layers)?;
        let description = run.as_ref();
        let precision = options.precision.unwrap_or_else(default_precision);
        if precision == Precision::Bfloat16 {
            return Err(ModelError::Unsupported(
                "precision bf16 on the engine onnx: use float32 or int8, or the engine torch".into(),
            ));
        }
        if let Device::Cuda(_) = options.device {
            return Err(ModelError::Unsupported(format!(
                "device {} on the engine onnx, which runs on the processor: use the engine torch",
                options.device
            )));
        }
        // The prepared weights are those of all layers, whatever is run of them.
        check_fit(source.name, needed_bytes(source.description, precision))?;
        let runtime = library::runtime(options.library_dir.as_deref(), options.threads)?;
        let weights = Arc::new(Lowered::open_or_make(&options.lowered_dir, source, precision)?);
        let isa = Isa::detect();
        let shared = Shared {
            weights,
            isa,
            threads: runtime.threads,
            scratch: Arc::new(Mutex::new(Default::default())),
        };
        let decoder = graph::decoder(runtime, &shared, description)?;
        let media = MediaSessions::new(runtime, &shared, description)?;
        let output = OutputConstants {
            shared,
            vocabulary: description.vocabulary,
            width: description.hidden,
            softcap: description.logit_softcap,
            matrix: if description.tied_output {
                "embedding"
            } else {
                "output"
            },
        };
        let (normalizers, logits) = graph::outputs(runtime, &output)?;
        let info = EngineInfo {
            name: ENGINE,
            version: runtime.version.clone(),
            precision,
            kernels: isa.name().to_owned(),
            threads: runtime.threads,
        };
        Ok(Self {
            description: run.into_owned(),
            info,
            output,
            decoder: Mutex::new(decoder),
            media,
            normalizers: Mutex::new(normalizers),
            logits: Mutex::new(logits),
        })
    }

    fn run(session: &Mutex<Session>, hidden: &HiddenStates, width: usize) -> Result<Vec<f32>, ModelError> {
        if hidden.width() != width {
            return Err(ModelError::InvalidBatch(format!(
                "hidden states are {} wide instead of {width}",
                hidden.width()
            )));
        }
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let input =
            Tensor::from_array(([hidden.len(), width], hidden.values().to_vec())).map_err(engine_error)?;
        let mut session = locked(session);
        let outputs = session
            .run(ort::inputs!["hidden" => input])
            .map_err(engine_error)?;
        let (_, values) = outputs["out"].try_extract_tensor::<f32>().map_err(engine_error)?;
        Ok(values.to_vec())
    }

    /// One pass over a batch that was checked.
    fn pass(&self, batch: &PackedBatch, rows: i32, options: &RunOptions) -> Result<HiddenStates, ModelError> {
        let segments: Vec<i32> = batch
            .segments()
            .iter()
            .flat_map(|segment| {
                let parent = segment.parent.map_or(-1, |parent| parent.0 as i32);
                [
                    segment.start as i32,
                    segment.len as i32,
                    parent,
                    segment.first_position as i32,
                ]
            })
            .collect();
        let ints = |values: Vec<i32>| Tensor::from_array(([values.len()], values)).map_err(engine_error);
        let tokens = ints(batch.tokens().iter().map(|token| *token as i32).collect())?;
        let reads = ints(batch.reads().iter().map(|row| *row as i32).collect())?;
        let table = Tensor::from_array(([batch.segments().len(), 4], segments)).map_err(engine_error)?;
        let mut inputs = ort::inputs![
            "tokens" => tokens, "rows" => ints((0..rows).collect())?, "segments" => table, "reads" => reads
        ];
        if let Some(media) = &self.media {
            let soft = media.soft_rows(batch, options)?;
            let values = Tensor::from_array(([soft.rows.len(), self.description.hidden], soft.values))
                .map_err(engine_error)?;
            let pictures =
                Tensor::from_array(([soft.pictures.len() / 2, 2], soft.pictures)).map_err(engine_error)?;
            inputs.extend(ort::inputs![
                "soft" => values, "soft_rows" => ints(soft.rows)?, "pictures" => pictures
            ]);
        }
        let mut session = locked(&self.decoder);
        let outputs = session.run_with_options(inputs, options).map_err(engine_error)?;
        let (_, values) = outputs["hidden"]
            .try_extract_tensor::<f32>()
            .map_err(engine_error)?;
        HiddenStates::new(self.description.hidden, values.to_vec())
    }
}

/// See [`super::host`].
pub(super) fn host(library_dir: Option<&Path>) -> Result<Host, ModelError> {
    let runtime = library::runtime(library_dir, None)?;
    Ok(Host {
        name: ENGINE,
        version: runtime.version.clone(),
        library: runtime.library.clone(),
        kernels: Isa::detect().name(),
        threads: runtime.threads,
        precision: default_precision(),
    })
}

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    // A session holds no state between runs, so one that was abandoned by a panic is still good.
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Weights in the engine's own form, and the activations of a long batch.
fn needed_bytes(description: &DecoderDescription, precision: Precision) -> u64 {
    let per_parameter = match precision {
        Precision::Float32 | Precision::Bfloat16 => 4.0,
        // A scale, an offset and a start sum of 4 bytes each for every 32 weights.
        Precision::Int8 => 1.375,
    };
    let widest = description
        .layers
        .iter()
        .map(|layer| layer.intermediate)
        .max()
        .unwrap_or(0)
        + 8 * description.hidden;
    // The embedders of media stay float32.
    let embedders = description
        .media
        .as_ref()
        .map_or(0, |media| media.parameters(description.hidden));
    let text = description.parameters() - embedders;
    let patches = description
        .media
        .as_ref()
        .and_then(|media| media.vision)
        .map_or(0, |vision| vision.patch_width());
    // A run of patches as it comes, as a tensor and normalised.
    let run = 4 * 3 * (media::CHUNK * patches) as u64;
    (text as f64 * per_parameter) as u64 + 4 * embedders + run + 4 * 4096 * widest as u64
}

impl Backbone for OnnxBackbone {
    fn description(&self) -> &DecoderDescription {
        &self.description
    }

    fn engine(&self) -> &EngineInfo {
        &self.info
    }

    fn weight_bytes(&self) -> u64 {
        self.output.shared.weights.bytes()
    }

    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError> {
        self.forward_unless(batch, &Interrupt::default())
    }

    fn forward_unless(&self, batch: &PackedBatch, interrupt: &Interrupt) -> Result<HiddenStates, ModelError> {
        let rows = checks::batch(&self.description, batch)?;
        // ONNX Runtime looks between nodes whether it is to end.
        let mut options = RunOptions::new().map_err(engine_error)?;
        let long = batch.tokens().len() > KEPT_ROWS;
        if long {
            options
                .set("memory.enable_memory_arena_shrinkage", "cpu:0")
                .map_err(engine_error)?;
        }
        let options = Arc::new(options);
        let end = {
            let options = Arc::clone(&options);
            // It only sets a flag; were that to fail, the pass would run to its end.
            move || _ = options.terminate()
        };
        let passed = interrupt.during(end, || self.pass(batch, rows, &options));
        if long {
            self.output.shared.release_scratch();
        }
        passed
            .ok_or(ModelError::Interrupted)?
            .map_err(|error| match interrupt.is_asked() {
                true => ModelError::Interrupted,
                false => error,
            })
    }

    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        if hidden.len() != self.description.hidden {
            return Err(ModelError::InvalidBatch(format!(
                "a hidden state {} wide",
                hidden.len()
            )));
        }
        let head = self.output.head()?;
        let mut buffer = vec![0f32; hidden.len()];
        tokens
            .iter()
            .map(|token| {
                if *token as usize >= self.description.vocabulary {
                    return Err(ModelError::InvalidBatch(format!(
                        "token {token} is outside the vocabulary"
                    )));
                }
                Ok(head.logit(hidden, *token as usize, &mut buffer))
            })
            .collect()
    }

    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        Self::run(&self.logits, hidden, self.description.hidden)
    }

    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        Self::run(&self.normalizers, hidden, self.description.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AudioEmbedder, Checkpoint, MaskStyle, MediaDescription, MediaTokens, VisionEmbedder};

    #[test]
    fn the_memory_that_is_asked_for_counts_the_embedders_of_media_in_float32() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/tiny_llama");
        let text = Checkpoint::open(&folder).unwrap().description().clone();
        let mut both = text.clone();
        both.media = Some(MediaDescription {
            vision: Some(VisionEmbedder {
                patch_edge: 48,
                width: 3840,
                positions: 1120,
                norm_epsilon: 1e-5,
                rms_epsilon: 1e-6,
            }),
            audio: Some(AudioEmbedder {
                frame: 640,
                rms_epsilon: 1e-6,
            }),
            tokens: MediaTokens {
                begin_image: 1,
                image: 2,
                end_image: 3,
                begin_audio: 4,
                audio: 5,
                end_audio: 6,
                video: 7,
            },
            mask_style: MaskStyle::Direct,
        });
        // Patch norm, patch projection with bias, two norms, positions, both projections.
        let numbers = 2 * 6912 + 3840 * 6913 + 4 * 3840 + 2 * 1120 * 3840 + text.hidden * (3840 + 640);
        let run = 3 * 1024 * 6912;
        for precision in [Precision::Float32, Precision::Int8] {
            assert_eq!(
                needed_bytes(&both, precision) - needed_bytes(&text, precision),
                4 * (numbers + run) as u64
            );
        }
    }
}
