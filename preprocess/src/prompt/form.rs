//! The prompt form: templates as validated data.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::media_form::MediaForm;
use super::template::{Slot, Template};
use super::trim::Trim;
use crate::PromptError;

/// Index of the option "false" of a predicate in scores and branches.
pub const PREDICATE_FALSE: usize = 0;
/// Index of the option "true" of a predicate in scores and branches.
pub const PREDICATE_TRUE: usize = 1;

/// How a decision is written for a model: serialisable, versioned templates.
///
/// As JSON it has the fields below; unknown fields are errors. Slots are written `{slot}`, braces `{{` and `}}`.
///
/// | field | meaning | slots |
/// |---|---|---|
/// | `name`, `version` | identity | |
/// | `special_tokens` | texts in the templates that stand for special tokens of the tokenizer | |
/// | `state` | the prefix that all questions share | `{state}` exactly once, `{media}` where the form shows media |
/// | `choice`, `predicate`, `score` | the question, by its shape (below) | |
/// | `true_text`, `false_text` | the options of a predicate | |
/// | `label` | optional: a label as it stands behind the question, one token | `{label}` exactly once |
/// | `middle_gap` | optional: text in place of a state's dropped middle | |
/// | `media` | optional: the media that the form shows ([`MediaForm`]) | |
/// | `joined` | optional, true: state and question are tokenised as one text | |
/// | `trim` | optional, `"python"`: white space is cut as Python's `str.strip` does off the text between `{media}` and the next special token; for joined forms | |
/// | `quoted_names` | optional, false: option names with line breaks or outer spaces are listed as they are, not as JSON strings | |
///
/// The fields of a question shape:
///
/// | field | meaning | slots |
/// |---|---|---|
/// | `question` | what follows the state, up to where the answer starts | `{instructions}`, `{options}`, `{names}`, `{labels}`, `{count}` |
/// | `no_instructions` | the instructions where the caller gave none | |
/// | `option_line` | optional: what `{options}` shows of one option | `{option}`, `{label}`, `{index}`, `{number}` |
/// | `described_line` | optional: the same for an option with a description | and `{description}` |
/// | `branch` | an option's own text as the answer, terminator included | `{option}`, `{label}`, `{index}` |
/// | `described_branch` | optional: the same for an option with a description | and `{description}` |
///
/// `{names}` lists the options in one line ("a, b or c"), `{labels}` their labels; `{index}` counts the caller's
/// options from 0, which is the level of a score; `{number}` counts the shown places from 1, `{count}` is their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawForm", into = "RawForm")]
pub struct PromptForm {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) special_tokens: Vec<String>,
    pub(super) state: Template,
    pub(super) choice: ShapeForm,
    pub(super) predicate: ShapeForm,
    pub(super) score: ShapeForm,
    pub(super) true_text: String,
    pub(super) false_text: String,
    pub(super) label: Option<Template>,
    pub(super) middle_gap: String,
    pub(super) media: Option<MediaForm>,
    pub(super) joined: bool,
    pub(super) trim: Trim,
    pub(super) quoted_names: bool,
}

/// How one question shape is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShapeForm {
    pub(super) question: Template,
    pub(super) no_instructions: String,
    pub(super) option_line: Template,
    pub(super) described_line: Option<Template>,
    pub(super) branch: Template,
    pub(super) described_branch: Option<Template>,
}

/// The form as it stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawForm {
    pub(super) name: String,
    pub(super) version: u32,
    #[serde(default)]
    pub(super) special_tokens: Vec<String>,
    pub(super) state: String,
    pub(super) choice: RawShape,
    pub(super) predicate: RawShape,
    pub(super) score: RawShape,
    pub(super) true_text: String,
    pub(super) false_text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(default = "default_gap")]
    pub(super) middle_gap: String,
    // Left out where they say nothing, so that forms without them keep their fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media: Option<MediaForm>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) joined: bool,
    #[serde(default, skip_serializing_if = "trims_nothing")]
    pub(super) trim: Trim,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub(super) quoted_names: bool,
}

fn trims_nothing(trim: &Trim) -> bool {
    *trim == Trim::None
}

pub(super) fn yes() -> bool {
    true
}

