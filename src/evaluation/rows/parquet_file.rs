//! Rows of a Parquet file.

use std::collections::HashSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use serde_json::{Map, Number, Value};

use super::cell::{Cell, Record};
use super::{RowFault, RowsError};
use crate::strict_json::excerpt;

/// Reads a Parquet file row by row.
pub(super) struct ParquetFile {
    path: PathBuf,
    rows: RowIter<'static>,
    columns: Vec<Arc<str>>,
    row: usize,
    broken: bool,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self, RowsError> {
        let file = File::open(path).map_err(RowsError::io(path))?;
        let reader = caught(|| SerializedFileReader::new(file)).map_err(|reason| RowsError::Parquet {
            path: path.to_owned(),
            row: 0,
            reason,
        })?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = schema.root_schema().get_fields();
        let columns: Vec<Arc<str>> = columns.iter().map(|field| field.name().into()).collect();
        let mut names = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !names.insert(Arc::clone(name))) {
            return Err(RowsError::Parquet {
                path: path.to_owned(),
                row: 0,
                reason: format!("the column {:?} is there twice: name each once", excerpt(twice)),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            rows: RowIter::from_file_into(Box::new(reader)),
            columns,
            row: 0,
            broken: false,
        })
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
}

impl Iterator for ParquetFile {
    type Item = Result<Result<Record, RowFault>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        match caught(|| self.rows.next().transpose()) {
            Ok(None) => None,
            Ok(Some(row)) => {
                self.row += 1;
                Some(Ok(Ok(Record {
                    row: self.row,
                    cells: cells(row),
                    empty_may_be_missing: false,
                })))
            }
            Err(reason) => {
                self.broken = true;
                Some(Err(RowsError::Parquet {
                    path: self.path.clone(),
                    row: self.row,
                    reason,
                }))
            }
        }
    }
}

/// What the reader says, or that it gave up: it has assertions that damaged files break.
fn caught<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the file is damaged: the reader gave up".into()),
    }
}

fn cells(row: Row) -> Vec<(Arc<str>, Cell)> {
    let columns = row.into_columns().into_iter();
    columns
        .map(|(column, field)| (column.into(), cell(field)))
        .collect()
}

fn cell(field: Field) -> Cell {
    match field {
        Field::Str(text) => Cell::Text(text),
        // Some writers do not mark text as such.
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(error) => Cell::Unreadable(format!("no UTF-8 (byte {})", error.valid_up_to())),
        },
        other => match value(other) {
            Ok(value) => value.into(),
            Err(why) => Cell::Unreadable(why),
        },
    }
}

fn value(field: Field) -> Result<Value, String> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => value.into(),
        Field::Byte(number) => number.into(),
        Field::Short(number) => number.into(),
        Field::Int(number) => number.into(),
        Field::Long(number) => number.into(),
        Field::UByte(number) => number.into(),
        Field::UShort(number) => number.into(),
        Field::UInt(number) => number.into(),
        Field::ULong(number) => number.into(),
        Field::Float16(number) => float(f64::from(number))?,
        Field::Float(number) => float(f64::from(number))?,
        Field::Double(number) => float(number)?,
        Field::Str(text) => text.into(),
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => text.into(),
            Err(error) => return Err(format!("no UTF-8 (byte {})", error.valid_up_to())),
        },
        Field::ListInternal(list) => {
            let items = list.elements().iter().cloned().map(value);
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Field::Group(row) => {
            let fields = row.into_columns().into_iter();
            let fields = fields.map(|(name, field)| Ok((name, value(field)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, String>>()?)
        }
        Field::MapInternal(map) => {
            let entries = map.entries().iter().map(|(key, field)| {
                let key = match value(key.clone())? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                Ok((key, value(field.clone())?))
            });
            Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
        }
        other @ (Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_)) => {
            return Err(format!(
                "{other}, a date, a time or a decimal, which is not read: store it as text"
            ));
        }
    })
}

/// NaN stands for what is missing in files of pandas.
fn float(number: f64) -> Result<Value, String> {
    if number.is_nan() {
        return Ok(Value::Null);
    }
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(|| format!("{number}: numbers must be finite"))
}
