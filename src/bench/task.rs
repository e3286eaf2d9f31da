//! Closed questions about the data sets: the rows, the question and the gold answers.

use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::{PREDICATE_FALSE, PREDICATE_TRUE};
use serde::{Deserialize, Serialize};

use super::BenchError;
use crate::datasets::{
    DatasetFolder, DatasetName, Labelled, MailLabel, MailText, SpamAssassin, Vader, mail_text, sample,
};

/// Mean rating from which a text counts as clearly positive, and below whose negative as clearly negative. Texts
/// between have no gold answer and are left out.
pub const CLEAR_RATING: f64 = 1.0;

/// How the question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskShape {
    /// Two named options.
    Choice,
    /// Yes or no.
    Predicate,
}

impl std::str::FromStr for TaskShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "choice" => Ok(TaskShape::Choice),
            "predicate" => Ok(TaskShape::Predicate),
            other => Err(format!("unknown shape {other:?}: use choice or predicate")),
        }
    }
}

/// What to ask, and about which rows.
#[derive(Debug, Clone)]
pub struct TaskOptions {
    /// Rows.
    pub n: usize,
    /// Rows of the fixed order that are left out before: those that a form was chosen on.
    pub skip: usize,
    /// Whether both answers have equally many rows.
    pub balanced: bool,
    /// What of a mail is shown.
    pub mail_text: MailText,
    /// How the question is put.
    pub shape: TaskShape,
    /// The question in other words than the default.
    pub question: Option<String>,
    /// The two options in other words than the default: the positive one first.
    pub options: Option<(String, String)>,
}

/// One row of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Id within the data set.
    pub id: String,
    /// The text that is judged.
    pub text: String,
    /// Whether the gold answer is the positive one (spam, positive).
    pub positive: bool,
}

impl Labelled for TaskRow {
    fn id(&self) -> &str {
        &self.id
    }
    fn gold(&self) -> usize {
        usize::from(self.positive)
    }
}

/// A question with two answers and the rows it is asked of.
#[derive(Debug, Clone)]
pub struct Task {
    /// The data set.
    pub dataset: DatasetName,
    /// The question.
    pub question: Question,
    /// Index of the positive answer in scores.
    pub positive: usize,
    /// Index of the negative answer in scores.
    pub negative: usize,
    /// The question and its options as one line, for records.
    pub wording: String,
    /// Rows of the fixed order that were left out before.
    pub skip: usize,
    /// The rows, in their fixed order.
    pub rows: Vec<TaskRow>,
}

impl Task {
    /// Reads the data set and samples the rows.
    ///
    /// # Errors
    /// The data set was not fetched, is damaged, or has too few rows.
    pub fn read(
        folder: &DatasetFolder,
        dataset: DatasetName,
        options: &TaskOptions,
    ) -> Result<Self, BenchError> {
        let path = folder.require(dataset)?;
        let rows = match dataset {
            DatasetName::SpamAssassin => SpamAssassin::read(&path)?
                .mails
                .into_iter()
                .map(|mail| TaskRow {
                    text: mail_text(&mail.bytes, options.mail_text),
                    id: mail.id,
                    positive: mail.label == MailLabel::Spam,
                })
                .collect(),
            DatasetName::Vader => Vader::read(&path)?
                .texts
                .into_iter()
                .filter(|text| text.mean.abs() >= CLEAR_RATING)
                .map(|text| TaskRow {
                    positive: text.mean > 0.0,
                    id: text.id,
                    text: text.text,
                })
                .collect(),
        };
        let rows = sample(rows, options.skip.saturating_add(options.n), options.balanced)?;
        let rows = rows.into_iter().skip(options.skip).collect();
        Ok(Self::new(dataset, options, rows))
    }

