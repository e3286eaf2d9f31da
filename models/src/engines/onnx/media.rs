//! Pictures and sound as rows of a batch: their soft tokens are computed first, each from its patch or frame alone, and
//! handed to the decoder with the rows that they take.

use std::ops::Range;
use std::sync::Mutex;

use ort::operator::OperatorDomain;
use ort::session::{RunOptions, Session};
use ort::value::Tensor;

use super::graph::{node, session};
use super::library::Runtime;
use super::operators::{
    DOMAIN, Epilogue, INDEX, LinearNode, LinearOperator, PatchConstants, PatchNormOperator,
    PatchPlaceOperator, Shared,
};
use super::protobuf::{AttributeProto, Element, GraphProto, ValueInfo};
use super::{engine_error, locked};
use crate::{
    AudioEmbedder, DecoderDescription, MediaDescription, Medium, ModelError, PackedBatch, VisionEmbedder,
};

/// Patches or frames of one run: bounds the memory of a long batch, and lets its end be asked for in between.
pub(super) const CHUNK: usize = 1024;

/// The embedders of a model that reads media.
pub(super) struct MediaSessions {
    description: MediaDescription,
    hidden: usize,
    pictures: Option<Mutex<Session>>,
    sounds: Option<Mutex<Session>>,
}

/// Soft tokens and where they go.
#[derive(Default)]
pub(super) struct SoftRows {
    /// `[rows, hidden]`
    pub(super) values: Vec<f32>,
    /// The batch row of each.
    pub(super) rows: Vec<i32>,
    /// First row and number of rows of every picture.
    pub(super) pictures: Vec<i32>,
}

impl MediaSessions {
    /// Builds the sessions of `description`'s embedders; `None` for a model that reads text only.
    ///
    /// # Errors
    /// A tensor is missing in the prepared model, or a session cannot be built.
    pub(super) fn new(
        runtime: &Runtime,
        shared: &Shared,
        description: &DecoderDescription,
    ) -> Result<Option<Self>, ModelError> {
        let Some(media) = &description.media else {
            return Ok(None);
        };
        let hidden = description.hidden;
        let pictures = media
            .vision
            .map(|vision| picture_session(runtime, shared, vision, hidden).map(Mutex::new))
            .transpose()?;
        let sounds = media
            .audio
            .map(|audio| sound_session(runtime, shared, audio, hidden).map(Mutex::new))
            .transpose()?;
        Ok(Some(Self {
            description: media.clone(),
            hidden,
            pictures,
            sounds,
        }))
    }

    /// Computes the soft tokens of every medium of `batch`, which [`check`] has seen.
    ///
    /// # Errors
    /// The engine failed or was told to end.
    pub(super) fn soft_rows(
        &self,
        batch: &PackedBatch,
        options: &RunOptions,
    ) -> Result<SoftRows, ModelError> {
        let mut soft = SoftRows::default();
        let mut patches: Vec<(&crate::Picture, Range<usize>)> = Vec::new();
        let mut frames: Vec<f32> = Vec::new();
        for placed in batch.media() {
            if let Medium::Picture(picture) = placed.medium.as_ref() {
                let rows = placed.rows();
                soft.pictures
                    .extend([rows.start as i32, (rows.end - rows.start) as i32]);
                soft.rows.extend(rows.map(|row| row as i32));
                patches.extend(
                    (0..picture.patches())
                        .step_by(CHUNK)
                        .map(|first| (picture, first..(first + CHUNK).min(picture.patches()))),
                );
            }
        }
        for placed in batch.media() {
            if let Medium::Sound(sound) = placed.medium.as_ref() {
                soft.rows.extend(placed.rows().map(|row| row as i32));
                frames.extend_from_slice(sound.samples());
            }
        }
        if let (Some(session), Some(vision)) = (&self.pictures, &self.description.vision) {
            self.embed_pictures(session, vision, &patches, options, &mut soft.values)?;
        }
        if let (Some(session), Some(audio)) = (&self.sounds, &self.description.audio) {
            for chunk in frames.chunks(CHUNK * audio.frame) {
                let rows = chunk.len() / audio.frame;
                let input =
                    Tensor::from_array(([rows, audio.frame], chunk.to_vec())).map_err(engine_error)?;
                run(
                    session,
                    ort::inputs!["frames" => input],
                    options,
                    &mut soft.values,
                )?;
            }
        }
        if soft.values.len() != soft.rows.len() * self.hidden {
            return Err(engine_error(format!(
                "{} numbers for {} soft tokens",
                soft.values.len(),
                soft.rows.len()
            )));
        }
        Ok(soft)
    }

