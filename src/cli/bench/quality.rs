//! `assize bench agreement | zero-shot`.

use anyhow::bail;
use assize::bench::{
    self, AgreementRecord, Subject, Task, TaskShape, Variant, ZeroShotForm, ZeroShotRecord, ZeroShotSubject,
};
use assize::datasets::DatasetName;
use assize_heads::{Readout, Reduce};
use assize_models::engines::Engine;
use assize_models::{Precision, TokenId};
use assize_preprocess::prompt::{PromptForm, Truncate};
use clap::Args;

use super::model::{DatasetArguments, ModelArguments, PrecisionArguments};
use super::progress;

/// The prompts on which next-token distributions are compared.
#[derive(Debug, Args)]
pub struct PromptArguments {
    #[command(flatten)]
    pub(super) dataset: DatasetArguments,
    /// Prompts, half of them mails, half of them rated texts
    #[arg(long, default_value_t = 500)]
    pub(super) prompts: usize,
}

impl PromptArguments {
    pub(super) fn read(&self, subject: &Subject) -> anyhow::Result<Vec<Vec<TokenId>>> {
        let folder = self.dataset.folder()?;
        let half = self.prompts / 2;
        let tasks = [
            (DatasetName::SpamAssassin, self.prompts - half),
            (DatasetName::Vader, half),
        ]
        .into_iter()
        .map(|(name, n)| Task::read(&folder, name, &self.dataset.task(n)))
        .collect::<Result<Vec<_>, _>>()?;
        Ok(bench::real_prompts(
            &subject.tokenizer,
            &subject.form,
            &tasks,
            self.dataset.max_tokens,
        )?)
    }
}

/// Arguments of `assize bench agreement`.
#[derive(Debug, Args)]
pub struct AgreementArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    prompts: PromptArguments,
}

impl AgreementArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<AgreementRecord>> {
        let subject = self.model.open()?;
        let prompts = self.prompts.read(&subject)?;
        let float32 = subject.load(Some(Precision::Float32), self.model.threads)?;
        let narrow = match subject.engine() {
            Engine::Onnx => Precision::Int8,
            Engine::Torch => Precision::Bfloat16,
        };
        let narrowed = subject.load(Some(narrow), self.model.threads)?;
        let (mut reference, mut variant) = (&*float32, &*narrowed);
        let bar = progress(prompts.len(), "prompts");
        Ok(bench::agreement(
            subject.name(),
            subject.host(),
            ("assize float32", &mut reference),
            &mut [Variant {
                name: format!("assize {narrow}"),
                build: None,
                model: &mut variant,
            }],
            &prompts,
            || bar.inc(1),
        )?)
    }
}

/// Arguments of `assize bench zero-shot`.
#[derive(Debug, Args)]
pub struct ZeroShotArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    #[command(flatten)]
    dataset: DatasetArguments,
    /// Data sets: spam, vader or both with a comma between
    #[arg(long, value_delimiter = ',', required = true)]
    dataset_name: Vec<DatasetName>,
    /// Rows
    #[arg(short, long, default_value_t = 1000)]
    n: usize,
    /// Rows of the fixed order to leave out before them: those that a form was chosen on
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Equally many rows of both answers
    #[arg(long, conflicts_with = "skip")]
    balanced: bool,
    /// Prompt forms: built-in names or JSON files; "all" takes every built-in form of this model's tokenizer
    /// [default: the card's]
    #[arg(short, long, value_delimiter = ',')]
    form: Vec<String>,
    /// Readouts: label, sum, mean, sum-prior, mean-prior (less all of the prior), or JSON; "all" takes the five
    /// [default: the card's]
    #[arg(short, long, value_delimiter = ';')]
    readout: Vec<String>,
    /// Option orders averaged over
    #[arg(long, value_delimiter = ',', default_value = "1")]
    order_averages: Vec<usize>,
    /// What is dropped of texts over --max-tokens: error, start, end or middle
    #[arg(long, default_value = "end")]
    truncate: Truncate,
    /// How the question is put: choice or predicate
    #[arg(long, default_value = "choice")]
    shape: TaskShape,
    /// The question in other words (one data set only)
    #[arg(long)]
    question: Option<String>,
    /// The two options in other words, positive one first (one data set only)
    #[arg(long, value_delimiter = ',', num_args = 2)]
    options: Option<Vec<String>>,
}

