//! From the columns of a row to a decision and its gold answer.

use std::path::{Path, PathBuf};

use assize_preprocess::decision::{Content, Decision, Question};

use super::cell::{Cell, Record};
use super::error::WHOLE_ROW;
use super::options::{shape, texts};
use super::{Gold, RowFault, RowField, RowOptions, RowShape};
use crate::service::{DecisionSettings, MediumKind};

/// A medium of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMedium {
    /// What it is.
    pub kind: MediumKind,
    /// The file, found from the folder of the rows.
    pub path: PathBuf,
}

/// One question with its gold answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledRow {
    /// Names the row; the row's number where the file names none.
    pub id: String,
    /// The row: its line in a text file, its number from 1 in a Parquet file or a data set.
    pub row: usize,
    /// What it belongs to: rows of one group are judged and divided together.
    pub group: Option<String>,
    /// Its media, in the order of the columns.
    pub media: Vec<RowMedium>,
    /// The state and exactly one question.
    pub decision: Decision,
    /// How the decision is made.
    pub settings: DecisionSettings,
    /// What is right.
    pub gold: Gold,
}

impl LabelledRow {
    /// The question; rows that this module reads have exactly one.
    pub fn question(&self) -> Option<&Question> {
        self.decision.questions.first()
    }

    /// The options' texts, in the caller's order; of a predicate false, then true.
    pub fn options(&self) -> Vec<String> {
        self.question().map_or_else(Vec::new, |question| {
            super::options::names(&question.shape)
                .into_iter()
                .map(std::borrow::Cow::into_owned)
                .collect()
        })
    }
}

/// The cells of one row by field.
#[derive(Default)]
struct Cells {
    by_field: Vec<(RowField, Cell)>,
}

impl Cells {
    fn take(&mut self, field: RowField) -> Cell {
        let found = self.by_field.iter().position(|(found, _)| *found == field);
        found.map_or(Cell::Missing, |place| self.by_field.swap_remove(place).1)
    }
}

