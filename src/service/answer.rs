//! Answers: probabilities in the caller's order, and what follows from them.

use assize_calibration::{Probability, choice_confidence, expected_level, score_confidence, softmax};
use assize_heads::QuestionScores;
use assize_preprocess::decision::{Content, Question, Shape};
use assize_preprocess::prompt::PREDICATE_TRUE;

use super::ServiceError;
use super::calibration;
use super::calibration_file::{Asked, CalibrationFile};

/// One option with its probability.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionProbability {
    /// The probability: calibrated where a calibration is loaded, else raw.
    pub probability: Probability,
    /// The probability before calibration: the softmax of the scores.
    pub raw_probability: Probability,
    /// The readout's score, in log space, before the softmax.
    pub raw_score: f32,
}

/// What the answer says, by the kind of question.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerKind {
    /// The most probable option, the first of equals.
    Choice {
        /// Its index in the caller's order.
        choice: usize,
        /// The options' names, in the caller's order.
        names: Vec<String>,
    },
    /// P(true).
    Predicate {
        /// The probability of true.
        probability: Probability,
    },
    /// A position on ordered levels.
    Score {
        /// The expected level, counted from 0.
        score: f64,
        /// The most probable level, the lowest of equals.
        level: usize,
        /// The levels as the caller described them.
        levels: Vec<Content>,
    },
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it says.
    pub kind: AnswerKind,
    /// How peaked the probabilities are: 1 on one option, 0 uniform.
    pub confidence: f64,
    /// Share of the model's next-token mass that fell on the options, where it is defined.
    pub option_mass: Option<f32>,
    /// Option orders that were averaged over.
    pub orders: usize,
    /// One per option, in the caller's order; for a predicate false, then true.
    pub options: Vec<OptionProbability>,
}

impl Answer {
    pub(super) fn new(
        question: &Question,
        scores: &QuestionScores,
        calibration: Option<&CalibrationFile>,
    ) -> Result<Self, ServiceError> {
        let asked = calibration::options(question);
        if asked != scores.scores.len() {
            return Err(ServiceError::Mismatch {
                what: "options",
                asked,
                scored: scores.scores.len(),
            });
        }
        let raw = softmax(&scores.scores)?;
        let probabilities = match calibration {
            Some(file) => {
                let (options, text) = (calibration::names(question), calibration::text(question));
                let asked = Asked {
                    shape: calibration::shape(question),
                    options: &options,
                    text: &text,
                };
                file.apply(&scores.scores, asked)?
            }
            None => raw.clone(),
        };
        let most_probable = first_largest(&probabilities);
        let (kind, confidence) = match &question.shape {
            Shape::Choice(options) => (
                AnswerKind::Choice {
                    choice: most_probable,
                    names: options.iter().map(|option| option.name.clone()).collect(),
                },
                choice_confidence(&probabilities),
            ),
            Shape::Predicate { .. } => {
                let probability =
                    probabilities
                        .get(PREDICATE_TRUE)
                        .copied()
                        .ok_or(ServiceError::Mismatch {
                            what: "options",
                            asked,
                            scored: probabilities.len(),
                        })?;
                (
                    AnswerKind::Predicate { probability },
                    choice_confidence(&probabilities),
                )
            }
            Shape::Score(levels) => (
                AnswerKind::Score {
                    score: expected_level(&probabilities),
                    level: most_probable,
                    levels: levels.clone(),
                },
                score_confidence(&probabilities),
            ),
        };
        Ok(Self {
            kind,
            confidence,
            option_mass: scores.option_mass,
            orders: scores.orders,
            options: probabilities
                .into_iter()
                .zip(raw)
                .zip(&scores.scores)
                .map(|((probability, raw_probability), score)| OptionProbability {
                    probability,
                    raw_probability,
                    raw_score: *score,
                })
                .collect(),
        })
    }
}

fn first_largest(probabilities: &[Probability]) -> usize {
    let mut best = (0, Probability::ZERO);
    for (index, probability) in probabilities.iter().enumerate() {
        if *probability > best.1 {
            best = (index, *probability);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use assize_preprocess::decision::QuestionOption;

    use super::*;

    fn scores(values: &[f32]) -> QuestionScores {
        QuestionScores {
            scores: values.to_vec(),
            option_mass: Some(0.5),
            orders: 1,
        }
    }

    #[test]
    fn a_choice_takes_the_first_of_equals() {
        let option = |name: &str| QuestionOption {
            name: name.into(),
            description: None,
        };
        let question = Question {
            instructions: None,
            shape: Shape::Choice(vec![option("a"), option("b"), option("c")]),
        };
        let answer = Answer::new(&question, &scores(&[0.0, 2.0, 2.0]), None).unwrap();
        assert!(matches!(answer.kind, AnswerKind::Choice { choice: 1, .. }));
        assert_eq!(answer.options[1].raw_score, 2.0);
        assert!(Answer::new(&question, &scores(&[0.0, 2.0]), None).is_err());
        assert!(Answer::new(&question, &scores(&[0.0, 2.0, f32::NAN]), None).is_err());
    }

    #[test]
    fn a_predicate_is_the_probability_of_true() {
        let question = Question {
            instructions: None,
            shape: Shape::Predicate {
                when_true: None,
                when_false: None,
            },
        };
        let mut both = [0.0; 2];
        both[PREDICATE_TRUE] = 3.0_f32.ln();
        let answer = Answer::new(&question, &scores(&both), None).unwrap();
        let AnswerKind::Predicate { probability } = answer.kind else {
            panic!("{answer:?}")
        };
        assert!((probability.get() - 0.75).abs() < 1e-6);
        assert!((answer.confidence - 0.5).abs() < 1e-6);
    }

    #[test]
    fn a_calibration_changes_the_answer_and_leaves_what_was_raw() {
        let question = Question {
            instructions: None,
            shape: Shape::Predicate {
                when_true: None,
                when_false: None,
            },
        };
        let mut both = [0.0; 2];
        both[PREDICATE_TRUE] = 3.0_f32.ln();
        let json = r#"{"version":1,"argmax":"kept","map":{"kind":"temperature","temperature":0.5}}"#;
        let file = CalibrationFile::new(None, serde_json::from_str(json).unwrap());
        let answer = Answer::new(&question, &scores(&both), Some(&file)).unwrap();
        let AnswerKind::Predicate { probability } = answer.kind else {
            panic!("{answer:?}")
        };
        assert!((probability.get() - 0.9).abs() < 1e-6);
        assert!((answer.confidence - 0.8).abs() < 1e-6);
        let option = &answer.options[PREDICATE_TRUE];
        assert_eq!(option.probability, probability);
        assert!((option.raw_probability.get() - 0.75).abs() < 1e-6);
        assert_eq!(option.raw_score, 3.0_f32.ln());
    }

    #[test]
    fn a_score_is_the_expected_level() {
        let question = Question {
            instructions: None,
            shape: Shape::Score(vec!["low".into(), "mid".into(), "high".into()]),
        };
        let answer = Answer::new(&question, &scores(&[0.0, 0.0, 2.0_f32.ln()]), None).unwrap();
        let AnswerKind::Score { score, level, .. } = answer.kind else {
            panic!("{answer:?}")
        };
        assert!((score - 1.25).abs() < 1e-6);
        assert_eq!(level, 2);
    }
}
