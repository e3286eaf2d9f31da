//! The gold answer of a row.

use assize_preprocess::decision::Shape;
use assize_preprocess::prompt::{PREDICATE_FALSE, PREDICATE_TRUE};
use serde_json::Value;

use super::cell::Cell;
use super::numbers::{weight, whole};
use super::options::{count, names};
use crate::strict_json::excerpt;

/// What people say is right: one option, how they were divided, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct Gold {
    option: Option<usize>,
    ratings: Option<Vec<f64>>,
}

impl Gold {
    /// One option is right. Its index counts the options in the caller's order; of a predicate 0 is false and 1 true.
    pub fn option(index: usize) -> Self {
        Self {
            option: Some(index),
            ratings: None,
        }
    }

    /// One weight per option says how people were divided.
    pub fn ratings(weights: Vec<f64>) -> Self {
        Self {
            option: None,
            ratings: Some(weights),
        }
    }

    /// The right option: the one that was named, else the one that most people chose; none where two were chosen equally
    /// often. Where both are given they agree.
    pub fn label(&self) -> Option<usize> {
        if self.option.is_some() {
            return self.option;
        }
        let weights = self.ratings.as_deref()?;
        let most = weights.iter().copied().fold(0.0, f64::max);
        // Shares of equal counts are equal up to rounding.
        let mut top = weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight >= most * (1.0 - 1e-9));
        let first = top.next()?.0;
        top.next().is_none().then_some(first)
    }

    /// The option that was named.
    pub fn named(&self) -> Option<usize> {
        self.option
    }

    /// The weights, one per option, none negative and not all 0.
    pub fn weights(&self) -> Option<&[f64]> {
        self.ratings.as_deref()
    }

    /// Reads the three columns that say what is right; the error names the column by its field.
    pub(super) fn read(
        shape: &Shape,
        gold: Cell,
        index: Cell,
        ratings: Cell,
    ) -> Result<Self, (super::RowField, String)> {
        use super::RowField::{Gold as GoldField, GoldIndex, Ratings};
        let option = match (gold, index) {
            (Cell::Missing, Cell::Missing) => None,
            (Cell::Missing, index) => Some(by_index(shape, &index).map_err(|message| (GoldIndex, message))?),
            (gold, Cell::Missing) => Some(by_answer(shape, &gold).map_err(|message| (GoldField, message))?),
            (_, index) => {
                return Err((
                    GoldIndex,
                    format!(
                        "is {}, and `gold` is given as well: give one of them",
                        index.shown()
                    ),
                ));
            }
        };
        let ratings = match ratings {
            Cell::Missing => None,
            cell => Some(weights(shape, cell).map_err(|message| (Ratings, message))?),
        };
        if option.is_none() && ratings.is_none() {
            return Err((
                GoldField,
                "is missing: give `gold`, `gold_index` or `ratings`".into(),
            ));
        }
        let gold = Self { option, ratings };
        if let (Some(option), Some(weights)) = (gold.option, &gold.ratings) {
            let most = Self::ratings(weights.clone()).label();
            if most != Some(option) {
                return Err((
                    Ratings,
                    format!(
                        "are given with a gold answer, option {option}, that {}: leave one of them out",
                        match most {
                            Some(most) => format!("is not the one most people chose, option {most}"),
                            None => "shares the lead with another".to_owned(),
                        }
                    ),
                ));
            }
        }
        Ok(gold)
    }

    /// Reads JSON values in place of columns.
    pub(crate) fn of_values(
        shape: &Shape,
        gold: Value,
        index: Value,
        ratings: Value,
    ) -> Result<Self, (super::RowField, String)> {
        Self::read(shape, gold.into(), index.into(), ratings.into())
    }
}

fn by_index(shape: &Shape, cell: &Cell) -> Result<usize, String> {
    let index = match cell {
        Cell::Number(number) => whole(number),
        Cell::Text(text) => text.parse().ok(),
        _ => None,
    };
    in_range(shape, index).ok_or_else(|| {
        format!(
            "is {}: use a whole number from 0 to {}",
            cell.shown(),
            count(shape).saturating_sub(1)
        )
    })
}

fn in_range(shape: &Shape, index: Option<usize>) -> Option<usize> {
    index.filter(|index| *index < count(shape))
}

