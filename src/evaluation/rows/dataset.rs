//! The data sets that are known by name, as labelled rows.

use std::str::FromStr;

use assize_preprocess::decision::{Content, Decision, Question, Shape};
use assize_preprocess::prompt::{PREDICATE_FALSE, PREDICATE_TRUE};
use serde::{Deserialize, Serialize};

use super::{Gold, LabelledRow, RowOptions, RowsError};
use crate::bench::CLEAR_RATING;
use crate::datasets::{
    DatasetFolder, DatasetName, MailLabel, MailText, SpamAssassin, Vader, hash_order, mail_text,
};

/// How a data set's question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetQuestion {
    /// Two named options: spam or ham, positive or negative.
    #[default]
    Choice,
    /// True or false: is it spam, is it positive?
    Predicate,
    /// Five levels of sentiment, with the ratings of people as gold; VADER only.
    Score,
}

impl FromStr for DatasetQuestion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "choice" => Ok(DatasetQuestion::Choice),
            "predicate" => Ok(DatasetQuestion::Predicate),
            "score" => Ok(DatasetQuestion::Score),
            other => Err(format!(
                "unknown question {other:?}: use choice, predicate or score"
            )),
        }
    }
}

/// Levels of sentiment, lowest first, with the ratings of -4 to 4 that belong to each.
const SENTIMENT: [(&str, [i8; 2]); 5] = [
    ("very negative", [-4, -3]),
    ("negative", [-2, -1]),
    ("neutral", [0, 0]),
    ("positive", [1, 2]),
    ("very positive", [3, 4]),
];

/// A row before its text is looked at: mails are turned into text one by one.
struct Raw {
    id: String,
    group: Option<&'static str>,
    text: RawText,
    gold: Gold,
}

enum RawText {
    Mail(Vec<u8>),
    Text(String),
}

/// Rows of a data set, in the order of [`hash_order`].
pub struct DatasetRows {
    rows: std::vec::IntoIter<Raw>,
    question: Question,
    options: RowOptions,
    row: usize,
}

impl DatasetRows {
    /// Reads a data set that was fetched. Of VADER, choice and predicate take texts with a mean rating of at least 1 or at most
    /// -1, as `assize bench zero-shot` does, and score takes all; groups are its four sources.
    ///
    /// # Errors
    /// It was not fetched, is damaged, or has no such question.
    pub fn read(
        folder: &DatasetFolder,
        name: DatasetName,
        asked: DatasetQuestion,
        options: &RowOptions,
    ) -> Result<Self, RowsError> {
        let path = folder.require(name)?;
        let mut rows: Vec<Raw> = match name {
            DatasetName::SpamAssassin => SpamAssassin::read(&path)?
                .mails
                .into_iter()
                .map(|mail| Raw {
                    id: mail.id,
                    group: None,
                    text: RawText::Mail(mail.bytes),
                    gold: Gold::option(positive(asked, mail.label == MailLabel::Spam)),
                })
                .collect(),
            DatasetName::Vader => Vader::read(&path)?
                .texts
                .into_iter()
                .filter(|text| asked == DatasetQuestion::Score || text.mean.abs() >= CLEAR_RATING)
                .map(|text| Raw {
                    id: text.id,
                    group: Some(text.set.as_str()),
                    gold: match asked {
                        DatasetQuestion::Score => Gold::ratings(by_level(&text.ratings)),
                        _ => Gold::option(positive(asked, text.mean > 0.0)),
                    },
                    text: RawText::Text(text.text),
                })
                .collect(),
        };
        rows.sort_by_cached_key(|row| (hash_order(&row.id), row.id.clone()));
        Ok(Self {
            rows: rows.into_iter(),
            question: question(name, asked, options)?,
            options: options.clone(),
            row: 0,
        })
    }
}

impl Iterator for DatasetRows {
    type Item = LabelledRow;

