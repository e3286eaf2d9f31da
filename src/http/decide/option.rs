//! An option of a choice, in its short and its long form.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Ref, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::http::content::TextOrJson;

/// An option: its name, or an object with `name` and `description`.
#[derive(Debug, Clone, PartialEq)]
pub struct DecideOption {
    pub(super) name: String,
    pub(super) description: Option<TextOrJson>,
}

/// An option with what it means.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DescribedOption {
    /// The option's own text, returned unchanged.
    name: String,
    /// What the option means.
    #[serde(default)]
    description: Option<TextOrJson>,
}

impl<'de> Deserialize<'de> for DecideOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = DecideOption;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string, or an object with `name` and `description`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<DecideOption, E> {
                Ok(DecideOption {
                    name: name.to_owned(),
                    description: None,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<DecideOption, A::Error> {
                let DescribedOption { name, description } =
                    DescribedOption::deserialize(MapAccessDeserializer::new(entries))?;
                Ok(DecideOption { name, description })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl PartialSchema for DecideOption {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .description(Some(
                "An option: its name, or its name with a description, which is shown to the model.",
            ))
            .item(ObjectBuilder::new().schema_type(Type::String))
            .item(Ref::from_schema_name(DescribedOption::name()))
            .into()
    }
}

impl ToSchema for DecideOption {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((DescribedOption::name().into_owned(), DescribedOption::schema()));
        DescribedOption::schemas(schemas);
    }
}
