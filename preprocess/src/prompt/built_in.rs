//! Built-in forms: a frame (what a model family puts around turns) times a wording, and forms of single checkpoints.
//!
//! Which one is a model's default is a matter of measurement and stands in the model's card.

use super::PromptForm;
use super::form::{RawForm, RawShape, default_gap, yes};
use super::trim::Trim;
use crate::PromptError;

/// What a model family puts around the user's text and the answer.
struct Frame {
    name: &'static str,
    special_tokens: &'static [&'static str],
    /// Before the state.
    open: &'static str,
    /// Between the question and the answer.
    turn: &'static str,
    /// What the answer starts with where nothing else leads to it.
    lead: &'static str,
    /// Behind the answer.
    end: &'static str,
}

const FRAMES: &[Frame] = &[
    Frame {
        name: "chatml",
        special_tokens: &["<|im_start|>", "<|im_end|>"],
        open: "<|im_start|>user\n",
        turn: "<|im_end|>\n<|im_start|>assistant\n",
        lead: "",
        end: "<|im_end|>",
    },
    // The system message that SmolLM2's own chat template adds.
    Frame {
        name: "smollm2",
        special_tokens: &["<|im_start|>", "<|im_end|>"],
        open: "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
               <|im_start|>user\n",
        turn: "<|im_end|>\n<|im_start|>assistant\n",
        lead: "",
        end: "<|im_end|>",
    },
    // Qwen3's own chat template writes an empty thought where thinking is off.
    Frame {
        name: "qwen3",
        special_tokens: &["<|im_start|>", "<|im_end|>", "<think>", "</think>"],
        open: "<|im_start|>user\n",
        turn: "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        lead: "",
        end: "<|im_end|>",
    },
    Frame {
        name: "gemma",
        special_tokens: &["<bos>", "<start_of_turn>", "<end_of_turn>"],
        open: "<bos><start_of_turn>user\n",
        turn: "<end_of_turn>\n<start_of_turn>model\n",
        lead: "",
        end: "<end_of_turn>",
    },
    Frame {
        name: "llama3",
        special_tokens: &[
            "<|begin_of_text|>",
            "<|start_header_id|>",
            "<|end_header_id|>",
            "<|eot_id|>",
        ],
        open: "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n",
        turn: "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        lead: "",
        end: "<|eot_id|>",
    },
    // For base models: no turns, a line each.
    Frame {
        name: "plain",
        special_tokens: &[],
        open: "",
        turn: "\nAnswer:",
        lead: " ",
        end: "\n",
    },
    Frame {
        name: "plain-bos",
        special_tokens: &["<bos>"],
        open: "<bos>",
        turn: "\nAnswer:",
        lead: " ",
        end: "\n",
    },
];

/// How the question is worded, and what the answer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    /// The options are not shown, but for those with a description; the option's own text is the answer.
    Answer,
    /// As `Answer`, behind "Text:" and "Question:".
    Question,
    /// As `Answer`, and the answer starts "The answer is".
    Sentence,
    /// No option is shown; a described one is answered by its description, all others by their own text.
    Described,
    /// As `Answer`, and the options are named in one line.
    Named,
    /// The options are listed, one a line; the option's own text is the answer.
    Listed,
    /// The options are listed with letters; the letter is the answer.
    Letters,
}

impl Wording {
    /// Version of the wording's forms: 1 showed no description of an option to a choice.
    fn version(self) -> u32 {
        match self {
            Self::Answer | Self::Question | Self::Sentence | Self::Named => 2,
            Self::Described | Self::Listed | Self::Letters => 1,
        }
    }
}

const WORDINGS: &[(Wording, &str)] = &[
    (Wording::Answer, "answer"),
    (Wording::Question, "question"),
    (Wording::Sentence, "sentence"),
    (Wording::Described, "described"),
    (Wording::Named, "named"),
    (Wording::Listed, "listed"),
    (Wording::Letters, "letters"),
];

/// Forms that a checkpoint was trained with, word for word, as JSON.
///
/// `jev-omni` shows a video as pictures; `jev-omni-native` shows it as the processor of Gemma 4 does, with the time of
/// each frame.
const TRAINED: &[(&str, &str)] = &[
    ("jev-omni", include_str!("forms/jev-omni.json")),
    ("jev-omni-native", include_str!("forms/jev-omni-native.json")),
];

impl PromptForm {
    /// Names of all built-in forms: `FRAME-WORDING`, for example `chatml-answer`, `plain-question`, `gemma-letters`,
    /// and those of single checkpoints, for example `jev-omni`.
    pub fn built_in_names() -> Vec<String> {
        pairs()
            .map(|(frame, _, wording)| format!("{}-{wording}", frame.name))
            .chain(TRAINED.iter().map(|(name, _)| (*name).to_owned()))
            .collect()
    }

