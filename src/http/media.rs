//! Media of a request: where their bytes come from, and whose field is at fault.

use std::collections::HashMap;

use assize_preprocess::Until;
use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fetch::Fetcher;
use super::fields::{Name, Object};
use super::multipart::BodyPart;
use super::problem::{Fault, Problem, ProblemKind};
use crate::service::{MediumKind, RawMedium, ServiceError};
use crate::strict_json::Place;

/// Most media of one request.
pub(super) const MAX_MEDIA: usize = 32;

/// A picture, a sound or a video that belongs to the state. Exactly one of `data_base64`, `part` and `url` says where it
/// is.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideMedium {
    /// What it is.
    #[serde(rename = "type")]
    #[schema(value_type = MediumType)]
    kind: Name<MediumType>,
    /// The file in base64 (RFC 4648, with padding).
    #[serde(default)]
    data_base64: Option<String>,
    /// The name of the part of a `multipart/form-data` body that holds the file.
    #[serde(default)]
    part: Option<String>,
    /// Where the server gets the file; only if the server was started with `--allow-media-urls`.
    #[serde(default)]
    url: Option<String>,
}

/// What a medium is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MediumType {
    /// JPEG, PNG, WebP, GIF (the first frame), BMP or TIFF.
    Image,
    /// WAV, MP3, FLAC, Ogg, AAC, M4A, Opus, WebM or AMR.
    Audio,
    /// MP4, MOV, WebM, MKV or AVI; its sound track is not heard.
    Video,
}

impl From<MediumType> for MediumKind {
    fn from(kind: MediumType) -> Self {
        match kind {
            MediumType::Image => Self::Image,
            MediumType::Audio => Self::Audio,
            MediumType::Video => Self::Video,
        }
    }
}

/// The media of a request and the field of each.
#[derive(Debug, Default)]
pub(super) struct Attached {
    pub(super) media: Vec<RawMedium>,
    places: Vec<Place>,
}

impl Attached {
    /// The media that `media` names, or, where it is left out, the parts named `image`, `audio` and `video`, in order.
    ///
    /// # Errors
    /// A medium has no source or several, its base64 is not valid, a part is missing, or named twice or by nobody.
    pub(super) fn gather(
        media: Option<Vec<Object<DecideMedium>>>,
        parts: Vec<BodyPart>,
        fetcher: Option<&Fetcher>,
        until: &Until,
    ) -> Result<Self, Problem> {
        let Some(media) = media else {
            return Self::of_named_parts(parts);
        };
        let place = Place::body().key("media");
        check_count(media.len(), &place)?;
        let mut parts = Parts::new(parts)?;
        let mut gathered = Self::default();
        for (index, Object(medium)) in media.into_iter().enumerate() {
            let place = place.index(index);
            if until.is_over() {
                // Nobody hears this any more.
                return Err(Problem::new(ProblemKind::DeadlineExceeded, "the deadline passed"));
            }
            let Name(kind) = medium.kind;
            let bytes = match (medium.data_base64, medium.part, medium.url) {
                (Some(data), None, None) => decode_base64(&data, &place.key("data_base64"))?,
                (None, Some(part), None) => parts.claim(&part, &place.key("part"))?,
                (None, None, Some(url)) => fetch(fetcher, &url, &place.key("url"))?,
                _ => {
                    let message = "give exactly one of `data_base64`, `part` and `url`";
                    return Err(Fault::value(place, message).into());
                }
            };
            gathered.push(kind.into(), bytes, place);
        }
        parts.all_claimed()?;
        Ok(gathered)
    }

    fn of_named_parts(parts: Vec<BodyPart>) -> Result<Self, Problem> {
        check_count(parts.len(), &Place::body().key("media"))?;
        let mut gathered = Self::default();
        for part in parts {
            let kind = match part.name.as_str() {
                "image" => MediumKind::Image,
                "audio" => MediumKind::Audio,
                "video" => MediumKind::Video,
                other => {
                    let message = format!(
                        "part {other:?} is used by nothing: name parts image, audio or video, or say in `media` what it is"
                    );
                    return Err(Fault::value(Place::body().key("media"), message).into());
                }
            };
            gathered.push(kind, part.bytes, Place::body().key(part.name));
        }
        Ok(gathered)
    }

    /// Appends a medium that stands at `place`.
    pub(super) fn push(&mut self, kind: MediumKind, bytes: Bytes, place: Place) {
        self.media.push(RawMedium { kind, bytes });
        self.places.push(place);
    }