/// Understands one row. `ignored` hears of every column that holds no field.
pub(super) fn read(
    record: Record,
    options: &RowOptions,
    folder: &Path,
    mut ignored: impl FnMut(&str),
) -> Result<LabelledRow, RowFault> {
    let row = record.row;
    let empty_may_be_missing = record.empty_may_be_missing;
    let mut cells = Cells::default();
    let mut media_cells = Vec::new();
    for (column, cell) in record.cells {
        let Some(field) = options.field(&column) else {
            ignored(&column);
            continue;
        };
        let means_nothing = empty_may_be_missing
            && !matches!(field, RowField::State | RowField::Gold)
            && cell == Cell::Text(String::new());
        let cell = if means_nothing { Cell::Missing } else { cell };
        match field {
            RowField::Image => media_cells.push((field, MediumKind::Image, cell)),
            RowField::Audio => media_cells.push((field, MediumKind::Audio, cell)),
            RowField::Video => media_cells.push((field, MediumKind::Video, cell)),
            _ => cells.by_field.push((field, cell)),
        }
    }
    let fault = |id: Option<&str>, field: RowField, message: String| RowFault {
        row,
        id: id.map(str::to_owned),
        field: options.column(field).to_owned(),
        message,
    };
    let id =
        match short_text(cells.take(RowField::Id)).map_err(|message| fault(None, RowField::Id, message))? {
            Some(id) if id.is_empty() => {
                return Err(fault(
                    None,
                    RowField::Id,
                    "is empty: name the row, or leave the id out".into(),
                ));
            }
            Some(id) => id,
            None => row.to_string(),
        };
    let fault = |field: RowField, message: String| fault(Some(&id), field, message);
    let mut media = Vec::new();
    for (field, kind, cell) in media_cells {
        let paths = paths(cell).map_err(|message| fault(field, message))?;
        media.extend(paths.into_iter().map(|path| RowMedium {
            kind,
            path: folder.join(path),
        }));
    }
    let state = state(cells.take(RowField::State), !media.is_empty())
        .map_err(|message| fault(RowField::State, message))?;
    let instructions = match &options.question {
        Some(question) => Some(Content::Text(question.clone())),
        None => {
            question(cells.take(RowField::Question)).map_err(|message| fault(RowField::Question, message))?
        }
    };
    let kind = match options.shape {
        Some(kind) => Some(kind),
        None => kind(cells.take(RowField::Type)).map_err(|message| fault(RowField::Type, message))?,
    };
    let mut list = |field: RowField, constant: &[String]| -> Result<Option<Vec<String>>, RowFault> {
        if !constant.is_empty() {
            return Ok(Some(constant.to_vec()));
        }
        match cells.take(field) {
            Cell::Missing => Ok(None),
            cell => texts(cell).map(Some).map_err(|message| fault(field, message)),
        }
    };
    let choices = list(RowField::Options, &options.options)?;
    let levels = list(RowField::Levels, &options.levels)?;
    let shape = shape(kind, choices, levels).map_err(|(field, message)| fault(field, message))?;
    if matches!(shape, assize_preprocess::decision::Shape::Predicate { .. })
        && instructions
            .as_ref()
            .is_none_or(|text| text.to_text().trim().is_empty())
    {
        return Err(fault(
            RowField::Question,
            "is missing or empty: say what is true or false, in the row or with --question".into(),
        ));
    }
    let gold = Gold::read(
        &shape,
        cells.take(RowField::Gold),
        cells.take(RowField::GoldIndex),
        cells.take(RowField::Ratings),
    )
    .map_err(|(field, message)| fault(field, message))?;
    let group = short_text(cells.take(RowField::Group)).map_err(|message| fault(RowField::Group, message))?;
    Ok(LabelledRow {
        row,
        group,
        media,
        decision: Decision {
            state,
            questions: vec![Question { instructions, shape }],
        },
        settings: options.settings,
        gold,
        id,
    })
}

/// A fault of a row as a whole.
pub(super) fn whole_row(row: usize, message: String) -> RowFault {
    RowFault {
        row,
        id: None,
        field: WHOLE_ROW.to_owned(),
        message,
    }
}

/// A text that names something; a number is taken as it is written.
fn short_text(cell: Cell) -> Result<Option<String>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Text(text) => Ok(Some(text)),
        Cell::Number(number) => Ok(Some(number.to_string())),
        other => Err(format!("is {}: use a text", other.shown())),
    }
}

fn state(cell: Cell, has_media: bool) -> Result<Content, String> {
    match cell {
        Cell::Text(text) => Ok(Content::Text(text)),
        Cell::Json(value) => Ok(Content::Json(value)),
        Cell::Missing if has_media => Ok(Content::Text(String::new())),
        Cell::Missing => Err(
            "is missing: give the text that is judged, or name its column with --column state=NAME".into(),
        ),
        other => Err(format!("is {}: use a string, an object or a list", other.shown())),
    }
}

fn question(cell: Cell) -> Result<Option<Content>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Text(text) => Ok(Some(Content::Text(text))),
        Cell::Json(value) => Ok(Some(Content::Json(value))),
        other => Err(format!("is {}: use a string, an object or a list", other.shown())),
    }
}

fn kind(cell: Cell) -> Result<Option<RowShape>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Text(text) => text.parse().map(Some),
        other => Err(format!("is {}: use choice, predicate or score", other.shown())),
    }
}

/// The files of one column: one path, or a list of them.
fn paths(cell: Cell) -> Result<Vec<String>, String> {
    let paths = match cell {
        Cell::Missing => return Ok(Vec::new()),
        // In CSV a list can only be a text.
        Cell::Text(text) if !text.starts_with('[') => vec![text],
        cell => texts(cell)?,
    };
    if paths.iter().any(String::is_empty) {
        return Err("names a file without a name: give its path".into());
    }
    Ok(paths)
}
