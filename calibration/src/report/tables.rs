//! The tables of figures.

use maud::{Markup, html};

use super::text::{number, shown};
use crate::evaluation::{Better, Evaluation, Figure, Figures, Metric};

/// Groups that a report shows.
const MOST_GROUPS: usize = 200;
/// What stands on top.
const SUMMARY: [(Metric, &str); 6] = [
    (Metric::Accuracy, "Accuracy"),
    (Metric::Nll, "Negative log-likelihood"),
    (Metric::BrierMulticlass, "Brier score (0 to 2)"),
    (Metric::EceEqualMass15, "ECE, 15 equal-mass bins"),
    (Metric::Aurc, "Area under risk-coverage"),
    (Metric::RatingsKlDivergence, "KL divergence from ratings"),
];
/// The columns by shape and by group.
const COLUMNS: [(Metric, &str); 4] = [
    (Metric::Accuracy, "Accuracy"),
    (Metric::Nll, "NLL"),
    (Metric::BrierMulticlass, "Brier (0 to 2)"),
    (Metric::EceEqualMass15, "ECE (15, mass)"),
];

/// The figures on top of the page.
pub(super) fn summary(evaluation: &Evaluation, before: Option<&Evaluation>) -> Markup {
    html! {
        div .tiles {
            @for (metric, name) in SUMMARY {
                @if let Some(figure) = evaluation.overall.get(metric) {
                    div .tile {
                        div .name { (name) }
                        div .value { (number(figure.estimate)) }
                        div .range { (interval(figure)) }
                        @if let Some(raw) = before.and_then(|before| before.overall.estimate(metric)) {
                            div .before { "before: " (number(raw)) }
                        }
                    }
                }
            }
        }
    }
}

/// Every metric on all rows.
pub(super) fn metrics(evaluation: &Evaluation, before: Option<&Evaluation>) -> Markup {
    let asked = evaluation.options.resamples;
    html! {
        @if let Some(reason) = &evaluation.overall.without_interval {
            p .soft { "No intervals: " (shown(reason, 500)) "." }
        } @else {
            p .soft {
                "Resamples repeat rows, which makes calibration errors larger: where one is near 0, its interval may lie \
                 above its value. It then says that the rows are few."
            }
        }
        div .wide {
            table {
                thead {
                    tr {
                        th { "Metric" } th .n { "Value" } th .n { "Interval" }
                        @if before.is_some() { th .n { "Before" } th .n { "Interval" } }
                        th .n { "Rows" } th { "Better" }
                    }
                }
                tbody {
                    @for figure in &evaluation.overall.defined {
                        tr {
                            td .name-cell { (figure.metric.title()) (fewer(figure, asked)) }
                            td .n { (number(figure.estimate)) }
                            td .n { (interval(figure)) }
                            @if let Some(before) = before {
                                @let raw = before.overall.get(figure.metric);
                                td .n .before { (raw.map_or("–".to_owned(), |raw| number(raw.estimate))) }
                                td .n .before { (raw.map_or("–".to_owned(), interval)) }
                            }
                            td .n { (figure.rows) }
                            td { (better(figure.metric)) }
                        }
                    }
                }
            }
        }
    }
}

/// What was left out of an interval.
fn fewer(figure: &Figure, asked: usize) -> Markup {
    html! {
        @if let Some(interval) = figure.interval {
            @if interval.undefined > 0 {
                span .soft { " (undefined on " (interval.undefined) " resamples)" }
            } @else if interval.resamples < asked {
                span .soft { " (" (interval.resamples) " resamples)" }
            }
        }
    }
}

/// The metrics without a value.
pub(super) fn undefined(figures: &Figures) -> Markup {
    html! {
        @if figures.undefined.is_empty() {
            p .soft { "None: every metric has a value." }
        } @else {
            div .wide {
                table {
                    thead { tr { th { "Metric" } th { "Why it has no value for these rows" } } }
                    tbody {
                        @for entry in &figures.undefined {
                            tr { td .name-cell { (entry.metric.title()) } td { (shown(&entry.reason, 500)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A line per shape.
pub(super) fn by_shape(evaluation: &Evaluation) -> Markup {
    let lines = evaluation.by_shape.iter();
    table(
        "Shape",
        lines.map(|line| (line.shape.to_string(), line.rows, &line.figures)),
    )
}

/// A line per group, as many as fit.
pub(super) fn by_group(evaluation: &Evaluation) -> Markup {
    let groups = &evaluation.by_group;
    if groups.is_empty() {
        return html! { p .soft { "No row has a group." } };
    }
    let lines = groups.iter().take(MOST_GROUPS);
    html! {
        @if groups.len() > MOST_GROUPS {
            p .soft {
                "The first " (MOST_GROUPS) " of " (groups.len()) " groups; the evaluation as JSON has all."
            }
        }
        (table("Group", lines.map(|line| (shown(&line.group, 80), line.rows, &line.figures))))
    }
}

fn table<'a>(first: &str, lines: impl Iterator<Item = (String, usize, &'a Figures)>) -> Markup {
    html! {
        div .wide {
            table {
                thead {
                    tr {
                        th { (first) } th .n { "Rows" }
                        @for (_, name) in COLUMNS { th .n { (name) } }
                    }
                }
                tbody {
                    @for (name, rows, figures) in lines {
                        tr {
                            td .name-cell { bdi { (name) } }
                            td .n { (rows) }
                            @for (metric, _) in COLUMNS { td .n { (cell(figures, metric)) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(figures: &Figures, metric: Metric) -> Markup {
    html! {
        @match figures.get(metric) {
            Some(figure) => {
                (number(figure.estimate))
                @if figure.interval.is_some() { br; span .soft { (interval(figure)) } }
            }
            None => { "–" }
        }
    }
}

fn interval(figure: &Figure) -> String {
    figure.interval.map_or("–".to_owned(), |interval| {
        format!("{} to {}", number(interval.low), number(interval.high))
    })
}

fn better(metric: Metric) -> &'static str {
    match metric.better() {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "–",
    }
}
