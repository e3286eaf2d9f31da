//! Labelled rows: JSONL, CSV and Parquet files, and the data sets that are known by name.
//!
//! One row is one question with its gold answer. The columns of a file:
//!
//! | column | meaning |
//! |---|---|
//! | `id` | names the row; the row's number where it is missing |
//! | `state` | the text that is judged; in JSONL and Parquet also an object or a list, which the model reads as JSON |
//! | `question` | the question in words |
//! | `type` | `choice`, `predicate` or `score`; by default a choice where there are options, a score where there are levels, else a predicate |
//! | `options` | the options of a choice: a list of texts (in CSV as JSON) |
//! | `levels` | the levels of a score, lowest first: a list of texts |
//! | `gold` | the right option's text; true or false of a predicate; the level's text or its number from 0 of a score |
//! | `gold_index` | the right option's index from 0, in place of `gold`; of a predicate 0 is false and 1 is true |
//! | `ratings` | how people answered: one count or weight per option, as a list or as an object by option; of a predicate false, then true |
//! | `group` | a scenario, a document, an author: rows of one group are judged and divided together |
//! | `image`, `audio`, `video` | a media file, or a list of them, relative to the folder of the rows |
//!
//! Texts stay texts: an option `nan`, `NA`, `null`, `1.0` or `true` is never read as a missing value or as a number. What is
//! wrong with one row is a [`RowFault`], and the rows go on; what is wrong with the file is a [`RowsError`].

mod cell;
mod columns;
mod csv_file;
mod dataset;
mod error;
mod gold;
mod jsonl;
mod labelled;
mod numbers;
mod options;
mod parquet_file;
mod source;
mod split;

pub use columns::{RowField, RowOptions, RowShape};
pub use dataset::{DatasetQuestion, DatasetRows};
pub use error::{RowFault, RowsError};
pub use gold::Gold;
pub use labelled::{LabelledRow, RowMedium};
pub use source::{RowSource, Rows};
pub use split::{RowSelection, Split};
