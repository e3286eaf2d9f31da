//! One HTML file about one evaluation.
//!
//! The file needs nothing outside itself and runs no script; its own policy forbids both, so that even a fault in the
//! escaping of text could load nothing.

mod confusion;
mod mistakes;
mod plots;
mod tables;
mod text;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::CalibrationError;
use crate::evaluation::{Evaluation, JudgedRow, ResampledBy};
use text::shown;

const STYLE: &str = include_str!("style.css");

/// A row as a report shows it.
#[derive(Debug, Clone, Copy)]
pub struct ShownRow<'a> {
    /// The answer and what is right.
    pub row: &'a JudgedRow,
    /// What was judged, or a text about it; shown cut.
    pub state: &'a str,
    /// The question; shown cut.
    pub question: &'a str,
    /// The names of the options, in the order of the probabilities.
    pub options: &'a [String],
}

/// A part of the provenance: a heading, and what is said under it, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceSection {
    /// The heading.
    pub name: String,
    /// Names and values.
    pub entries: Vec<(String, String)>,
}

/// What a report is made of. All text may come from anywhere: it is escaped, and long text is cut.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The title.
    pub title: &'a str,
    /// Where the figures come from: model, data, calibration, settings.
    pub provenance: &'a [ProvenanceSection],
    /// The figures.
    pub evaluation: &'a Evaluation,
    /// The rows that they are of.
    pub rows: &'a [ShownRow<'a>],
    /// Figures of the same rows before calibration, shown beside.
    pub before: Option<&'a Evaluation>,
    /// Notes, a paragraph each.
    pub notes: &'a [String],
}

impl Report<'_> {
    /// The file: one HTML page that needs nothing outside itself.
    ///
    /// # Errors
    /// A row whose option names are not one per probability, or another number of rows than the evaluations are of.
    pub fn html(&self) -> Result<String, CalibrationError> {
        self.check()?;
        let title = shown(self.title, 200);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { bdi { (title) } }
                    (self.facts())
                    @for note in self.notes { p { bdi { (shown(note, 2000)) } } }
                    (tables::summary(self.evaluation, self.before))
                    h2 { "Calibration and selection" }
                    (self.plots()?)
                    h2 { "All metrics" }
                    (tables::metrics(self.evaluation, self.before))
                    @if self.evaluation.by_shape.len() > 1 {
                        h2 { "By shape" }
                        (tables::by_shape(self.evaluation))
                    }
                    h2 { "By group" }
                    (tables::by_group(self.evaluation))
                    h2 { "Confusion matrix" }
                    (confusion::section(self.rows)?)
                    h2 { "Worst mistakes" }
                    (mistakes::section(self.rows))
                    h2 { "Metrics without a value" }
                    (tables::undefined(&self.evaluation.overall))
                    h2 { "Provenance" }
                    (self.provenance())
                }
            }
        };
        Ok(page.into_string())
    }

    fn check(&self) -> Result<(), CalibrationError> {
        for shown_row in self.rows {
            let (names, options) = (shown_row.options.len(), shown_row.row.probabilities().len());
            if names != options {
                return Err(shown_row
                    .row
                    .refused(&format!("{names} option names for {options} options")));
            }
        }
        for evaluation in std::iter::once(self.evaluation).chain(self.before) {
            if evaluation.rows != self.rows.len() {
                return Err(CalibrationError::NotApplicable {
                    what: "a report",
                    needs: "the rows that its evaluations are of".to_owned(),
                    found: format!("{} rows for one of {}", self.rows.len(), evaluation.rows),
                });
            }
        }
        Ok(())
    }

    /// What the figures are of, in a few lines.
    fn facts(&self) -> Markup {
        let evaluation = self.evaluation;
        let options = evaluation.option_counts.iter().map(|count| count.options);
        let (fewest, most) = (options.clone().min().unwrap_or(0), options.max().unwrap_or(0));
        let units = evaluation.resampled_units;
        let unit = match (evaluation.resampled_by, units) {
            (ResampledBy::Row, 1) => "row",
            (ResampledBy::Row, _) => "rows",
            (ResampledBy::Group, 1) => "group",
            (ResampledBy::Group, _) => "groups",
        };
        html! {
            p .soft {
                (evaluation.rows) @if evaluation.rows == 1 { " row" } @else { " rows" }
                ", " (fewest) @if fewest != most { " to " (most) } " options, "
                (evaluation.rows_with_gold_option) " with a gold option, "
                (evaluation.rows_with_ratings) " with ratings. Intervals hold the middle "
                (percent(evaluation.options.confidence)) " of " (evaluation.options.resamples)
                " bootstrap resamples of " (units) " " (unit) " (seed " (evaluation.options.seed) ")."
            }
            @if evaluation.rows_with_tied_ratings > 0 {
                p .soft {
                    (evaluation.rows_with_tied_ratings)
                    " rows have ratings with several leading options: they count in the metrics of ratings only."
                }
            }
            @if evaluation.nll_clipped_rows > 0 {
                p {
                    (evaluation.nll_clipped_rows)
                    " rows gave their gold option a probability below 2.2e-16: the negative log-likelihood counts that \
                     much, and is a floor."
                }
            }
            @if let Some(few) = evaluation.few_resampled() {
                p { (few) "." }
            }
        }
    }

    fn plots(&self) -> Result<Markup, CalibrationError> {
        let curves = &self.evaluation.curves;
        if curves.reliability.is_empty() {
            return Ok(html! { p .soft { "Not shown: no row has a gold option." } });
        }
        let before = self.before.map(|before| &before.curves);
        let legend = html! {
            @if before.is_some() {
                div .legend { span .key .main {} "these probabilities" span .key .before {} "before calibration" }
            }
        };
        Ok(html! {
            div .plots {
                figure {
                    (PreEscaped(plots::reliability(curves, before)?))
                    figcaption {
                        (legend) b { "Reliability. " }
                        "On the dashed line promises are kept; below it too much was promised. Bars: "
                        (percent(self.evaluation.options.confidence)) " intervals. Numbers on top: rows per bin"
                        @if before.is_some() { " of these probabilities" } "."
                    }
                }
                figure {
                    (PreEscaped(plots::confidence(curves, before)?))
                    figcaption {
                        div .legend {
                            span .key .main {} "right" span .key .wrong {} "wrong"
                            @if before.is_some() { span .key .before {} "all rows before calibration" }
                        }
                        b { "Confidence. " } "How sure the answers are."
                    }
                }
                figure {
                    (PreEscaped(plots::risk_coverage(curves, before)?))
                    figcaption {
                        (legend) b { "Risk and coverage. " }
                        "Errors among the most confident rows, when the others are left to a person."
                    }
                }
            }
        })
    }

    fn provenance(&self) -> Markup {
        html! {
            @for section in self.provenance {
                h3 { bdi { (shown(&section.name, 200)) } }
                dl {
                    @for (name, value) in &section.entries {
                        dt { bdi { (shown(name, 200)) } }
                        dd { bdi { (shown(value, 2000)) } }
                    }
                }
            }
            @if self.provenance.is_empty() { p .soft { "None was given." } }
        }
    }
}

/// 0.95 as 95 %.
fn percent(share: f64) -> String {
    // Rounded, so that 0.95 is not 94.99999999999999 %.
    format!("{} %", (share * 1e8).round() / 1e6)
}