    /// Runs of at most [`CHUNK`] patches, of several pictures where they are small.
    fn embed_pictures(
        &self,
        session: &Mutex<Session>,
        vision: &VisionEmbedder,
        parts: &[(&crate::Picture, Range<usize>)],
        options: &RunOptions,
        out: &mut Vec<f32>,
    ) -> Result<(), ModelError> {
        let mut parts = parts.iter().peekable();
        while parts.peek().is_some() {
            let (mut values, mut positions) = (Vec::new(), Vec::new());
            let mut count = 0;
            while let Some((picture, range)) =
                parts.next_if(|(_, range)| count == 0 || count + range.len() <= CHUNK)
            {
                count += range.len();
                picture.append_patches(range.start, range.len(), &mut values);
                let places = &picture.positions()[range.clone()];
                positions.extend(places.iter().flat_map(|place| [place.x as i32, place.y as i32]));
            }
            let patches =
                Tensor::from_array(([count, vision.patch_width()], values)).map_err(engine_error)?;
            let positions = Tensor::from_array(([count, 2], positions)).map_err(engine_error)?;
            let inputs = ort::inputs!["patches" => patches, "positions" => positions];
            run(session, inputs, options, out)?;
        }
        Ok(())
    }
}

fn run(
    session: &Mutex<Session>,
    inputs: Vec<(std::borrow::Cow<'_, str>, ort::session::SessionInputValue<'_>)>,
    options: &RunOptions,
    out: &mut Vec<f32>,
) -> Result<(), ModelError> {
    let mut session = locked(session);
    let outputs = session.run_with_options(inputs, options).map_err(engine_error)?;
    let (_, values) = outputs["soft"]
        .try_extract_tensor::<f32>()
        .map_err(engine_error)?;
    out.extend_from_slice(values);
    Ok(())
}

/// An RMS norm without a weight, in front of a projection.
fn projection(matrix: &str, width: usize, epsilon: f32, columns: usize) -> LinearNode {
    LinearNode {
        norm: Some((vec![1.0; width], epsilon)),
        matrices: vec![matrix.to_owned()],
        epilogue: Epilogue::Store,
        columns,
    }
}

fn picture_session(
    runtime: &Runtime,
    shared: &Shared,
    vision: VisionEmbedder,
    hidden: usize,
) -> Result<Session, ModelError> {
    let constants = PatchConstants::of(shared, vision)?;
    let linears = vec![
        LinearNode {
            norm: None,
            matrices: vec!["media.patch".to_owned()],
            epilogue: Epilogue::Store,
            columns: vision.width,
        },
        projection("media.picture", vision.width, vision.rms_epsilon, hidden),
    ];
    let index = |index| vec![AttributeProto::int(INDEX, index)];
    let patch_width = vision.patch_width() as i64;
    let graph = GraphProto {
        name: "pictures".to_owned(),
        node: vec![
            node(
                "PatchNorm",
                DOMAIN,
                "normed",
                &["patches"],
                &["normed"],
                Vec::new(),
            ),
            node(
                "Linear",
                DOMAIN,
                "projected",
                &["normed"],
                &["projected"],
                index(0),
            ),
            node(
                "PatchPlace",
                DOMAIN,
                "placed",
                &["projected", "positions"],
                &["placed"],
                Vec::new(),
            ),
            node("Linear", DOMAIN, "soft", &["placed"], &["soft"], index(1)),
        ],
        input: vec![
            ValueInfo::tensor("patches", Element::Float32, &[Err("rows"), Ok(patch_width)]),
            ValueInfo::tensor("positions", Element::Int32, &[Err("rows"), Ok(2)]),
        ],
        output: vec![soft_output(hidden)],
    };
    let domain = OperatorDomain::new(DOMAIN)
        .and_then(|domain| domain.add(PatchNormOperator(constants.clone())))
        .and_then(|domain| domain.add(PatchPlaceOperator(constants)))
        .and_then(|domain| domain.add(linear_operator(shared, linears)))
        .map_err(engine_error)?;
    session(runtime, graph, domain)
}

fn sound_session(
    runtime: &Runtime,
    shared: &Shared,
    audio: AudioEmbedder,
    hidden: usize,
) -> Result<Session, ModelError> {
    let linears = vec![projection("media.sound", audio.frame, audio.rms_epsilon, hidden)];
    let index = vec![AttributeProto::int(INDEX, 0)];
    let frame = audio.frame as i64;
    let graph = GraphProto {
        name: "sounds".to_owned(),
        node: vec![node("Linear", DOMAIN, "soft", &["frames"], &["soft"], index)],
        input: vec![ValueInfo::tensor(
            "frames",
            Element::Float32,
            &[Err("rows"), Ok(frame)],
        )],
        output: vec![soft_output(hidden)],
    };
    let domain = OperatorDomain::new(DOMAIN)
        .and_then(|domain| domain.add(linear_operator(shared, linears)))
        .map_err(engine_error)?;
    session(runtime, graph, domain)
}

fn soft_output(hidden: usize) -> ValueInfo {
    ValueInfo::tensor("soft", Element::Float32, &[Err("rows"), Ok(hidden as i64)])
}

fn linear_operator(shared: &Shared, nodes: Vec<LinearNode>) -> LinearOperator {
    LinearOperator {
        shared: shared.clone(),
        nodes,
    }
}
