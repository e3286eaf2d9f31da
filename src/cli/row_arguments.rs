//! Arguments that say which labelled rows are read, and how.

use std::path::PathBuf;

use anyhow::bail;
use assize::datasets::DatasetFolder;
use assize::evaluation::rows::{
    DatasetQuestion, RowField, RowOptions, RowSelection, RowShape, RowSource, Split,
};
use assize::service::DecisionSettings;
use assize_preprocess::prompt::Truncate;
use clap::Args;

use super::whole_number::whole;

/// Which rows, and how they are asked.
#[derive(Debug, Args)]
pub struct RowArguments {
    /// The column of a field, as gold=label; fields are id, state, question, type, options, levels, gold, gold_index,
    /// ratings, group, image, audio and video
    #[arg(long, value_name = "FIELD=COLUMN", value_parser = mapped)]
    column: Vec<(RowField, String)>,
    /// The question of all rows
    #[arg(short, long)]
    question: Option<String>,
    /// The type of all rows: choice, predicate or score; of a data set known by name, how its question is put
    #[arg(long = "type", value_name = "TYPE")]
    shape: Option<RowShape>,
    /// An option of all rows; give several
    #[arg(short, long)]
    option: Vec<String>,
    /// A level of all rows, lowest first; give several
    #[arg(short, long)]
    level: Vec<String>,
    /// The part of the rows, by sha256 of the id modulo 100: train (0 to 49), calibration (50 to 74), test (75 to 99) or all
    #[arg(long, default_value = "all", value_name = "PART")]
    split: Split,
    /// Most rows of that part
    #[arg(long, visible_alias = "limit", value_name = "N")]
    rows: Option<usize>,
    /// Folder of the data sets known by name [default: `datasets` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    datasets: Option<PathBuf>,
    /// Option orders to average over; matters only where the model's prompt form shows the options
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=256))]
    order_averages: u16,
    /// What part of a text that is too long is dropped: error (none, the row fails), start, end or middle
    #[arg(long, default_value = "error", value_name = "PART")]
    truncate: Truncate,
    /// Most tokens of a prompt [default: the model's context]
    #[arg(long, value_name = "TOKENS", value_parser = whole(1..=u16::MAX))]
    max_tokens: Option<u16>,
}

fn mapped(text: &str) -> Result<(RowField, String), String> {
    let (field, column) = text
        .split_once('=')
        .ok_or_else(|| "write FIELD=COLUMN, as gold=label".to_owned())?;
    if column.is_empty() {
        return Err("the column has no name: write FIELD=COLUMN, as gold=label".into());
    }
    Ok((field.parse()?, column.to_owned()))
}

impl RowArguments {
    /// Where the rows of `data` come from.
    pub(super) fn source(&self, data: &str) -> anyhow::Result<RowSource> {
        let question = match self.shape {
            None | Some(RowShape::Choice) => DatasetQuestion::Choice,
            Some(RowShape::Predicate) => DatasetQuestion::Predicate,
            Some(RowShape::Score) => DatasetQuestion::Score,
        };
        let folder = DatasetFolder::open(self.datasets.as_deref())?;
        Ok(RowSource::named(data, &folder, question))
    }

    /// How a data set's question is put, for records; none for files.
    pub(super) fn dataset_question(source: &RowSource) -> Option<String> {
        match source {
            RowSource::File(_) => None,
            RowSource::Dataset { question, .. } => serde_json::to_value(question)
                .ok()
                .and_then(|name| name.as_str().map(str::to_owned)),
        }
    }

    /// How rows are read.
    pub(super) fn options(&self) -> anyhow::Result<RowOptions> {
        let mut options = RowOptions {
            question: self.question.clone(),
            shape: self.shape,
            options: self.option.clone(),
            levels: self.level.clone(),
            settings: self.settings(),
            ..RowOptions::default()
        };
        for (field, column) in &self.column {
            if options.columns.insert(*field, column.clone()).is_some() {
                bail!(
                    "--column {}={column}: this field was given a column already",
                    field.name()
                );
            }
        }
        Ok(options)
    }

    /// How decisions are made.
    pub(super) fn settings(&self) -> DecisionSettings {
        DecisionSettings {
            order_averages: usize::from(self.order_averages),
            truncate: self.truncate,
            max_tokens: self.max_tokens.map(usize::from),
        }
    }

    /// What is dropped of long texts, as on the command line.
    pub(super) fn truncate_name(&self) -> String {
        serde_json::to_value(self.truncate)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Which rows take part.
    pub(super) fn selection(&self) -> RowSelection {
        RowSelection {
            split: self.split,
            most: self.rows,
        }
    }
}
