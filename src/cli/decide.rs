//! `assize decide`: one decision without a server.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail};
use assize::http::{Answered, DecideResponse, StageTimings};
use assize::service::{
    Answer, AnswerKind, DecisionSettings, MediumKind, MediumReport, Service, ServiceError,
};
use assize_preprocess::decision::{Content, Decision, MAX_OPTIONS, Question, QuestionOption, Shape};
use assize_preprocess::prompt::Truncate;
use assize_preprocess::{Excess, PromptError, Until};
use clap::{ArgGroup, Args};

use super::logging::{self, LogFormat};
use super::media_files::MediaFiles;
use super::output::print;
use super::served_model::ServedModelArguments;
use super::state_text;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize decide \"You won! Click here.\" --question \"Is this mail spam?\" --option spam --option \"not spam\"
  assize decide @review.txt --question \"Is the reviewer satisfied?\" --predicate
  assize decide \"\" --image photo.jpg --question \"Is a person in it?\" --predicate --model ./jev-omni
  fortune | assize decide - --question \"How funny is it?\" --level dull --level funny --level hilarious --json";

/// Width of a bar.
const BAR: usize = 30;
/// Widest column of option names.
const NAME_WIDTH: usize = 40;

/// Arguments of `assize decide`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("shape").required(true).args(["option", "level", "predicate"]))]
pub struct DecideArguments {
    /// The text that is judged; @FILE reads a file, - reads stdin
    state: String,
    /// What is asked
    #[arg(short, long)]
    question: Option<String>,
    /// An option of a choice; give several
    #[arg(short, long)]
    option: Vec<String>,
    /// A level of a score, lowest first; give several
    #[arg(short, long)]
    level: Vec<String>,
    /// Ask for true or false
    #[arg(long, requires = "question")]
    predicate: bool,
    #[command(flatten)]
    media: MediaFiles,
    /// Option orders to average over; matters only where the model's prompt form shows the options
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=256))]
    order_averages: u16,
    /// What part of a text that is too long is dropped: error (none), start, end or middle
    #[arg(long, default_value = "error", value_name = "PART")]
    truncate: Truncate,
    /// Print the JSON that POST /decide answers
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    model: ServedModelArguments,
}

impl DecideArguments {
    /// Refuses what no model is needed to see.
    fn check(&self) -> anyhow::Result<()> {
        let mut seen = HashSet::new();
        for name in &self.option {
            if name.is_empty() {
                bail!("--option \"\" is empty: every option needs a name");
            }
            if !seen.insert(name) {
                bail!("--option {name:?} was given twice: names must differ");
            }
        }
        if self.level.iter().any(String::is_empty) {
            bail!("--level \"\" is empty: say what the level means");
        }
        for (flag, count) in [("option", self.option.len()), ("level", self.level.len())] {
            if count > MAX_OPTIONS {
                bail!("--{flag} was given {count} times: give it at most {MAX_OPTIONS} times");
            }
        }
        let question = self.question.as_deref().unwrap_or_default();
        if self.predicate && question.trim().is_empty() {
            bail!("--question is empty: say what is true or false");
        }
        Ok(())
    }

    fn decision(&self) -> anyhow::Result<Decision> {
        let option = |name: &String| QuestionOption {
            name: name.clone(),
            description: None,
        };
        let shape = if self.predicate {
            Shape::Predicate {
                when_true: None,
                when_false: None,
            }
        } else if self.level.is_empty() {
            Shape::Choice(self.option.iter().map(option).collect())
        } else {
            Shape::Score(
                self.level
                    .iter()
                    .map(|level| Content::from(level.as_str()))
                    .collect(),
            )
        };
        let instructions = self.question.as_deref().map(Content::from);
        Ok(Decision {
            state: Content::Text(state_text::read(&self.state)?),
            questions: vec![Question { instructions, shape }],
        })
    }
}

/// Runs `assize decide`.
///
/// # Errors
/// The state cannot be read, the model not loaded, or the question not asked as it stands.
pub fn run(arguments: &DecideArguments) -> anyhow::Result<()> {
    logging::start(LogFormat::Text, "warn")?;
    arguments.check()?;
    let decision = arguments.decision()?;
    let service = arguments.model.open()?;
    let answered = decide(&service, &decision, arguments)?;
    let text = if arguments.json {
        let mut text = serde_json::to_string_pretty(&DecideResponse::new(&service, answered))?;
        text.push('\n');
        text
    } else {
        describe(&service, &answered, arguments.order_averages)?
    };
    Ok(print(&text)?)
}