/// One shape as it stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShape {
    pub(super) question: String,
    pub(super) no_instructions: String,
    #[serde(default)]
    pub(super) option_line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) described_line: Option<String>,
    pub(super) branch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) described_branch: Option<String>,
}

pub(super) fn default_gap() -> String {
    "\n...\n".into()
}

impl PromptForm {
    /// Reads a form from JSON.
    ///
    /// # Errors
    /// The JSON is no form, has unknown fields, or a template is not valid; the text names the field.
    pub fn from_json(json: &[u8]) -> Result<Self, PromptError> {
        let raw: RawForm = serde_json::from_slice(json).map_err(|error| PromptError::Form {
            form: String::new(),
            field: "(JSON)",
            reason: error.to_string(),
        })?;
        raw.try_into()
    }

    /// The form's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form's version: a changed template is a new version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Whether options carry one-token labels, which a label readout needs.
    pub fn has_labels(&self) -> bool {
        self.label.is_some()
    }

    /// The media that the form shows, `None` where it shows text only.
    pub fn media(&self) -> Option<&MediaForm> {
        self.media.as_ref()
    }

    /// Whether state and question are tokenised as one text; such a form has no prior.
    pub fn is_joined(&self) -> bool {
        self.joined
    }

    /// sha256 (hex) of the form's canonical JSON.
    pub fn fingerprint(&self) -> String {
        // A struct of strings and numbers always serialises.
        let json = serde_json::to_vec(self).unwrap_or_default();
        hex::encode(Sha256::digest(json))
    }
}

impl TryFrom<RawForm> for PromptForm {
    type Error = PromptError;

    fn try_from(raw: RawForm) -> Result<Self, PromptError> {
        let form = raw.name;
        let error = |field: &'static str, reason: &str| PromptError::Form {
            form: form.clone(),
            field,
            reason: reason.to_owned(),
        };
        if form.is_empty() {
            return Err(error("name", "is empty"));
        }
        if raw.special_tokens.iter().any(String::is_empty) {
            return Err(error("special_tokens", "holds an empty text"));
        }
        let specials = raw.special_tokens;
        let parse = |field, source, allowed: &[Slot]| {
            Template::parse(source, &specials, allowed).map_err(|reason| error(field, &reason))
        };
        let mut of_state = vec![Slot::State];
        if let Some(media) = &raw.media {
            media.check(&form)?;
            of_state.push(Slot::Media);
        }
        let state = parse("state", raw.state, &of_state)?;
        if state.count(Slot::State) != 1 {
            return Err(error("state", "must hold {state} exactly once"));
        }
        if raw.media.is_some() && state.count(Slot::Media) != 1 {
            return Err(error(
                "state",
                "must hold {media} exactly once, since `media` is given",
            ));
        }
        if raw.trim != Trim::None && !(raw.joined && raw.media.is_some()) {
            return Err(error("trim", "needs `joined` and `media`: it starts at {media}"));
        }
        let label = raw
            .label
            .map(|label| parse("label", label, &[Slot::Label]))
            .transpose()?;
        if label
            .as_ref()
            .is_some_and(|label| label.count(Slot::Label) != 1 || label.has_special())
        {
            return Err(error(
                "label",
                "must hold {label} exactly once, and no special token",
            ));
        }
        if raw.true_text.trim().is_empty()
            || raw.false_text.trim().is_empty()
            || raw.true_text == raw.false_text
        {
            return Err(error(
                "true_text",
                "must differ from `false_text`, and neither may be empty",
            ));
        }
        let labelled = label.is_some();
        let shape = |raw: RawShape, fields: &ShapeFields| -> Result<ShapeForm, PromptError> {
            shape_form(raw, fields, labelled, &parse, &error)
        };
        Ok(Self {
            choice: shape(raw.choice, &CHOICE)?,
            predicate: shape(raw.predicate, &PREDICATE)?,
            score: shape(raw.score, &SCORE)?,
            version: raw.version,
            state,
            label,
            true_text: raw.true_text,
            false_text: raw.false_text,
            middle_gap: raw.middle_gap,
            media: raw.media,
            joined: raw.joined,
            trim: raw.trim,
            quoted_names: raw.quoted_names,
            name: form.clone(),
            special_tokens: specials.clone(),
        })
    }
}