    fn new(dataset: DatasetName, options: &TaskOptions, rows: Vec<TaskRow>) -> Self {
        let (choice, predicate, positive, negative) = match dataset {
            DatasetName::SpamAssassin => (
                "Is this e-mail spam or ham?",
                "Is this e-mail spam?",
                "spam",
                "ham",
            ),
            DatasetName::Vader => (
                "Is the sentiment of this text positive or negative?",
                "Is the sentiment of this text positive?",
                "positive",
                "negative",
            ),
        };
        let asked = options.question.clone().unwrap_or_else(|| match options.shape {
            TaskShape::Choice => choice.to_owned(),
            TaskShape::Predicate => predicate.to_owned(),
        });
        let (positive_name, negative_name) = options
            .options
            .clone()
            .unwrap_or_else(|| (positive.to_owned(), negative.to_owned()));
        let (shape, positive, negative, wording) = match options.shape {
            TaskShape::Choice => (
                Shape::Choice(vec![option(&positive_name), option(&negative_name)]),
                0,
                1,
                format!("{asked} [{positive_name} | {negative_name}]"),
            ),
            TaskShape::Predicate => (
                Shape::Predicate {
                    when_true: None,
                    when_false: None,
                },
                PREDICATE_TRUE,
                PREDICATE_FALSE,
                format!("{asked} [yes | no]"),
            ),
        };
        Self {
            dataset,
            question: Question {
                instructions: Some(Content::Text(asked)),
                shape,
            },
            positive,
            negative,
            wording,
            skip: options.skip,
            rows,
        }
    }

    /// The decision about one row.
    pub fn decision(&self, row: &TaskRow) -> Decision {
        Decision {
            state: Content::Text(row.text.clone()),
            questions: vec![self.question.clone()],
        }
    }

    /// Index of the gold answer of one row in scores.
    pub fn gold(&self, row: &TaskRow) -> usize {
        if row.positive {
            self.positive
        } else {
            self.negative
        }
    }
}

fn option(name: &str) -> QuestionOption {
    QuestionOption {
        name: name.to_owned(),
        description: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(shape: TaskShape) -> TaskOptions {
        TaskOptions {
            n: 2,
            skip: 0,
            balanced: false,
            mail_text: MailText::SubjectBody,
            shape,
            question: None,
            options: None,
        }
    }

    fn rows() -> Vec<TaskRow> {
        [true, false]
            .map(|positive| TaskRow {
                id: positive.to_string(),
                text: "t".into(),
                positive,
            })
            .to_vec()
    }

    #[test]
    fn gold_answers_are_places_in_the_scores() {
        let choice = Task::new(DatasetName::SpamAssassin, &options(TaskShape::Choice), rows());
        assert_eq!(
            [choice.gold(&choice.rows[0]), choice.gold(&choice.rows[1])],
            [0, 1]
        );
        assert_eq!(choice.wording, "Is this e-mail spam or ham? [spam | ham]");
        let predicate = Task::new(DatasetName::Vader, &options(TaskShape::Predicate), rows());
        assert_eq!(predicate.gold(&predicate.rows[0]), PREDICATE_TRUE);
        assert_eq!(predicate.gold(&predicate.rows[1]), PREDICATE_FALSE);
    }

    #[test]
    fn texts_without_a_clear_rating_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let vader = dir.path().join("vader");
        std::fs::create_dir(&vader).unwrap();
        for prefix in [
            "tweets",
            "movieReviewSnippets",
            "amazonReviewSnippets",
            "nytEditorialSnippets",
        ] {
            let texts = "1\t1\tgood\n2\t0.9\tmeh\n3\t-1.5\tbad\n";
            let ratings = "1\t1\t0\t[1]\n2\t0.9\t0\t[1]\n3\t-1.5\t0\t[-2, -1]\n";
            std::fs::write(vader.join(format!("{prefix}_GroundTruth.txt")), texts).unwrap();
            std::fs::write(vader.join(format!("{prefix}_anonDataRatings.txt")), ratings).unwrap();
        }
        let record = r#"{"dataset":"vader","package":"p","sha256":"0","files":8,"bytes":1}"#;
        std::fs::write(vader.join("fetched.json"), record).unwrap();
        let folder = DatasetFolder::open(Some(dir.path())).unwrap();
        let mut asked = options(TaskShape::Choice);
        asked.n = 8;
        let task = Task::read(&folder, DatasetName::Vader, &asked).unwrap();
        assert!(task.rows.iter().all(|row| row.text != "meh"));
        assert_eq!(task.rows.iter().filter(|row| row.positive).count(), 4);
        asked.n = 3;
        asked.skip = 5;
        let rest = Task::read(&folder, DatasetName::Vader, &asked).unwrap();
        assert_eq!(rest.rows, task.rows[5..]);
        asked.n = 4;
        assert!(Task::read(&folder, DatasetName::Vader, &asked).is_err());
    }
}