    fn next(&mut self) -> Option<LabelledRow> {
        let raw = self.rows.next()?;
        self.row += 1;
        let text = match raw.text {
            RawText::Mail(bytes) => mail_text(&bytes, MailText::SubjectBody),
            RawText::Text(text) => text,
        };
        Some(LabelledRow {
            id: raw.id,
            row: self.row,
            group: raw.group.map(str::to_owned),
            media: Vec::new(),
            decision: Decision {
                state: Content::Text(text),
                questions: vec![self.question.clone()],
            },
            settings: self.options.settings,
            gold: raw.gold,
        })
    }
}

fn positive(asked: DatasetQuestion, is_positive: bool) -> usize {
    match (asked, is_positive) {
        (DatasetQuestion::Predicate, true) => PREDICATE_TRUE,
        (DatasetQuestion::Predicate, false) => PREDICATE_FALSE,
        // The positive answer is the first option.
        (_, true) => 0,
        (_, false) => 1,
    }
}

fn by_level(ratings: &[i8]) -> Vec<f64> {
    let count = |[low, high]: [i8; 2]| {
        ratings
            .iter()
            .filter(|rating| (low..=high).contains(*rating))
            .count() as f64
    };
    SENTIMENT.iter().map(|(_, range)| count(*range)).collect()
}

