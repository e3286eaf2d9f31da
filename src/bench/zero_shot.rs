//! Zero-shot quality on a data set, for every pair of prompt form and readout.

use std::time::Instant;

use assize_calibration::{Probability, metrics, softmax};
use assize_heads::{PackedDecision, QuestionScores, Readout};
use assize_models::{Backbone, HiddenStates, PackedBatch};
use assize_preprocess::PromptTokenizer;
use assize_preprocess::prompt::{EncodeOptions, EncodedDecision, PromptForm, Truncate};
use serde::Serialize;

use super::report::Record;
use super::task::Task;
use super::{BenchError, Identity};

/// Quality of one prompt form with one readout.
#[derive(Debug, Clone, Serialize)]
pub struct ZeroShotRecord {
    /// Always `zero-shot`.
    pub test: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub identity: Identity,
    /// The data set.
    pub dataset: &'static str,
    /// The question and its two answers.
    pub question: String,
    /// Rows.
    pub n: usize,
    /// Rows of the fixed order that were left out before them.
    pub skip: usize,
    /// Name of the prompt form.
    pub form: String,
    /// The readout, short.
    pub readout: String,
    /// Option orders averaged over.
    pub order_averages: usize,
    /// Share of rows whose most probable answer is the gold one.
    pub accuracy: f64,
    /// Standard error of the accuracy, sqrt(a (1 - a) / n).
    pub accuracy_stderr: f64,
    /// Mean of the accuracies within each gold answer.
    pub balanced_accuracy: f64,
    /// Area under the ROC curve of the positive answer's probability.
    pub auc: f64,
    /// Expected calibration error, 10 bins of equal width.
    pub ece10: f64,
    /// Mean negative log-likelihood of the gold answer, nats.
    pub nll: f64,
    /// Accuracy of always giving the more frequent answer.
    pub majority_accuracy: f64,
    /// Accuracy of guessing.
    pub chance_accuracy: f64,
    /// Share of rows for which the positive answer was given.
    pub positive_share: f64,
    /// Mean share of the next-token mass on the options, where it is defined.
    pub option_mass: Option<f64>,
    /// Most tokens of a prompt, option included.
    pub max_tokens: usize,
    /// What is dropped of texts that are longer.
    pub truncate: Truncate,
    /// Rows that were cut.
    pub truncated_rows: usize,
    /// Mean rows of one forward pass.
    pub mean_tokens: f64,
    /// Time of the form's rows, all of its readouts together.
    pub seconds: f64,
}

impl Record for ZeroShotRecord {
    const COLUMNS: &'static [&'static str] = &[
        "dataset",
        "n",
        "form",
        "readout",
        "order_averages",
        "accuracy",
        "accuracy_stderr",
        "balanced_accuracy",
        "auc",
        "ece10",
        "majority_accuracy",
        "chance_accuracy",
        "positive_share",
        "option_mass",
        "truncated_rows",
    ];
}

/// The model under test.
pub struct ZeroShotSubject<'s> {
    /// What runs it.
    pub backbone: &'s dyn Backbone,
    /// Its tokenizer.
    pub tokenizer: &'s PromptTokenizer,
    /// The record's identity for a form and a readout, which are part of the artifact.
    pub identity: &'s dyn Fn(&PromptForm, &Readout) -> Result<Identity, BenchError>,
}

/// One prompt form with the readouts to try on it.
#[derive(Debug, Clone)]
pub struct ZeroShotForm {
    /// The form.
    pub form: PromptForm,
    /// The readouts; those that need labels are left out where the form has none.
    pub readouts: Vec<Readout>,
    /// Option orders to average over.
    pub order_averages: usize,
    /// Most tokens of a prompt.
    pub max_tokens: usize,
    /// What is dropped of longer texts.
    pub truncate: Truncate,
}

/// The readout in a few characters: `label`, `text sum`, `text mean less 0.5 prior`.
pub fn readout_name(readout: &Readout) -> String {
    match readout {
        Readout::Label => "label".into(),
        Readout::Slot => "slot".into(),
        Readout::Text { reduce, less_prior } => {
            let reduce = match reduce {
                assize_heads::Reduce::Sum => "sum",
                assize_heads::Reduce::Mean => "mean",
            };
            match *less_prior {
                0.0 => format!("text {reduce}"),
                weight => format!("text {reduce} less {weight} prior"),
            }
        }
    }
}

