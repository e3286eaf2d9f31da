//! What a column means, under which name it stands, and what is given once for all rows.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::service::DecisionSettings;

/// What a column holds; see [`super`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowField {
    /// Names the row.
    Id,
    /// What is judged.
    State,
    /// The question in words.
    Question,
    /// The shape of the question.
    Type,
    /// Options of a choice.
    Options,
    /// Levels of a score.
    Levels,
    /// The gold answer.
    Gold,
    /// Its index.
    GoldIndex,
    /// How people answered.
    Ratings,
    /// What the row belongs to.
    Group,
    /// Pictures.
    Image,
    /// Sounds.
    Audio,
    /// Videos.
    Video,
}

impl RowField {
    /// Every field.
    pub const ALL: [RowField; 13] = [
        RowField::Id,
        RowField::State,
        RowField::Question,
        RowField::Type,
        RowField::Options,
        RowField::Levels,
        RowField::Gold,
        RowField::GoldIndex,
        RowField::Ratings,
        RowField::Group,
        RowField::Image,
        RowField::Audio,
        RowField::Video,
    ];

    /// The field's name, which is its column's where no other is given.
    pub fn name(self) -> &'static str {
        match self {
            RowField::Id => "id",
            RowField::State => "state",
            RowField::Question => "question",
            RowField::Type => "type",
            RowField::Options => "options",
            RowField::Levels => "levels",
            RowField::Gold => "gold",
            RowField::GoldIndex => "gold_index",
            RowField::Ratings => "ratings",
            RowField::Group => "group",
            RowField::Image => "image",
            RowField::Audio => "audio",
            RowField::Video => "video",
        }
    }
}

impl FromStr for RowField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = RowField::ALL.into_iter();
        all.find(|field| field.name() == text).ok_or_else(|| {
            let names: Vec<_> = RowField::ALL.iter().map(|field| field.name()).collect();
            format!("unknown field {text:?}: use one of {}", names.join(", "))
        })
    }
}

/// The shape of a row's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowShape {
    /// One of several options.
    Choice,
    /// True or false.
    Predicate,
    /// Ordered levels.
    Score,
}

impl FromStr for RowShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "choice" => Ok(RowShape::Choice),
            "predicate" => Ok(RowShape::Predicate),
            "score" => Ok(RowShape::Score),
            other => Err(format!("{other:?} is no type: use choice, predicate or score")),
        }
    }
}

/// How rows are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RowOptions {
    /// Columns that have other names than their fields.
    pub columns: BTreeMap<RowField, String>,
    /// The question of all rows; a column of questions is not read then. The same holds for those below.
    pub question: Option<String>,
    /// The type of all rows.
    pub shape: Option<RowShape>,
    /// The options of all rows; none where the rows have their own.
    pub options: Vec<String>,
    /// The levels of all rows; none where the rows have their own.
    pub levels: Vec<String>,
    /// How every decision is made.
    #[serde(skip)]
    pub settings: DecisionSettings,
}

impl RowOptions {
    /// The name of a field's column.
    pub(super) fn column(&self, field: RowField) -> &str {
        self.columns.get(&field).map_or(field.name(), String::as_str)
    }

    /// Whether a field is given for all rows, so that its column is not read.
    pub(super) fn is_constant(&self, field: RowField) -> bool {
        match field {
            RowField::Question => self.question.is_some(),
            RowField::Type => self.shape.is_some(),
            RowField::Options => !self.options.is_empty(),
            RowField::Levels => !self.levels.is_empty(),
            _ => false,
        }
    }

    /// The field that a column holds.
    pub(super) fn field(&self, column: &str) -> Option<RowField> {
        let mut all = RowField::ALL.into_iter();
        all.find(|field| self.column(*field) == column && !self.is_constant(*field))
    }

    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut named: BTreeMap<&str, RowField> = BTreeMap::new();
        for (field, column) in &self.columns {
            if let Some(other) = named.insert(column, *field) {
                return Err(format!(
                    "--column {}={column} and --column {}={column}: a column holds one field only",
                    other.name(),
                    field.name()
                ));
            }
            if self.is_constant(*field) {
                return Err(format!(
                    "--column {}={column}: {} is given for all rows as well; leave one out",
                    field.name(),
                    field.name()
                ));
            }
        }
        Ok(())
    }
}
