//! Writes small Parquet files.

use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// One column of a file.
pub enum Column {
    Text(&'static str, Vec<Option<&'static str>>),
    Lists(&'static str, Vec<Vec<&'static str>>),
    Whole(&'static str, Vec<i64>),
    Float(&'static str, Vec<f64>),
    Bool(&'static str, Vec<bool>),
}

fn bytes(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// Writes one row group.
pub fn write(path: &Path, columns: &[Column]) {
    let fields: Vec<String> = columns
        .iter()
        .map(|column| match column {
            Column::Text(name, _) => format!("optional binary {name} (STRING);"),
            Column::Lists(name, _) => format!(
                "optional group {name} (LIST) {{ repeated group list {{ optional binary element (STRING); }} }}"
            ),
            Column::Whole(name, _) => format!("required int64 {name};"),
            Column::Float(name, _) => format!("required double {name};"),
            Column::Bool(name, _) => format!("required boolean {name};"),
        })
        .collect();
    let schema = parse_message_type(&format!("message rows {{ {} }}", fields.join(" "))).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        let mut out = group.next_column().unwrap().unwrap();
        match column {
            Column::Text(_, values) => {
                let present: Vec<_> = values.iter().flatten().map(|text| bytes(text)).collect();
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                out.typed::<ByteArrayType>()
                    .write_batch(&present, Some(&levels), None)
                    .unwrap();
            }
            Column::Lists(_, lists) => {
                let items: Vec<_> = lists.iter().flatten().map(|text| bytes(text)).collect();
                let defined = vec![3; items.len()];
                let repeated: Vec<i16> = lists
                    .iter()
                    .flat_map(|list| (0..list.len()).map(|place| i16::from(place > 0)))
                    .collect();
                out.typed::<ByteArrayType>()
                    .write_batch(&items, Some(&defined), Some(&repeated))
                    .unwrap();
            }
            Column::Whole(_, values) => {
                out.typed::<Int64Type>().write_batch(values, None, None).unwrap();
            }
            Column::Float(_, values) => {
                out.typed::<DoubleType>().write_batch(values, None, None).unwrap();
            }
            Column::Bool(_, values) => {
                out.typed::<BoolType>().write_batch(values, None, None).unwrap();
            }
        }
        out.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}