/// Runs every row of `task` through one form and all of its readouts; `progress` hears of each row.
///
/// # Errors
/// A prompt cannot be built, the engine fails, or a metric has no value (one gold answer only).
pub fn zero_shot(
    subject: &ZeroShotSubject<'_>,
    task: &Task,
    tried: &ZeroShotForm,
    progress: impl Fn(),
) -> Result<Vec<ZeroShotRecord>, BenchError> {
    let start = Instant::now();
    let readouts: Vec<Readout> = tried
        .readouts
        .iter()
        .copied()
        .filter(|readout| *readout != Readout::Label || tried.form.has_labels())
        .collect();
    let options = EncodeOptions {
        context: tried.max_tokens.min(subject.backbone.description().context),
        truncate: tried.truncate,
        order_averages: tried.order_averages,
        prior: readouts.iter().any(Readout::needs_prior),
    };
    let gold: Vec<usize> = task.rows.iter().map(|row| task.gold(row)).collect();
    let mut answers: Vec<Answers> = readouts.iter().map(|_| Answers::default()).collect();
    let (mut truncated_rows, mut rows_run) = (0, 0);
    for row in &task.rows {
        let encoded = tried
            .form
            .encode(subject.tokenizer, &task.decision(row), &options)?;
        truncated_rows += usize::from(encoded.truncated_tokens > 0);
        let (scores, tokens) = all_scores(subject.backbone, &encoded, &readouts)?;
        rows_run += tokens;
        for (answers, scores) in answers.iter_mut().zip(scores) {
            answers.add(&scores)?;
        }
        progress();
    }
    let seconds = start.elapsed().as_secs_f64();
    readouts
        .iter()
        .zip(answers)
        .map(|(readout, answers)| {
            let quality = Quality::of(&answers.probabilities, &gold, task)?;
            Ok(ZeroShotRecord {
                test: "zero-shot",
                identity: (subject.identity)(&tried.form, readout)?,
                dataset: task.dataset.as_str(),
                question: task.wording.clone(),
                n: task.rows.len(),
                skip: task.skip,
                form: tried.form.name().to_owned(),
                readout: readout_name(readout),
                order_averages: tried.order_averages,
                accuracy: quality.accuracy,
                accuracy_stderr: quality.accuracy_stderr,
                balanced_accuracy: quality.balanced_accuracy,
                auc: quality.auc,
                ece10: quality.ece10,
                nll: quality.nll,
                majority_accuracy: quality.majority,
                chance_accuracy: quality.chance,
                positive_share: quality.positive_share,
                option_mass: answers.mean_mass(),
                max_tokens: options.context,
                truncate: tried.truncate,
                truncated_rows,
                mean_tokens: rows_run as f64 / task.rows.len().max(1) as f64,
                seconds,
            })
        })
        .collect()
}

#[derive(Default)]
struct Answers {
    probabilities: Vec<Vec<Probability>>,
    masses: Vec<Option<f32>>,
}

impl Answers {
    fn add(&mut self, scores: &QuestionScores) -> Result<(), BenchError> {
        self.probabilities.push(softmax(&scores.scores)?);
        self.masses.push(scores.option_mass);
        Ok(())
    }

    fn mean_mass(&self) -> Option<f64> {
        let sum: f32 = self.masses.iter().copied().sum::<Option<f32>>()?;
        (!self.masses.is_empty()).then(|| f64::from(sum) / self.masses.len() as f64)
    }
}

/// Scores of the decision's one question under every readout, and the rows that were run. A readout whose batch is the
/// start of one that was run takes its hidden states: a row depends on its ancestors alone.
fn all_scores(
    backbone: &dyn Backbone,
    encoded: &EncodedDecision,
    readouts: &[Readout],
) -> Result<(Vec<QuestionScores>, usize), BenchError> {
    let packed = readouts
        .iter()
        .map(|readout| {
            let mut batch = PackedBatch::new();
            let decision = PackedDecision::pack(encoded, &[], readout, &mut batch)?;
            Ok((decision, batch))
        })
        .collect::<Result<Vec<_>, BenchError>>()?;
    let mut longest_first: Vec<&PackedBatch> = packed.iter().map(|(_, batch)| batch).collect();
    longest_first.sort_by_key(|batch| std::cmp::Reverse((batch.len(), batch.reads().len())));
    let mut run: Vec<(&PackedBatch, HiddenStates)> = Vec::new();
    for batch in longest_first {
        if !run.iter().any(|(done, _)| is_start_of(batch, done)) {
            run.push((batch, backbone.forward(batch)?));
        }
    }
    let tokens = run.iter().map(|(batch, _)| batch.len()).sum();
    let mut scores = Vec::with_capacity(packed.len());
    for (decision, batch) in &packed {
        let hidden = run
            .iter()
            .find(|(done, _)| is_start_of(batch, done))
            .map(|(_, hidden)| hidden);
        if let Some(hidden) = hidden
            && let Some(first) = decision.scores(backbone, None, hidden)?.into_iter().next()
        {
            scores.push(first);
        }
    }
    Ok((scores, tokens))
}

fn is_start_of(batch: &PackedBatch, whole: &PackedBatch) -> bool {
    whole.tokens().starts_with(batch.tokens())
        && whole.segments().starts_with(batch.segments())
        && whole.reads().starts_with(batch.reads())
        && whole.media().starts_with(batch.media())
}

struct Quality {
    accuracy: f64,
    accuracy_stderr: f64,
    balanced_accuracy: f64,
    auc: f64,
    ece10: f64,
    nll: f64,
    majority: f64,
    chance: f64,
    positive_share: f64,
}

impl Quality {
    fn of(probabilities: &[Vec<Probability>], gold: &[usize], task: &Task) -> Result<Self, BenchError> {
        let n = gold.len().max(1) as f64;
        let accuracy = metrics::accuracy(probabilities, gold)?;
        let positive: Vec<f64> = probabilities
            .iter()
            .map(|row| {
                row.get(task.positive)
                    .map_or(0.0, |probability| probability.get())
            })
            .collect();
        let is_positive: Vec<bool> = gold.iter().map(|gold| *gold == task.positive).collect();
        let positives = is_positive.iter().filter(|positive| **positive).count() as f64;
        Ok(Self {
            accuracy,
            accuracy_stderr: (accuracy * (1.0 - accuracy) / n).sqrt(),
            balanced_accuracy: metrics::macro_accuracy(probabilities, gold)?,
            auc: metrics::auroc(&positive, &is_positive)?,
            ece10: metrics::ece(probabilities, gold, 10)?,
            nll: metrics::nll(probabilities, gold)?,
            majority: positives.max(n - positives) / n,
            chance: 0.5,
            positive_share: positive.iter().filter(|p| **p > 0.5).count() as f64 / n,
        })
    }
}
