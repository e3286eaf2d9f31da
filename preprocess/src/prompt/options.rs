//! A question's options as the prompt shows them, and the checks on them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::PromptForm;
use super::form::ShapeForm;
use crate::PromptError;
use crate::decision::{Content, MAX_OPTIONS, Question, QuestionOption, Shape};

/// One option, before it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownOption<'a> {
    /// The option's own text.
    pub(super) name: Cow<'a, str>,
    /// Its description, where there is one that is not empty.
    pub(super) description: Option<Cow<'a, str>>,
}

/// A checked question.
#[derive(Debug)]
pub(super) struct AskedQuestion<'a> {
    pub(super) form: &'a ShapeForm,
    pub(super) instructions: Cow<'a, str>,
    pub(super) options: Vec<ShownOption<'a>>,
    /// The caller's option at each shown place, before any rotation.
    pub(super) order: Vec<usize>,
}

impl<'a> AskedQuestion<'a> {
    /// Checks `question` and brings all shapes to one list of options.
    pub(super) fn new(
        form: &'a PromptForm,
        question: &'a Question,
        index: usize,
    ) -> Result<Self, PromptError> {
        let instructions = question
            .instructions
            .as_ref()
            .map(Content::to_text)
            .filter(|text| !text.trim().is_empty());
        let (shape_form, options, order) = match &question.shape {
            Shape::Choice(options) => {
                check_count(index, options.len(), "options")?;
                check_names(index, options)?;
                let shown = options.iter().map(|option| ShownOption {
                    name: Cow::Borrowed(option.name.as_str()),
                    description: description(option.description.as_ref()),
                });
                (&form.choice, shown.collect::<Vec<_>>(), None)
            }
            Shape::Predicate {
                when_true,
                when_false,
            } => {
                let (when_true, when_false) =
                    (description(when_true.as_ref()), description(when_false.as_ref()));
                if instructions.is_none() && when_true.is_none() && when_false.is_none() {
                    return Err(PromptError::Question {
                        question: index,
                        reason: "a predicate needs `instructions`, or a criterion for true or for false"
                            .into(),
                    });
                }
                let shown = |text: &'a str, description| ShownOption {
                    name: Cow::Borrowed(text),
                    description,
                };
                let options = vec![
                    shown(&form.false_text, when_false),
                    shown(&form.true_text, when_true),
                ];
                // "Yes or No" is how people ask.
                let order = vec![super::PREDICATE_TRUE, super::PREDICATE_FALSE];
                (&form.predicate, options, Some(order))
            }
            Shape::Score(levels) => {
                check_count(index, levels.len(), "levels")?;
                let mut options = Vec::with_capacity(levels.len());
                for (level, content) in levels.iter().enumerate() {
                    let name = content.to_text();
                    if name.is_empty() {
                        return Err(PromptError::Option {
                            question: index,
                            option: level,
                            reason: "the level's text is empty: say what this level means".into(),
                        });
                    }
                    options.push(ShownOption {
                        name,
                        description: None,
                    });
                }
                (&form.score, options, None)
            }
        };
        Ok(Self {
            form: shape_form,
            instructions: instructions.unwrap_or(Cow::Borrowed(&shape_form.no_instructions)),
            order: order.unwrap_or_else(|| (0..options.len()).collect()),
            options,
        })
    }
}

fn description(content: Option<&Content>) -> Option<Cow<'_, str>> {
    content
        .map(Content::to_text)
        .filter(|text| !text.trim().is_empty())
}

fn check_count(question: usize, count: usize, what: &str) -> Result<(), PromptError> {
    if (1..=MAX_OPTIONS).contains(&count) {
        return Ok(());
    }
    Err(PromptError::Question {
        question,
        reason: format!("it has {count} {what}: give 1 to {MAX_OPTIONS}"),
    })
}

fn check_names(question: usize, options: &[QuestionOption]) -> Result<(), PromptError> {
    let mut seen = HashMap::with_capacity(options.len());
    for (index, option) in options.iter().enumerate() {
        let error = |reason| PromptError::Option {
            question,
            option: index,
            reason,
        };
        if option.name.is_empty() {
            return Err(error("its name is empty: every option needs a name".into()));
        }
        if let Some(first) = seen.insert(option.name.as_str(), index) {
            return Err(error(format!(
                "its name {} is also that of option {first}: names must differ",
                clipped(&option.name)
            )));
        }
    }
    Ok(())
}

/// A name in an error message: quoted, at most 80 characters.
fn clipped(name: &str) -> String {
    match name.char_indices().nth(80) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}...", name.get(..end).unwrap_or_default()),
    }
}

/// An option name or description as a listing shows it: unchanged where it is one line, else as a JSON string.
///
/// A line break in a name could otherwise forge another option's line, and a name of spaces would be invisible. Quoted
/// are texts with a line break or another control character, with spaces at an end, or with a quotation mark at the
/// start (so that no two names look the same). The model still reads the whole text, and the option's own text as an
/// answer is never quoted.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    let breaks = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    if name.contains(breaks) || name.trim() != name || name.starts_with('"') {
        // `{:?}` of serde_json: a JSON string. It leaves the Unicode separators as they are; they are written out too.
        let quoted = serde_json::Value::from(name).to_string();
        let quoted = quoted
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
            .replace('\u{85}', "\\u0085");
        return Cow::Owned(quoted);
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay() {
        for name in ["spam", "Not spam", "a: b", "日本", "don't \"x\"", "- x"] {
            assert_eq!(shown_name(name), name);
        }
        assert_eq!(shown_name("a\n- b"), r#""a\n- b""#);
        assert_eq!(shown_name(" "), r#"" ""#);
        assert_eq!(shown_name("a\u{2028}b\u{85}"), r#""a\u2028b\u0085""#);
    }

    proptest! {
        #[test]
        fn one_line_and_distinct(a in "[\"\\\\ nab\n\r\u{2028}\u{85}\u{0}]{1,6}", b in "[\"\\\\ nab\n\r\u{2028}\u{85}\u{0}]{1,6}") {
            let shown = shown_name(&a);
            prop_assert_eq!(shown.lines().count(), 1);
            let breaks = shown.contains(['\n', '\r', '\u{2028}', '\u{85}', '\u{b}', '\u{c}']);
            prop_assert!(!breaks);
            if a != b {
                prop_assert_ne!(shown, shown_name(&b));
            }
        }
    }
}
