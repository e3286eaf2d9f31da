//! Text or JSON in a body.

use std::fmt;

use assize_preprocess::decision::Content;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A string that is shown to the model as it is, or an object or array that is shown as compact JSON in its key order, its
/// decimals as the 64-bit floats that they are read as.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOrJson(pub Content);

impl<'de> Deserialize<'de> for TextOrJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = TextOrJson;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string, an object or an array")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextOrJson, E> {
                Ok(TextOrJson(Content::Text(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<TextOrJson, E> {
                Ok(TextOrJson(Content::Text(text)))
            }

            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<TextOrJson, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(entries))
                    .map(|value| TextOrJson(Content::Json(value)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<TextOrJson, A::Error> {
                Value::deserialize(SeqAccessDeserializer::new(items))
                    .map(|value| TextOrJson(Content::Json(value)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for TextOrJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl PartialSchema for TextOrJson {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .description(Some(
                "A string, shown to the model as it is, or an object or array, shown as compact JSON in its key order. \
                 Numbers with a point or an exponent are read as 64-bit floats and shown in the fewest digits that \
                 give the same float, as 0.5 for 0.50; send what must be shown digit for digit as a string.",
            ))
            .item(ObjectBuilder::new().schema_type(Type::String))
            .item(ObjectBuilder::new().schema_type(Type::Object))
            .item(ArrayBuilder::new())
            .into()
    }
}

impl ToSchema for TextOrJson {}