/// The wording of `assize bench zero-shot`, unless other words are given.
fn question(name: DatasetName, asked: DatasetQuestion, options: &RowOptions) -> Result<Question, RowsError> {
    let words = match (name, asked) {
        (DatasetName::SpamAssassin, DatasetQuestion::Choice) => "Is this e-mail spam or ham?",
        (DatasetName::SpamAssassin, DatasetQuestion::Predicate) => "Is this e-mail spam?",
        (DatasetName::SpamAssassin, DatasetQuestion::Score) => {
            return Err(RowsError::Setting(
                "spam-assassin has no question of type score: use choice or predicate".into(),
            ));
        }
        (DatasetName::Vader, DatasetQuestion::Choice) => {
            "Is the sentiment of this text positive or negative?"
        }
        (DatasetName::Vader, DatasetQuestion::Predicate) => "Is the sentiment of this text positive?",
        (DatasetName::Vader, DatasetQuestion::Score) => "How positive is the sentiment of this text?",
    };
    let defaults: &[&str] = match (name, asked) {
        (_, DatasetQuestion::Predicate) => &[],
        (_, DatasetQuestion::Score) => &SENTIMENT.map(|(level, _)| level),
        (DatasetName::SpamAssassin, _) => &["spam", "ham"],
        (DatasetName::Vader, _) => &["positive", "negative"],
    };
    let given = if asked == DatasetQuestion::Score {
        &options.levels
    } else {
        &options.options
    };
    let names: Vec<String> = if given.is_empty() {
        defaults.iter().map(|name| (*name).to_owned()).collect()
    } else if given.len() == defaults.len() {
        given.clone()
    } else {
        return Err(RowsError::Setting(format!(
            "{} options were given for {name}, whose question has {}: give those in other words, in this order: {}",
            given.len(),
            defaults.len(),
            defaults.join(", ")
        )));
    };
    let kind = match asked {
        DatasetQuestion::Choice => super::RowShape::Choice,
        DatasetQuestion::Predicate => super::RowShape::Predicate,
        DatasetQuestion::Score => super::RowShape::Score,
    };
    let (choices, levels) = match asked {
        DatasetQuestion::Choice => (Some(names), None),
        DatasetQuestion::Predicate => (None, None),
        DatasetQuestion::Score => (None, Some(names)),
    };
    let shape: Shape = super::options::shape(Some(kind), choices, levels)
        .map_err(|(field, message)| RowsError::Setting(format!("{}: {message}", field.name())))?;
    Ok(Question {
        instructions: Some(Content::Text(
            options.question.clone().unwrap_or_else(|| words.to_owned()),
        )),
        shape,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rating_belongs_to_one_level() {
        let ratings: Vec<i8> = (-4..=4).collect();
        assert_eq!(by_level(&ratings), [2.0, 2.0, 1.0, 2.0, 2.0]);
        assert_eq!(by_level(&[4, 3, 0, -1]), [0.0, 1.0, 1.0, 0.0, 2.0]);
    }

    #[test]
    fn wordings_fit_their_gold_answers() {
        let options = RowOptions::default();
        let asked = question(DatasetName::SpamAssassin, DatasetQuestion::Choice, &options).unwrap();
        let Shape::Choice(names) = asked.shape else {
            panic!()
        };
        assert_eq!(names[positive(DatasetQuestion::Choice, true)].name, "spam");
        assert!(question(DatasetName::SpamAssassin, DatasetQuestion::Score, &options).is_err());
        let three = RowOptions {
            options: vec!["a".into(), "b".into(), "c".into()],
            ..RowOptions::default()
        };
        assert!(question(DatasetName::Vader, DatasetQuestion::Choice, &three).is_err());
        let other = RowOptions {
            question: Some("Happy?".into()),
            options: vec!["yes".into(), "no".into()],
            ..RowOptions::default()
        };
        let asked = question(DatasetName::Vader, DatasetQuestion::Choice, &other).unwrap();
        assert_eq!(asked.instructions, Some("Happy?".into()));
    }

    #[test]
    fn vader_is_asked_in_three_ways() {
        let dir = tempfile::tempdir().unwrap();
        let vader = dir.path().join("vader");
        std::fs::create_dir(&vader).unwrap();
        for prefix in [
            "tweets",
            "movieReviewSnippets",
            "amazonReviewSnippets",
            "nytEditorialSnippets",
        ] {
            let texts = "1\t1\tgood\n2\t0.5\tmeh\n3\t-1.5\tbad\n";
            let ratings = "1\t1\t0\t[1, 1]\n2\t0.5\t0\t[0, 1]\n3\t-1.5\t0\t[-4, 1]\n";
            std::fs::write(vader.join(format!("{prefix}_GroundTruth.txt")), texts).unwrap();
            std::fs::write(vader.join(format!("{prefix}_anonDataRatings.txt")), ratings).unwrap();
        }
        let record = r#"{"dataset":"vader","package":"p","sha256":"0","files":8,"bytes":1}"#;
        std::fs::write(vader.join("fetched.json"), record).unwrap();
        let folder = DatasetFolder::open(Some(dir.path())).unwrap();
        let read = |asked| {
            let rows = DatasetRows::read(&folder, DatasetName::Vader, asked, &RowOptions::default()).unwrap();
            rows.collect::<Vec<LabelledRow>>()
        };
        let choice = read(DatasetQuestion::Choice);
        assert_eq!(choice.len(), 8, "texts without a clear sign are left out");
        for (place, row) in choice.iter().enumerate() {
            let good = row.decision.state == Content::from("good");
            let gold = row.gold.label().unwrap();
            assert_eq!(row.options()[gold], if good { "positive" } else { "negative" });
            assert_eq!(
                (row.row, row.group.as_deref()),
                (place + 1, row.id.split('/').next())
            );
        }
        let order: Vec<u64> = choice.iter().map(|row| hash_order(&row.id)).collect();
        assert!(order.is_sorted());
        for row in read(DatasetQuestion::Predicate) {
            let good = row.decision.state == Content::from("good");
            assert_eq!(
                row.options()[row.gold.label().unwrap()],
                if good { "true" } else { "false" }
            );
        }
        let score = read(DatasetQuestion::Score);
        assert_eq!(score.len(), 12);
        for row in score {
            let expected: &[f64] = match row.decision.state.to_text().as_ref() {
                "good" => &[0.0, 0.0, 0.0, 2.0, 0.0],
                "meh" => &[0.0, 0.0, 1.0, 1.0, 0.0],
                _ => &[1.0, 0.0, 0.0, 1.0, 0.0],
            };
            assert_eq!(row.gold.weights(), Some(expected));
            assert_eq!(row.options()[3], "positive");
        }
    }
}
