//! The worst mistakes: wrong answers that were held most probable.

use maud::{Markup, html};

use super::ShownRow;
use super::text::{probability, shown};

/// Mistakes that are shown.
const MOST: usize = 25;

pub(super) fn section(rows: &[ShownRow<'_>]) -> Markup {
    let mut wrong: Vec<&ShownRow<'_>> = rows
        .iter()
        .filter(|shown| shown.row.is_right() == Some(false))
        .collect();
    if wrong.is_empty() {
        return html! { p .soft { "No row with a gold option was answered wrong." } };
    }
    // Stable: of equal ones, the first in the file.
    wrong.sort_by(|a, b| b.row.answer().1.get().total_cmp(&a.row.answer().1.get()));
    html! {
        p .soft {
            (wrong.len()) " rows were answered wrong"
            @if wrong.len() > MOST { "; these are the " (MOST) " most confident of them" }
            "."
        }
        div .wide {
            table {
                thead {
                    tr {
                        th { "Row" } th { "State" } th { "Question" } th { "Gold" } th { "Said" }
                        th .n { "p(said)" } th .n { "p(gold)" }
                    }
                }
                tbody {
                    @for shown_row in wrong.iter().take(MOST) { (line(shown_row)) }
                }
            }
        }
    }
}

fn line(shown_row: &ShownRow<'_>) -> Markup {
    let row = shown_row.row;
    let (said, p) = row.answer();
    let gold = row.gold_option().unwrap_or_default();
    let of_gold = row.probabilities().get(gold).map_or(0.0, |p| p.get());
    let name = |option: usize| shown(shown_row.options.get(option).map_or("", String::as_str), 60);
    html! {
        tr {
            td .name-cell { bdi { (shown(row.id(), 60)) } }
            td .text-cell { bdi { (shown(shown_row.state, 240)) } }
            td .text-cell { bdi { (shown(shown_row.question, 160)) } }
            td .option-cell { bdi { (name(gold)) } }
            td .option-cell { bdi { (name(said)) } }
            td .n { (probability(p.get())) }
            td .n { (probability(of_gold)) }
        }
    }
}
