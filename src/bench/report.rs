//! Records of every benchmark as table, JSON or CSV: one record type per benchmark, written the same three ways.

use serde::Serialize;
use serde_json::{Map, Value};

use super::BenchError;

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Aligned columns for people, the most telling fields only.
    Table,
    /// An array of objects, every field.
    Json,
    /// A header line and one line per record, every field; lists as JSON text in one cell.
    Csv,
}

impl std::str::FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "table" => Ok(Output::Table),
            "json" => Ok(Output::Json),
            "csv" => Ok(Output::Csv),
            other => Err(format!("unknown output {other:?}: use table, json or csv")),
        }
    }
}

/// One line of a benchmark's result.
pub trait Record: Serialize {
    /// The fields that the table shows, in this order.
    const COLUMNS: &'static [&'static str];
}

/// Writes `records` in the form asked for.
///
/// # Errors
/// A record is no object, or the writer fails.
pub fn write<R: Record>(
    records: &[R],
    output: Output,
    mut to: impl std::io::Write,
) -> Result<(), BenchError> {
    let rows = records.iter().map(fields).collect::<Result<Vec<_>, _>>()?;
    let text = match output {
        Output::Json => {
            let mut text = serde_json::to_string_pretty(&rows).map_err(BenchError::record)?;
            text.push('\n');
            text
        }
        Output::Csv => csv_text(&rows)?,
        Output::Table => table_text::<R>(&rows),
    };
    to.write_all(text.as_bytes()).map_err(BenchError::record)
}

fn fields<R: Record>(record: &R) -> Result<Map<String, Value>, BenchError> {
    match serde_json::to_value(record).map_err(BenchError::record)? {
        Value::Object(fields) => Ok(fields),
        other => Err(BenchError::record(format!("a record is {other}, not an object"))),
    }
}

fn csv_text(rows: &[Map<String, Value>]) -> Result<String, BenchError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(first) = rows.first() {
        writer.write_record(first.keys()).map_err(BenchError::record)?;
    }
    for row in rows {
        let cells = row.values().map(|value| match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        });
        writer.write_record(cells).map_err(BenchError::record)?;
    }
    let bytes = writer.into_inner().map_err(BenchError::record)?;
    String::from_utf8(bytes).map_err(BenchError::record)
}

fn table_text<R: Record>(rows: &[Map<String, Value>]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(R::COLUMNS);
    for row in rows {
        table.add_row(R::COLUMNS.iter().map(|column| {
            row.get(*column).map_or_else(String::new, |value| match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                Value::Number(number) => number_text(number),
                other => other.to_string(),
            })
        }));
    }
    format!("{table}\n")
}

/// Whole numbers as they are, others with about four significant digits.
fn number_text(number: &serde_json::Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    let value = number.as_f64().unwrap_or(f64::NAN);
    let magnitude = value.abs();
    if magnitude >= 100.0 {
        format!("{value:.0}")
    } else if magnitude >= 10.0 {
        format!("{value:.1}")
    } else if magnitude >= 0.1 || magnitude == 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample {
        model: &'static str,
        samples_ns: Vec<u64>,
        avg_ts: f64,
        share: Option<f64>,
    }

    impl Record for Sample {
        const COLUMNS: &'static [&'static str] = &["model", "avg_ts", "share"];
    }

    fn sample() -> [Sample; 1] {
        [Sample {
            model: "m, \"q\"",
            samples_ns: vec![1, 2],
            avg_ts: 1234.56,
            share: None,
        }]
    }

    fn text(output: Output) -> String {
        let mut bytes = Vec::new();
        write(&sample(), output, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_keeps_every_field_and_its_order() {
        let found: Value = serde_json::from_str(&text(Output::Json)).unwrap();
        let keys: Vec<_> = found[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["model", "samples_ns", "avg_ts", "share"]);
        assert_eq!(found[0]["samples_ns"], serde_json::json!([1, 2]));
    }

    #[test]
    fn csv_quotes_and_keeps_lists_in_one_cell() {
        assert_eq!(
            text(Output::Csv),
            "model,samples_ns,avg_ts,share\n\"m, \"\"q\"\"\",\"[1,2]\",1234.56,\n"
        );
    }

    #[test]
    fn the_table_shows_the_chosen_columns_only() {
        let found = text(Output::Table);
        assert!(found.contains("1235") && !found.contains("samples_ns"), "{found}");
    }
}
