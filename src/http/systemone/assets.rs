//! Picture assets of System One: placeholders in the texts of a request stand for pictures.
//!
//! The model reads pictures before the state, in the order in which their placeholders first occur. A state that is one
//! placeholder and nothing else is a picture without text; elsewhere a placeholder is written as `[image 1]`, by the
//! place of its picture.

use assize_preprocess::decision::Content;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::fields;
use crate::http::media::{Attached, Parts, decode_base64};
use crate::http::multipart::BodyPart;
use crate::http::problem::{Fault, Problem};
use crate::service::MediumKind;
use crate::strict_json::Place;

/// A picture of a request. `part` or `data_base64` holds the file; with `part`, `data_base64` is not read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemOneAsset {
    /// `image`.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// `png`, `jpg` or `jpeg`; the kind is read from the file itself.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted for the protocol; the bytes say what they are")]
    format: Option<String>,
    /// The file in base64.
    #[serde(default)]
    data_base64: Option<String>,
    /// The name of the part that holds the file.
    #[serde(default)]
    part: Option<String>,
}

/// Pictures by placeholder, those that were met first.
#[derive(Debug, Default)]
pub(super) struct Assets {
    assets: Vec<(String, SystemOneAsset)>,
    /// Index into `assets` of each picture, in the order of their first placeholders.
    met: Vec<usize>,
}