fn by_answer(shape: &Shape, cell: &Cell) -> Result<usize, String> {
    match shape {
        Shape::Choice(_) => by_text(shape, cell),
        Shape::Predicate { .. } => predicate(cell),
        Shape::Score(_) => level(shape, cell),
    }
}

fn by_text(shape: &Shape, cell: &Cell) -> Result<usize, String> {
    let Cell::Text(text) = cell else {
        return Err(format!(
            "is {}: write the option's text as a string, or its index as `gold_index`",
            cell.shown()
        ));
    };
    position(shape, text).ok_or_else(|| not_among(shape, text))
}

fn position(shape: &Shape, text: &str) -> Option<usize> {
    names(shape).iter().position(|name| name == text)
}

fn not_among(shape: &Shape, text: &str) -> String {
    let shown: Vec<_> = names(shape)
        .iter()
        .take(8)
        .map(|name| format!("{:?}", excerpt(name)))
        .collect();
    let more = if count(shape) > shown.len() { ", ..." } else { "" };
    format!(
        "is {:?}, which is none of the options {}{more}",
        excerpt(text),
        shown.join(", ")
    )
}

fn predicate(cell: &Cell) -> Result<usize, String> {
    let answer = match cell {
        Cell::Bool(value) => Some(*value),
        Cell::Number(number) => match whole(number) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Cell::Text(text) if text.eq_ignore_ascii_case("true") || text == "1" => Some(true),
        Cell::Text(text) if text.eq_ignore_ascii_case("false") || text == "0" => Some(false),
        _ => None,
    };
    match answer {
        Some(true) => Ok(PREDICATE_TRUE),
        Some(false) => Ok(PREDICATE_FALSE),
        None => Err(format!(
            "is {}: a predicate's answer is true or false (or 1 or 0); give `options` to ask a choice",
            cell.shown()
        )),
    }
}

/// A text that is a level's own is that level. A number counts levels from 0, unless some level is called by that number; a
/// number as text does so only where no level is called by a number.
fn level(shape: &Shape, cell: &Cell) -> Result<usize, String> {
    let help = || {
        format!(
            "is {}: write the level's text, or its number from 0 to {}",
            cell.shown(),
            count(shape).saturating_sub(1)
        )
    };
    match cell {
        Cell::Text(text) => match position(shape, text) {
            Some(named) => Ok(named),
            None if names(shape).iter().any(|name| name.parse::<f64>().is_ok()) => Err(format!(
                "is {:?}, which is the text of no level, and levels are called by numbers: write a level's text, or \
                 its number from 0 as `gold_index`",
                excerpt(text)
            )),
            None => in_range(shape, text.parse().ok()).ok_or_else(help),
        },
        Cell::Number(number) => {
            let index = in_range(shape, whole(number));
            match (index, position(shape, &number.to_string())) {
                (Some(index), Some(named)) if index != named => Err(format!(
                    "is the number {number}, which is the text of level {named} and the number of another: write the \
                     text as a string, or the number as `gold_index`"
                )),
                (None, Some(named)) => Ok(named),
                (index, _) => index.ok_or_else(help),
            }
        }
        _ => Err(help()),
    }
}

fn weights(shape: &Shape, cell: Cell) -> Result<Vec<f64>, String> {
    let options = count(shape);
    let weights: Vec<f64> = match cell.json()? {
        Value::Array(items) => {
            if items.len() != options {
                return Err(format!(
                    "has {} numbers and the question {options} options: give one per option",
                    items.len()
                ));
            }
            items
                .iter()
                .map(|item| weight(item).ok_or_else(|| no_weight(item)))
                .collect::<Result<_, _>>()?
        }
        Value::Object(by_name) => {
            let mut weights = vec![0.0; options];
            for (name, item) in &by_name {
                let index = position(shape, name)
                    .ok_or_else(|| format!("names an option that {}", not_among(shape, name)))?;
                if let Some(place) = weights.get_mut(index) {
                    *place = weight(item).ok_or_else(|| no_weight(item))?;
                }
            }
            weights
        }
        _ => return Err("is no list".into()),
    };
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        Ok(weights)
    } else {
        Err(format!("sum to {sum}: at least one option needs a rating"))
    }
}

fn no_weight(value: &Value) -> String {
    format!(
        "holds {}: counts and weights are numbers that are not negative",
        excerpt(&value.to_string())
    )
}