impl ZeroShotArguments {
    pub(super) fn run(&self) -> anyhow::Result<Vec<ZeroShotRecord>> {
        let reworded = self.question.is_some() || self.options.is_some();
        if reworded && self.dataset_name.len() > 1 {
            bail!("--question and --options fit one data set: name one only");
        }
        let subject = self.model.open()?;
        let forms = self.forms(&subject)?;
        let readouts = self.readouts(&subject)?;
        let folder = self.dataset.folder()?;
        let mut asked = self.dataset.task(self.n);
        asked.skip = self.skip;
        asked.balanced = self.balanced;
        asked.shape = self.shape;
        asked.question.clone_from(&self.question);
        asked.options = match self.options.as_deref() {
            None => None,
            Some([positive, negative]) => Some((positive.clone(), negative.clone())),
            Some(other) => bail!(
                "--options has {} values: give two with a comma between",
                other.len()
            ),
        };
        let tasks = self
            .dataset_name
            .iter()
            .map(|name| Task::read(&folder, *name, &asked))
            .collect::<Result<Vec<_>, _>>()?;
        let backbone = subject.load(self.precision.precision, self.model.threads)?;
        let zero_shot = ZeroShotSubject {
            backbone: &*backbone,
            tokenizer: &subject.tokenizer,
            identity: &|form, readout| subject.identity_with(&*backbone, form, readout),
        };
        let steps = tasks.len() * forms.len() * self.order_averages.len() * self.n;
        let bar = progress(steps, "rows");
        let mut records = Vec::new();
        for task in &tasks {
            for form in &forms {
                for order_averages in &self.order_averages {
                    let tried = ZeroShotForm {
                        form: form.clone(),
                        readouts: readouts.clone(),
                        order_averages: *order_averages,
                        max_tokens: self.dataset.max_tokens,
                        truncate: self.truncate,
                    };
                    records.extend(bench::zero_shot(&zero_shot, task, &tried, || bar.inc(1))?);
                }
            }
        }
        bar.finish_and_clear();
        Ok(records)
    }

    fn forms(&self, subject: &Subject) -> anyhow::Result<Vec<PromptForm>> {
        if self.form.is_empty() {
            return Ok(vec![subject.form.clone()]);
        }
        let mut forms = Vec::new();
        for name in &self.form {
            if name == "all" {
                let built_in = PromptForm::built_in_names();
                for name in built_in {
                    let form = PromptForm::built_in(&name)?;
                    if subject.can_write(&form) {
                        forms.push(form);
                    }
                }
            } else if std::path::Path::new(name).is_file() {
                forms.push(PromptForm::from_json(&std::fs::read(name)?)?);
            } else {
                forms.push(PromptForm::built_in(name)?);
            }
        }
        Ok(forms)
    }

    fn readouts(&self, subject: &Subject) -> anyhow::Result<Vec<Readout>> {
        if self.readout.is_empty() {
            return Ok(vec![subject.readout]);
        }
        let text = |reduce, less_prior| Readout::Text { reduce, less_prior };
        let mut readouts = Vec::new();
        for name in &self.readout {
            match name.as_str() {
                "label" => readouts.push(Readout::Label),
                "sum" => readouts.push(text(Reduce::Sum, 0.0)),
                "mean" => readouts.push(text(Reduce::Mean, 0.0)),
                "sum-prior" => readouts.push(text(Reduce::Sum, 1.0)),
                "mean-prior" => readouts.push(text(Reduce::Mean, 1.0)),
                "all" => readouts.extend([
                    Readout::Label,
                    text(Reduce::Sum, 0.0),
                    text(Reduce::Mean, 0.0),
                    text(Reduce::Sum, 1.0),
                    text(Reduce::Mean, 1.0),
                ]),
                json => match serde_json::from_str(json) {
                    Ok(readout) => readouts.push(readout),
                    Err(error) => bail!(
                        "--readout {json:?}: use label, sum, mean, sum-prior, mean-prior, all or JSON ({error})"
                    ),
                },
            }
        }
        Ok(readouts)
    }
}
