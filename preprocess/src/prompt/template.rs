//! Templates: literal text, special tokens and named slots.

use std::borrow::Cow;

/// A place in a template that a value fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    State,
    Media,
    Instructions,
    Options,
    Names,
    Labels,
    Option,
    Description,
    Label,
    Index,
    Number,
    Count,
}

impl Slot {
    const ALL: [(Slot, &'static str); 12] = [
        (Slot::State, "state"),
        (Slot::Media, "media"),
        (Slot::Instructions, "instructions"),
        (Slot::Options, "options"),
        (Slot::Names, "names"),
        (Slot::Labels, "labels"),
        (Slot::Option, "option"),
        (Slot::Description, "description"),
        (Slot::Label, "label"),
        (Slot::Index, "index"),
        (Slot::Number, "number"),
        (Slot::Count, "count"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(slot, _)| *slot == self)
            .map_or("", |(_, name)| name)
    }
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// Index into the form's special tokens.
    Special(usize),
    Slot(Slot),
}

/// A parsed template and the source it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    source: String,
    pieces: Vec<Piece>,
}

impl Template {
    /// Parses `{slot}` and the escapes `{{` and `}}`; every occurrence of a special token becomes that token.
    ///
    /// # Errors
    /// A lone brace, or a slot that is not in `allowed`; the text says which.
    pub(super) fn parse(source: String, specials: &[String], allowed: &[Slot]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = source.as_str();
        while !rest.is_empty() {
            // The longest token wins, so that one that is the start of another cannot hide it.
            let special = specials
                .iter()
                .enumerate()
                .filter(|(_, token)| rest.starts_with(token.as_str()))
                .max_by_key(|(_, token)| token.len());
            if let Some((index, token)) = special {
                push_literal(&mut pieces, &mut literal);
                pieces.push(Piece::Special(index));
                rest = rest.strip_prefix(token.as_str()).unwrap_or_default();
            } else if let Some(behind) = rest.strip_prefix("{{") {
                literal.push('{');
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("}}") {
                literal.push('}');
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix('{') {
                let Some((name, behind)) = behind.split_once('}') else {
                    return Err("a `{` is not closed: write `{{` for a brace".into());
                };
                push_literal(&mut pieces, &mut literal);
                pieces.push(Piece::Slot(slot(name, allowed)?));
                rest = behind;
            } else if rest.starts_with('}') {
                return Err("a `}` closes nothing: write `}}` for a brace".into());
            } else {
                let mut characters = rest.chars();
                literal.extend(characters.next());
                rest = characters.as_str();
            }
        }
        push_literal(&mut pieces, &mut literal);
        Ok(Self { source, pieces })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// How often a slot occurs.
    pub(super) fn count(&self, slot: Slot) -> usize {
        self.pieces
            .iter()
            .filter(|piece| **piece == Piece::Slot(slot))
            .count()
    }

    /// Whether there is anything but slots.
    pub(super) fn has_literal(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, Piece::Slot(_)))
    }

    pub(super) fn ends_with_special(&self) -> bool {
        matches!(self.pieces.last(), Some(Piece::Special(_)))
    }

    pub(super) fn has_special(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Special(_)))
    }

    /// Appends the filled template as text; for templates without special tokens.
    pub(super) fn fill<'v>(&self, value: impl Fn(Slot) -> Cow<'v, str>, into: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => into.push_str(text),
                Piece::Slot(slot) => into.push_str(&value(*slot)),
                Piece::Special(_) => {}
            }
        }
    }
}

fn push_literal(pieces: &mut Vec<Piece>, literal: &mut String) {
    if !literal.is_empty() {
        pieces.push(Piece::Text(std::mem::take(literal)));
    }
}

fn slot(name: &str, allowed: &[Slot]) -> Result<Slot, String> {
    allowed
        .iter()
        .copied()
        .find(|slot| slot.name() == name)
        .ok_or_else(|| {
            let names: Vec<String> = allowed
                .iter()
                .map(|slot| format!("{{{}}}", slot.name()))
                .collect();
            format!(
                "{{{name}}} is no slot of this template: it has {}",
                names.join(", ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(source: &str) -> Result<Template, String> {
        let specials = ["<a>".to_owned(), "<a><b>".to_owned()];
        Template::parse(source.into(), &specials, &[Slot::State, Slot::Option])
    }

    #[test]
    fn pieces_in_order() {
        let template = parse("<a>x{{{state}}}<a><b>{option}").unwrap();
        assert_eq!(
            template.pieces(),
            [
                Piece::Special(0),
                Piece::Text("x{".into()),
                Piece::Slot(Slot::State),
                Piece::Text("}".into()),
                Piece::Special(1),
                Piece::Slot(Slot::Option),
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("{state").unwrap_err().contains("not closed"));
        assert!(parse("a}").unwrap_err().contains("closes nothing"));
        assert!(parse("{label}").unwrap_err().contains("{state}, {option}"));
    }
}