/// The full names of a shape's fields, for error messages.
struct ShapeFields {
    question: &'static str,
    option_line: &'static str,
    described_line: &'static str,
    branch: &'static str,
    described_branch: &'static str,
}

macro_rules! shape_fields {
    ($shape:literal) => {
        ShapeFields {
            question: concat!($shape, ".question"),
            option_line: concat!($shape, ".option_line"),
            described_line: concat!($shape, ".described_line"),
            branch: concat!($shape, ".branch"),
            described_branch: concat!($shape, ".described_branch"),
        }
    };
}

const CHOICE: ShapeFields = shape_fields!("choice");
const PREDICATE: ShapeFields = shape_fields!("predicate");
const SCORE: ShapeFields = shape_fields!("score");

fn shape_form(
    raw: RawShape,
    fields: &ShapeFields,
    labelled: bool,
    parse: &impl Fn(&'static str, String, &[Slot]) -> Result<Template, PromptError>,
    error: &impl Fn(&'static str, &str) -> PromptError,
) -> Result<ShapeForm, PromptError> {
    let mut of_question = vec![Slot::Instructions, Slot::Options, Slot::Names, Slot::Count];
    let mut of_option = vec![Slot::Option, Slot::Index, Slot::Number];
    if labelled {
        of_question.push(Slot::Labels);
        of_option.push(Slot::Label);
    }
    let mut of_described = of_option.clone();
    of_described.push(Slot::Description);

    let question = parse(fields.question, raw.question, &of_question)?;
    if question.count(Slot::Instructions) == 0 {
        return Err(error(fields.question, "must hold {instructions}"));
    }
    if !question.has_literal() {
        return Err(error(fields.question, "must hold some text of its own"));
    }
    let line = |field, source| -> Result<Template, PromptError> {
        let template: Template = parse(field, source, &of_described)?;
        if template.has_special() {
            return Err(error(field, "must hold no special token"));
        }
        Ok(template)
    };
    let option_line = parse(fields.option_line, raw.option_line, &of_option)?;
    if option_line.has_special() {
        return Err(error(fields.option_line, "must hold no special token"));
    }
    let described_line = raw
        .described_line
        .map(|source| line(fields.described_line, source))
        .transpose()?;
    let branch = parse(fields.branch, raw.branch, &of_option)?;
    let described_branch = raw
        .described_branch
        .map(|source| parse(fields.described_branch, source, &of_described))
        .transpose()?;
    for (field, template) in [
        (fields.branch, Some(&branch)),
        (fields.described_branch, described_branch.as_ref()),
    ] {
        let slots = [
            Slot::Option,
            Slot::Description,
            Slot::Label,
            Slot::Index,
            Slot::Number,
        ];
        if template.is_some_and(|template| slots.iter().all(|slot| template.count(*slot) == 0)) {
            return Err(error(field, "must hold a slot, or all options would be one"));
        }
    }
    Ok(ShapeForm {
        question,
        no_instructions: raw.no_instructions,
        option_line,
        described_line,
        branch,
        described_branch,
    })
}

impl From<PromptForm> for RawForm {
    fn from(form: PromptForm) -> Self {
        let shape = |shape: ShapeForm| RawShape {
            question: shape.question.source().to_owned(),
            no_instructions: shape.no_instructions,
            option_line: shape.option_line.source().to_owned(),
            described_line: shape.described_line.map(|line| line.source().to_owned()),
            branch: shape.branch.source().to_owned(),
            described_branch: shape.described_branch.map(|branch| branch.source().to_owned()),
        };
        RawForm {
            name: form.name,
            version: form.version,
            special_tokens: form.special_tokens,
            state: form.state.source().to_owned(),
            choice: shape(form.choice),
            predicate: shape(form.predicate),
            score: shape(form.score),
            true_text: form.true_text,
            false_text: form.false_text,
            label: form.label.map(|label| label.source().to_owned()),
            middle_gap: form.middle_gap,
            media: form.media,
            joined: form.joined,
            trim: form.trim,
            quoted_names: form.quoted_names,
        }
    }
}