impl Assets {
    /// Reads `assets`, which stands at `place`.
    ///
    /// # Errors
    /// It is no object, is empty, or an asset is not a picture with a source.
    pub(super) fn read(assets: Option<Value>, place: &Place) -> Result<Self, Fault> {
        let assets = match assets {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(assets)) => assets,
            Some(_) => {
                return Err(Fault {
                    place: place.clone(),
                    message: "must be an object of pictures by placeholder".into(),
                    code: "dict_type",
                });
            }
        };
        if assets.is_empty() {
            return Err(Fault {
                place: place.clone(),
                message: "is empty: give a picture or leave it out".into(),
                code: "too_short",
            });
        }
        let read = |(placeholder, asset): (String, Value)| {
            let place = place.key(placeholder.clone());
            if placeholder.trim().is_empty() {
                return Err(Fault::value(
                    place,
                    "is blank: a placeholder needs a character to be found by",
                ));
            }
            let asset: SystemOneAsset = fields::read(asset, &place)?;
            if let Some(kind) = asset.kind.as_deref()
                && kind != "image"
            {
                return Err(Fault::value(
                    place.key("type"),
                    format!("is {kind:?}: only image is known"),
                ));
            }
            if asset.part.is_none() && asset.data_base64.is_none() {
                return Err(Fault::missing(
                    place.key("data_base64"),
                    "is required where there is no `part`",
                ));
            }
            Ok((placeholder, asset))
        };
        Ok(Self {
            assets: assets.into_iter().map(read).collect::<Result<_, _>>()?,
            met: Vec::new(),
        })
    }

    /// Whether the request has any.
    pub(super) fn is_empty(&self) -> bool {
        self.assets.is_empty()
    }

    /// Replaces placeholders in a state.
    pub(super) fn replace_in_state(&mut self, state: Content) -> Content {
        if let Content::Text(text) = &state
            && let Some(asset) = self
                .assets
                .iter()
                .position(|(placeholder, _)| placeholder == text)
        {
            self.number(asset);
            return Content::Text(String::new());
        }
        self.replace(state)
    }

    /// Replaces placeholders in a text or JSON; keys of objects are left alone.
    pub(super) fn replace(&mut self, content: Content) -> Content {
        match content {
            Content::Text(text) => Content::Text(self.replace_in_text(&text)),
            Content::Json(value) => Content::Json(self.replace_in_json(value)),
        }
    }

    fn replace_in_json(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace_in_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.replace_in_json(item)).collect(),
            Value::Object(fields) => {
                let replaced = fields
                    .into_iter()
                    .map(|(key, value)| (key, self.replace_in_json(value)));
                Value::Object(replaced.collect::<Map<_, _>>())
            }
            other => other,
        }
    }

    /// The longest placeholder at the earliest place wins, so that `pic` does not break `pic2`.
    fn replace_in_text(&mut self, text: &str) -> String {
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        loop {
            let found = self
                .assets
                .iter()
                .enumerate()
                .filter_map(|(asset, (placeholder, _))| {
                    Some((rest.find(placeholder.as_str())?, placeholder.len(), asset))
                })
                .min_by_key(|(at, length, _)| (*at, usize::MAX - length));
            let Some((at, length, asset)) = found else {
                written.push_str(rest);
                return written;
            };
            let (before, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
            written.push_str(before);
            written.push_str(&format!("[image {}]", self.number(asset)));
            rest = behind.get(length..).unwrap_or_default();
        }
    }

    /// The number of a picture, from 1, in the order of first placeholders.
    fn number(&mut self, asset: usize) -> usize {
        let place = self.met.iter().position(|met| *met == asset).unwrap_or_else(|| {
            self.met.push(asset);
            self.met.len() - 1
        });
        place + 1
    }

    /// How many pictures were met so far.
    pub(super) fn met(&self) -> usize {
        self.met.len()
    }

    /// Placeholders that no text of the request has, in the order given.
    pub(super) fn unused(&self) -> Vec<String> {
        let all = self.assets.iter().enumerate();
        all.filter(|(asset, _)| !self.met.contains(asset))
            .map(|(_, (placeholder, _))| placeholder.clone())
            .collect()
    }

    /// The files of the pictures that were met. Assets without a placeholder in the request may be sent; they are not
    /// read, but their parts count as claimed.
    ///
    /// # Errors
    /// A part is missing, taken twice or claimed by no asset; base64 is not valid.
    pub(super) fn attach(self, parts: Vec<BodyPart>) -> Result<Attached, Problem> {
        let place = Place::body().key("assets");
        let mut parts = Parts::new(parts)?;
        let mut files = Vec::with_capacity(self.assets.len());
        for (placeholder, asset) in &self.assets {
            let place = place.key(placeholder.clone());
            files.push(match (&asset.part, &asset.data_base64) {
                (Some(part), _) => parts.claim(part, &place.key("part"))?,
                (None, data) => {
                    decode_base64(data.as_deref().unwrap_or_default(), &place.key("data_base64"))?
                }
            });
        }
        parts.all_claimed()?;
        let mut attached = Attached::default();
        for asset in &self.met {
            if let (Some(bytes), Some((placeholder, _))) = (files.get(*asset), self.assets.get(*asset)) {
                attached.push(MediumKind::Image, bytes.clone(), place.key(placeholder.clone()));
            }
        }
        Ok(attached)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assets(value: Value) -> Assets {
        Assets::read(Some(value), &Place::body().key("assets")).unwrap()
    }

    fn two() -> Assets {
        assets(
            json!({"pic": {"data_base64": "AQ=="}, "pic2": {"type": "image", "format": "png", "data_base64": "Ag=="}}),
        )
    }

    #[test]
    fn placeholders_are_numbered_as_they_come() {
        let mut found = two();
        let state = Content::Json(json!({"a": "see pic2, pic", "pic": ["pic2"]}));
        let state = found.replace_in_state(state);
        assert_eq!(
            state.to_text(),
            r#"{"a":"see [image 1], [image 2]","pic":["[image 1]"]}"#
        );
        let attached = found.attach(vec![]).unwrap();
        let bytes: Vec<_> = attached.media.iter().map(|medium| medium.bytes[0]).collect();
        assert_eq!(bytes, [2, 1]);
    }

    #[test]
    fn a_state_may_be_a_picture_alone() {
        let mut found = two();
        assert_eq!(found.replace_in_state("pic".into()).to_text(), "");
        assert_eq!(found.replace("pic".into()).to_text(), "[image 1]");
        assert_eq!(found.met(), 1);
        assert_eq!(found.attach(vec![]).unwrap().media.len(), 1);
    }

    #[test]
    fn parts_are_claimed_once() {
        let part = |name: &str| BodyPart {
            name: name.into(),
            bytes: vec![7].into(),
        };
        let one = || assets(json!({"a": {"part": "asset-0", "data_base64": "!"}}));
        assert!(one().attach(vec![part("asset-0")]).is_ok());
        for (assets, parts, says) in [
            (one(), vec![], "does not have"),
            (one(), vec![part("asset-0"), part("asset-1")], "asset-1"),
            (one(), vec![part("asset-0"), part("asset-0")], "two parts"),
            (
                assets(json!({"a": {"part": "x"}, "b": {"part": "x"}})),
                vec![part("x")],
                "another medium",
            ),
            (assets(json!({"a": {"data_base64": "!"}})), vec![], "base64"),
        ] {
            let problem = assets.attach(parts).unwrap_err();
            assert!(problem.message().contains(says), "{}", problem.message());
        }
    }

    #[test]
    fn mistakes_name_the_asset() {
        for (value, place) in [
            (json!([]), "assets"),
            (json!({}), "assets"),
            (json!({" ": {"data_base64": ""}}), "assets. "),
            (json!({"a": {}}), "assets.a.data_base64"),
            (json!({"a": {"type": "audio", "part": "x"}}), "assets.a.type"),
            (json!({"a": {"url": "x"}}), "assets.a.url"),
            (json!({"a": 3}), "assets.a"),
        ] {
            let fault = Assets::read(Some(value), &Place::body().key("assets")).unwrap_err();
            assert_eq!(fault.place.to_string(), place, "{}", fault.message);
        }
        assert!(
            Assets::read(Some(Value::Null), &Place::body())
                .unwrap()
                .is_empty()
        );
    }
}