    /// A built-in form by its name.
    ///
    /// # Errors
    /// No form has that name; the text lists the names.
    pub fn built_in(name: &str) -> Result<Self, PromptError> {
        if let Some((_, json)) = TRAINED.iter().find(|(trained, _)| *trained == name) {
            return Self::from_json(json.as_bytes());
        }
        pairs()
            .find(|(frame, _, wording)| {
                name.strip_prefix(frame.name)
                    .and_then(|rest| rest.strip_prefix('-'))
                    == Some(wording)
            })
            .map_or_else(
                || {
                    Err(PromptError::Form {
                        form: name.to_owned(),
                        field: "name",
                        reason: format!(
                            "no built-in form has it; there are {}",
                            Self::built_in_names().join(", ")
                        ),
                    })
                },
                |(frame, wording, _)| raw(name, frame, wording).try_into(),
            )
    }
}

fn pairs() -> impl Iterator<Item = (&'static Frame, Wording, &'static str)> {
    FRAMES.iter().flat_map(|frame| {
        WORDINGS
            .iter()
            .map(move |(wording, name)| (frame, *wording, *name))
    })
}

fn raw(name: &str, frame: &Frame, wording: Wording) -> RawForm {
    let framed = wording == Wording::Question || frame.special_tokens.len() < 2;
    let (before, asks) = if framed {
        ("Text: ", "Question: ")
    } else {
        ("", "")
    };
    let (turn, lead) = match wording {
        Wording::Sentence => (format!("{} The answer is", frame.turn), " "),
        _ => (frame.turn.to_owned(), frame.lead),
    };
    // Chat turns start without a space.
    let turn = turn.replace("\n The answer is", "\nThe answer is");
    let shape = |instructions: &str, no_instructions: &str, options_are: &str, one: &str| {
        let (shown, option_line, described_line) = match wording {
            Wording::Answer | Wording::Question | Wording::Sentence | Wording::Described => {
                (String::new(), "", None)
            }
            Wording::Named => ("\nAnswer with one of: {names}.".to_owned(), "", None),
            Wording::Listed => (
                format!("\n{options_are}:\n{{options}}Answer with one {one} only."),
                "- {option}\n",
                Some("- {option}: {description}\n"),
            ),
            Wording::Letters => (
                format!("\n{options_are}:\n{{options}}Answer with one letter only."),
                "{label}. {option}\n",
                Some("{label}. {option}: {description}\n"),
            ),
        };
        RawShape {
            question: format!("\n\n{asks}{instructions}{shown}{turn}"),
            no_instructions: no_instructions.to_owned(),
            option_line: option_line.to_owned(),
            described_line: described_line.map(str::to_owned),
            branch: format!("{lead}{{option}}{}", frame.end),
            described_branch: (wording == Wording::Described)
                .then(|| format!("{lead}{{description}}{}", frame.end)),
        }
    };
    let mut choice = shape(
        "{instructions}",
        "Which of the options fits the text best?",
        "Options",
        "option",
    );
    if wording.version() == 2 {
        // Without its description an option may mean nothing; without any, the prompt stays the bare question.
        show_described(&mut choice, "");
    }
    let score = shape(
        "{instructions}",
        "Which of the levels, from lowest to highest, fits the text best?",
        "Levels, from lowest to highest",
        "level",
    );
    let mut predicate = shape(
        "{instructions}",
        "Which of the two holds for the text?",
        "Options",
        "option",
    );
    if predicate.described_line.is_none() {
        // Criteria are shown even where options are not: without them the question is another one.
        let hint = if wording == Wording::Named {
            ""
        } else {
            "\nAnswer {names}."
        };
        show_described(&mut predicate, hint);
    }
    // The answer to a predicate stays yes or no, whatever its criteria.
    predicate.described_branch = None;
    RawForm {
        name: name.to_owned(),
        version: wording.version(),
        special_tokens: frame
            .special_tokens
            .iter()
            .map(|token| (*token).to_owned())
            .collect(),
        state: format!("{}{before}{{state}}", frame.open),
        choice,
        predicate,
        score,
        true_text: "Yes".into(),
        false_text: "No".into(),
        label: (wording == Wording::Letters).then(|| format!("{}{{label}}", frame.lead)),
        middle_gap: default_gap(),
        media: None,
        joined: false,
        trim: Trim::None,
        quoted_names: yes(),
    }
}

/// Shows the options that have a description behind the instructions, a line each, then `hint`.
fn show_described(shape: &mut RawShape, hint: &str) {
    let shown = format!("{{instructions}}{{options}}{hint}");
    shape.question = shape.question.replacen("{instructions}", &shown, 1);
    shape.described_line = Some("\n{option}: {description}".to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_valid_and_survives_json() {
        let names = PromptForm::built_in_names();
        assert_eq!(names.len(), 51);
        let mut fingerprints = std::collections::HashSet::new();
        for name in names {
            let form = PromptForm::built_in(&name).unwrap();
            assert_eq!(form.name(), name);
            let json = serde_json::to_vec(&form).unwrap();
            assert_eq!(PromptForm::from_json(&json).unwrap(), form);
            assert!(fingerprints.insert(form.fingerprint()));
        }
        assert!(
            PromptForm::built_in("chatml-nothing")
                .unwrap_err()
                .to_string()
                .contains("chatml-answer")
        );
    }
}
