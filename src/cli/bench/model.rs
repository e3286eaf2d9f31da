//! Arguments that name the model and the data sets.

use std::path::PathBuf;

use assize::bench::{Subject, TaskOptions, TaskShape};
use assize::datasets::{DatasetFolder, MailText};
use assize_models::{DEFAULT_MODEL, Precision};
use clap::Args;

use crate::cli::engine_choice::EngineChoice;

/// The model under test.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// Name of a model, or path of a GGUF file or model folder
    #[arg(short, long, default_value = DEFAULT_MODEL)]
    pub model: String,
    /// Cache folder [default: $ASSIZE_CACHE, else the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    #[command(flatten)]
    pub engine: EngineChoice,
    /// Threads of one forward pass [default: all]
    #[arg(short, long)]
    pub threads: Option<usize>,
}

impl ModelArguments {
    /// Opens the model.
    ///
    /// # Errors
    /// There is no such model or it is damaged.
    pub fn open(&self) -> anyhow::Result<Subject> {
        let subject = Subject::open(&self.model, self.cache.as_deref())?;
        Ok(subject.on(self.engine.engine, self.engine.device))
    }
}

/// The precision, where one is measured.
#[derive(Debug, Args)]
pub struct PrecisionArguments {
    /// float32, int8 (engine onnx) or bf16 (engine torch) [default: what the engine takes on this host]
    #[arg(short, long)]
    pub precision: Option<Precision>,
}

/// The rows and the question.
#[derive(Debug, Args)]
pub struct DatasetArguments {
    /// Folder of the data sets [default: `datasets` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub datasets: Option<PathBuf>,
    /// What of a mail is shown: subject-body or raw (headers give the answer away)
    #[arg(long, default_value = "subject-body")]
    pub mail_text: MailText,
    /// Most tokens of a prompt
    #[arg(long, default_value_t = 512)]
    pub max_tokens: usize,
}

impl DatasetArguments {
    /// The folder.
    ///
    /// # Errors
    /// None is named and the user has no cache folder.
    pub fn folder(&self) -> anyhow::Result<DatasetFolder> {
        Ok(DatasetFolder::open(self.datasets.as_deref())?)
    }

    /// The first `n` rows under the default question.
    pub fn task(&self, n: usize) -> TaskOptions {
        TaskOptions {
            n,
            skip: 0,
            balanced: false,
            mail_text: self.mail_text,
            shape: TaskShape::Choice,
            question: None,
            options: None,
        }
    }
}