    /// The problem behind an error about a medium; `None` for other errors.
    pub(super) fn blame(&self, error: &ServiceError) -> Option<Problem> {
        let index = error.medium()?;
        let place = self.places.get(index).cloned().unwrap_or_default();
        let kind = match error.medium_fault() {
            MediumFault::Unsupported => ProblemKind::UnsupportedMedium,
            MediumFault::TooLarge => ProblemKind::MediumTooLarge,
            MediumFault::Damaged => ProblemKind::InvalidMedium,
        };
        Some(Problem::of_fault(kind, Fault::value(place, error.to_string())))
    }
}

/// What is wrong with a medium, as far as a status tells it.
pub(super) use crate::service::MediumFault;

/// Refuses more media than a request may have.
pub(super) fn check_count(count: usize, place: &Place) -> Result<(), Problem> {
    if count <= MAX_MEDIA {
        return Ok(());
    }
    let message = format!("has {count} media: give at most {MAX_MEDIA}");
    Err(Problem::of_fault(
        ProblemKind::MediumTooLarge,
        Fault::value(place.clone(), message),
    ))
}

/// Bytes of a base64 text.
pub(super) fn decode_base64(text: &str, place: &Place) -> Result<Bytes, Problem> {
    STANDARD.decode(text).map(Bytes::from).map_err(|error| {
        let hint = if text.starts_with("data:") {
            "; leave out what stands before the comma of a data URL"
        } else {
            ""
        };
        Fault::value(place.clone(), format!("is not valid base64: {error}{hint}")).into()
    })
}

/// Bytes of a `data:` URL in base64, or of an http(s) URL where the server fetches media.
///
/// # Errors
/// The URL is not valid, or cannot be fetched.
pub(super) fn read_url(url: &str, fetcher: Option<&Fetcher>, place: &Place) -> Result<Bytes, Problem> {
    // The scheme's case is free (RFC 3986, 3.1).
    if !url
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
    {
        return fetch(fetcher, url, place);
    }
    let Some((head, data)) = url.split_once(',') else {
        let message = "is a data URL without a comma: write data:image/png;base64,...";
        return Err(Fault::value(place.clone(), message).into());
    };
    if !head.to_ascii_lowercase().ends_with(";base64") {
        let message = "is a data URL that is not in base64: write data:image/png;base64,...";
        return Err(Fault::value(place.clone(), message).into());
    }
    decode_base64(data, place)
}

fn fetch(fetcher: Option<&Fetcher>, url: &str, place: &Place) -> Result<Bytes, Problem> {
    let Some(fetcher) = fetcher else {
        let message = "this server fetches no media (it was started without --allow-media-urls): send the file itself, in base64";
        return Err(Fault::value(place.clone(), message).into());
    };
    fetcher
        .get(url)
        .map_err(|error| Fault::value(place.clone(), error.to_string()).into())
}

/// The parts of a body, each of which must be claimed once.
pub(super) struct Parts {
    by_name: HashMap<String, Option<Bytes>>,
}

impl Parts {
    /// Refuses two parts of one name.
    pub(super) fn new(parts: Vec<BodyPart>) -> Result<Self, Problem> {
        let mut by_name = HashMap::with_capacity(parts.len());
        for part in parts {
            if by_name.insert(part.name.clone(), Some(part.bytes)).is_some() {
                let message = format!("two parts are named {:?}: names must differ", part.name);
                return Err(Problem::new(ProblemKind::BadRequest, message));
            }
        }
        Ok(Self { by_name })
    }

    /// Takes the part `name`, which the field at `place` asks for.
    pub(super) fn claim(&mut self, name: &str, place: &Place) -> Result<Bytes, Problem> {
        match self.by_name.get_mut(name) {
            None => Err(Fault::value(
                place.clone(),
                format!("names the part {name:?}, which the body does not have"),
            )
            .into()),
            Some(bytes) => bytes.take().ok_or_else(|| {
                Fault::value(
                    place.clone(),
                    format!("names the part {name:?}, which another medium takes: send it twice"),
                )
                .into()
            }),
        }
    }

    /// Refuses parts that nothing claimed: a file that nobody looks at must not be taken for one that was judged.
    pub(super) fn all_claimed(&self) -> Result<(), Problem> {
        match self.by_name.iter().find(|(_, bytes)| bytes.is_some()) {
            None => Ok(()),
            Some((name, _)) => Err(Problem::new(
                ProblemKind::InvalidRequest,
                format!("part {name:?} is named by no medium: name it in the request or leave it out"),
            )),
        }
    }
}
