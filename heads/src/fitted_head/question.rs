//! The question that a head is fitted for, as it stands in the card.

use assize_preprocess::decision::{Content, Question, QuestionOption, Shape};
use serde::{Deserialize, Serialize};

/// A question with its options. JSON: `{"type": "choice", "question": "...", "options": [{"name": "spam"}, ...]}`,
/// `{"type": "predicate", "question": "..."}` or `{"type": "score", "question": "...", "levels": [...]}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum HeadQuestion {
    /// One of several options.
    Choice {
        /// The question in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Content>,
        /// The options, in their order.
        options: Vec<HeadOption>,
    },
    /// True or false.
    Predicate {
        /// The question in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Content>,
        /// What counts as true.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when_true: Option<Content>,
        /// What counts as false.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when_false: Option<Content>,
    },
    /// Ordered levels.
    Score {
        /// The question in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Content>,
        /// The levels, lowest first.
        levels: Vec<Content>,
    },
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadOption {
    /// Its name.
    pub name: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
}

impl From<&Question> for HeadQuestion {
    fn from(asked: &Question) -> Self {
        let question = asked.instructions.clone();
        match &asked.shape {
            Shape::Choice(options) => Self::Choice {
                question,
                options: options
                    .iter()
                    .map(|option| HeadOption {
                        name: option.name.clone(),
                        description: option.description.clone(),
                    })
                    .collect(),
            },
            Shape::Predicate {
                when_true,
                when_false,
            } => Self::Predicate {
                question,
                when_true: when_true.clone(),
                when_false: when_false.clone(),
            },
            Shape::Score(levels) => Self::Score {
                question,
                levels: levels.clone(),
            },
        }
    }
}

impl From<&HeadQuestion> for Question {
    fn from(stored: &HeadQuestion) -> Self {
        let (instructions, shape) = match stored.clone() {
            HeadQuestion::Choice { question, options } => {
                let option = |option: HeadOption| QuestionOption {
                    name: option.name,
                    description: option.description,
                };
                (question, Shape::Choice(options.into_iter().map(option).collect()))
            }
            HeadQuestion::Predicate {
                question,
                when_true,
                when_false,
            } => (
                question,
                Shape::Predicate {
                    when_true,
                    when_false,
                },
            ),
            HeadQuestion::Score { question, levels } => (question, Shape::Score(levels)),
        };
        Self { instructions, shape }
    }
}

impl HeadQuestion {
    /// The options' names in order: of a predicate false, then true; of a score the levels' texts.
    pub fn option_names(&self) -> Vec<String> {
        match self {
            Self::Choice { options, .. } => options.iter().map(|option| option.name.clone()).collect(),
            Self::Predicate { .. } => vec!["false".into(), "true".into()],
            Self::Score { levels, .. } => levels.iter().map(|level| level.to_text().into_owned()).collect(),
        }
    }

    /// The question in words, empty where there is none.
    pub fn text(&self) -> String {
        let (Self::Choice { question, .. } | Self::Predicate { question, .. } | Self::Score { question, .. }) =
            self;
        let text = question.as_ref().map(Content::to_text);
        text.map(std::borrow::Cow::into_owned).unwrap_or_default()
    }

    /// `choice`, `predicate` or `score`.
    pub fn shape_name(&self) -> &'static str {
        match self {
            Self::Choice { .. } => "choice",
            Self::Predicate { .. } => "predicate",
            Self::Score { .. } => "score",
        }
    }

    /// Why `asked` is not the question that the head is for; `None` where it is. Options are compared first.
    pub fn mismatch(&self, asked: &Self) -> Option<String> {
        if self == asked {
            return None;
        }
        let list = |question: &Self| format!("{} {:?}", question.shape_name(), question.option_names());
        if self.shape_name() != asked.shape_name() || self.option_names() != asked.option_names() {
            return Some(format!(
                "the options are {} and the head was fitted for {}",
                list(asked),
                list(self)
            ));
        }
        if self.text() != asked.text() {
            return Some(format!(
                "the question is {:?} and the head was fitted for {:?}",
                asked.text(),
                self.text()
            ));
        }
        Some(format!(
            "the descriptions of the options {:?} are not those that the head was fitted for",
            self.option_names()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str, names: &[&str]) -> HeadQuestion {
        HeadQuestion::Choice {
            question: Some(text.into()),
            options: names
                .iter()
                .map(|name| HeadOption {
                    name: (*name).to_owned(),
                    description: None,
                })
                .collect(),
        }
    }

    #[test]
    fn stored_form_and_back() {
        let predicate = HeadQuestion::Predicate {
            question: Some("Rain?".into()),
            when_true: Some("wet".into()),
            when_false: None,
        };
        let score = HeadQuestion::Score {
            question: None,
            levels: vec!["low".into(), "high".into()],
        };
        for (question, json) in [
            (
                choice("Spam?", &["spam", "ham"]),
                r#"{"type":"choice","question":"Spam?","options":[{"name":"spam"},{"name":"ham"}]}"#,
            ),
            (
                predicate,
                r#"{"type":"predicate","question":"Rain?","when_true":"wet"}"#,
            ),
            (score, r#"{"type":"score","levels":["low","high"]}"#),
        ] {
            assert_eq!(serde_json::to_string(&question).unwrap(), json);
            assert_eq!(serde_json::from_str::<HeadQuestion>(json).unwrap(), question);
            assert_eq!(HeadQuestion::from(&Question::from(&question)), question);
        }
    }

    #[test]
    fn what_differs_is_named_with_both_sides() {
        let fitted = choice("Spam?", &["spam", "ham"]);
        assert_eq!(fitted.mismatch(&fitted.clone()), None);
        for (asked, says) in [
            (
                choice("Spam?", &["ham", "spam"]),
                [r#"choice ["ham", "spam"]"#, r#"choice ["spam", "ham"]"#],
            ),
            (
                choice("Funny?", &["spam", "ham"]),
                [r#"is "Funny?""#, r#"for "Spam?""#],
            ),
        ] {
            let found = fitted.mismatch(&asked).unwrap();
            assert!(says.iter().all(|says| found.contains(says)), "{found}");
        }
        let mut described = fitted.clone();
        if let HeadQuestion::Choice { options, .. } = &mut described {
            options[0].description = Some("unwanted".into());
        }
        assert!(fitted.mismatch(&described).unwrap().contains("descriptions"));
        let predicate = HeadQuestion::Predicate {
            question: Some("Spam?".into()),
            when_true: None,
            when_false: None,
        };
        assert!(
            choice("Spam?", &["false", "true"])
                .mismatch(&predicate)
                .unwrap()
                .contains("predicate")
        );
    }
}
