//! The confusion matrix of a report.

use maud::{Markup, html};

use super::ShownRow;
use super::text::shown;
use crate::CalibrationError;
use crate::metrics::confusion_matrix;

/// Options that a matrix is legible with.
const MOST_OPTIONS: usize = 20;
/// Options whose names fit over the columns.
const MOST_NAMED: usize = 6;

/// The matrix, or why there is none.
pub(super) fn section(rows: &[ShownRow<'_>]) -> Result<Markup, CalibrationError> {
    Ok(match matrix(rows)? {
        Ok((names, counts)) => table(names, &counts),
        Err(reason) => html! { p .soft { "Not shown: " (reason) "." } },
    })
}

type Matrix<'a> = Result<(&'a [String], Vec<Vec<usize>>), String>;

fn matrix<'a>(rows: &[ShownRow<'a>]) -> Result<Matrix<'a>, CalibrationError> {
    let labelled = || rows.iter().filter(|shown| shown.row.gold_option().is_some());
    let Some(first) = labelled().next() else {
        return Ok(Err("no row has a gold option".to_owned()));
    };
    let names = first.options;
    if labelled().any(|shown| shown.options != names) {
        return Ok(Err("rows have different lists of options".to_owned()));
    }
    if names.len() > MOST_OPTIONS {
        return Ok(Err(format!(
            "there are {} options, and a matrix is legible with at most {MOST_OPTIONS}",
            names.len()
        )));
    }
    let probabilities: Vec<_> = labelled().map(|shown| shown.row.probabilities()).collect();
    let labels: Vec<_> = labelled().filter_map(|shown| shown.row.gold_option()).collect();
    Ok(Ok((names, confusion_matrix(&probabilities, &labels)?)))
}

fn table(names: &[String], counts: &[Vec<usize>]) -> Markup {
    let numbered = names.len() > MOST_NAMED;
    html! {
        div .wide {
            table .matrix {
                caption { "Rows by gold option (down) and most probable option (across). Shades are shares of a line." }
                thead .numbers[numbered] {
                    tr {
                        th { "gold \\ said" }
                        @for (said, name) in names.iter().enumerate() {
                            th scope="col" { @if numbered { "#" (said + 1) } @else { bdi { (shown(name, 40)) } } }
                        }
                        th scope="col" { "Rows" }
                    }
                }
                tbody {
                    @for (gold, (name, line)) in names.iter().zip(counts).enumerate() {
                        @let all: usize = line.iter().sum();
                        tr {
                            th .name-cell scope="row" { @if numbered { "#" (gold + 1) " " } bdi { (shown(name, 40)) } }
                            @for (said, count) in line.iter().enumerate() {
                                @let share = *count as f64 / all.max(1) as f64;
                                td .right[gold == said] style=(format!("--share: {share:.3}")) { (count) }
                            }
                            th .n { (all) }
                        }
                    }
                }
            }
        }
    }
}