fn decide(
    service: &Service,
    decision: &Decision,
    arguments: &DecideArguments,
) -> anyhow::Result<Answered<Vec<Option<String>>>> {
    let started = Instant::now();
    let settings = DecisionSettings {
        order_averages: usize::from(arguments.order_averages),
        truncate: arguments.truncate,
        max_tokens: None,
    };
    let media = service.read_media(&arguments.media.read()?, &Until::default());
    let media = media.map_err(|error| match error.medium() {
        Some(index) => anyhow::Error::new(error).context(arguments.media.flag(index)),
        None => error.into(),
    })?;
    let prepared = service
        .prepare_with_media(decision, media, settings)
        .map_err(with_remedy)?;
    let scored = service.score(&[&prepared])?;
    let scored = scored.first().context("the engine answered nothing")?;
    Ok(Answered {
        answers: service.answers(decision, scored)?,
        input_tokens: prepared.tokens(),
        truncated_tokens: prepared.truncated_tokens(),
        state_copies: prepared.state_copies(),
        media: prepared.media().to_vec(),
        timings: StageTimings {
            forward: scored.forward,
            readout: scored.readout,
            total: started.elapsed(),
            ..StageTimings::of_prepared(&prepared)
        },
        extra: vec![None],
    })
}

/// What a flag can do about it is said where the flags are known.
fn with_remedy(error: ServiceError) -> anyhow::Error {
    if let ServiceError::Prompt(PromptError::TooLong {
        excess: Excess::State,
        ..
    }) = error
    {
        return anyhow!("{error}, or let --truncate start, end or middle drop part of it");
    }
    error.into()
}

/// A bar per option, and one line on what made them.
fn describe(
    service: &Service,
    answered: &Answered<Vec<Option<String>>>,
    order_averages: u16,
) -> anyhow::Result<String> {
    let mut text = String::new();
    for answer in &answered.answers {
        describe_answer(answer, &mut text)?;
        if order_averages > 1 && answer.orders == 1 && answer.options.len() > 1 {
            writeln!(
                text,
                "--order-averages changed nothing: this model's prompt form shows no options, so they have no order"
            )?;
        }
    }
    if answered.truncated_tokens > 0 {
        writeln!(
            text,
            "{} tokens of the state were dropped",
            answered.truncated_tokens
        )?;
    }
    for report in &answered.media {
        describe_medium(report, &mut text)?;
    }
    let engine = service.engine();
    writeln!(
        text,
        "{} · {}{} · {} {} · {} tokens in {:.1} ms · {}",
        service.name(),
        service.artifact_id(),
        service
            .fitted_head()
            .map_or_else(String::new, |head| format!(" · {}", head.id())),
        engine.name,
        engine.precision,
        answered.input_tokens,
        answered.timings.total.as_secs_f64() * 1e3,
        match service.calibration_id() {
            Some(calibration) => format!("probabilities are calibrated by {calibration}"),
            None => "probabilities are raw (no calibration is loaded)".to_owned(),
        }
    )?;
    for mismatch in service.mismatches() {
        writeln!(text, "MISMATCH: {mismatch}; do not trust these probabilities")?;
    }
    Ok(text)
}

/// What a medium became, and what of it was not seen or heard.
fn describe_medium(report: &MediumReport, text: &mut String) -> anyhow::Result<()> {
    write!(text, "{}: {} soft tokens", report.kind.name(), report.soft_tokens)?;
    if let Some(frames) = report.frames {
        write!(text, ", {frames} frames")?;
    }
    if let Some(kept) = report.cut_to {
        write!(text, ", cut to {} s", kept.as_secs_f64())?;
    }
    if report.sound_ignored {
        write!(text, ", its sound ignored")?;
    }
    if report.others_ignored {
        let others = match report.kind {
            MediumKind::Image => "all but its first picture",
            _ => "all but one of its sound tracks",
        };
        write!(text, ", {others} ignored")?;
    }
    writeln!(text)?;
    Ok(())
}

fn describe_answer(answer: &Answer, text: &mut String) -> anyhow::Result<()> {
    let (head, names): (String, Vec<String>) = match &answer.kind {
        AnswerKind::Choice { choice, names } => {
            (names.get(*choice).cloned().unwrap_or_default(), names.clone())
        }
        AnswerKind::Predicate { probability } => {
            let said = if probability.get() >= 0.5 { "true" } else { "false" };
            (said.into(), vec!["false".into(), "true".into()])
        }
        AnswerKind::Score { score, levels, .. } => {
            let names = levels
                .iter()
                .enumerate()
                .map(|(level, text)| format!("{level} {}", text.to_text()));
            let top = levels.len().saturating_sub(1);
            (format!("{score:.2} of {top}"), names.collect())
        }
    };
    writeln!(text, "{}  (confidence {:.2})", one_line(&head), answer.confidence)?;
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, option) in names.iter().zip(&answer.options) {
        let probability = option.probability.get();
        let filled = (probability * BAR as f64).round() as usize;
        let padding = width - name.chars().count();
        writeln!(
            text,
            "  {name}{:padding$}  {}{}  {:5.1} %",
            "",
            "█".repeat(filled),
            "░".repeat(BAR.saturating_sub(filled)),
            probability * 100.0
        )?;
    }
    Ok(())
}

/// A name on one line of the terminal: control characters escaped, cut to the column.
fn one_line(name: &str) -> String {
    let mut shown = String::new();
    for character in name.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    match shown.char_indices().nth(NAME_WIDTH) {
        None => shown,
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
    }
}
