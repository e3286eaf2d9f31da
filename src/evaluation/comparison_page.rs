//! A comparison as one HTML page.

use assize_calibration::evaluation::Compared;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::ComparisonRecord;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse}th,td{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:right}\
th:first-child,td:first-child{text-align:left}tr.sure td{font-weight:600}li,td{overflow-wrap:anywhere}";

impl ComparisonRecord {
    /// What is the same in both files and what is not, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = vec![
            format!("first: {}", self.first.file),
            format!("second: {}", self.second.file),
        ];
        said.push(match self.artifact_differences.as_deref() {
            None => "it is not known which artifacts made the predictions".to_owned(),
            Some([]) => "both were made by the same artifact".to_owned(),
            Some(fields) => format!("the artifacts differ in {}", fields.join(", ")),
        });
        said.push(match &self.prompts {
            None => "it is not known whether both read the same tokens".to_owned(),
            Some(prompts) if prompts.different == 0 => {
                format!("both read the same tokens in all {} rows", prompts.same)
            }
            Some(prompts) => format!(
                "both read the same tokens in {} rows and other ones in {}: {}",
                prompts.same,
                prompts.different,
                prompts.different_ids.join(", ")
            ),
        });
        for (name, ids) in [
            ("first", &self.comparison.only_in_first),
            ("second", &self.comparison.only_in_second),
        ] {
            if !ids.is_empty() {
                said.push(format!(
                    "{} rows are in the {name} file only and in no figure",
                    ids.len()
                ));
            }
        }
        said
    }

    /// One page that needs nothing outside itself and runs no script. Differences whose interval does not hold 0 are bold.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Comparison of two sets of predictions" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { "Comparison of two sets of predictions" }
                    ul { @for sentence in self.sentences() { li { bdi { (sentence) } } } }
                    (section("All rows", &self.comparison.overall))
                    @for group in &self.comparison.by_group {
                        (section(&format!("Group {}", group.group), &group.compared))
                    }
                }
            }
        };
        page.into_string()
    }
}

fn section(name: &str, found: &Compared) -> Markup {
    html! {
        h2 { bdi { (name) } }
        p {
            (found.rows) " rows, the same answer on " (found.same_answer) " (" (format!("{:.4}", found.agreement)) "). "
            @if let Some(test) = &found.mcnemar {
                "Only the first is right on " (test.only_first) ", only the second on " (test.only_second)
                " (McNemar, p = " (format!("{:.4}", test.p_value)) "). "
            }
            "Probabilities differ by " (format!("{:.6}", found.change.mean)) " on average and by "
            (format!("{:.6}", found.change.largest)) " at most."
        }
        @if let Some(at) = &found.change.at {
            p {
                "The largest change is that of option " (at.option) " of row " bdi { (at.id) } ", from "
                (format!("{:.6}", at.first)) " to " (format!("{:.6}", at.second)) "."
            }
        }
        table {
            tr { th { "metric" } th { "rows" } th { "first" } th { "second" } th { "difference" } th { "interval" } }
            @for figure in &found.metrics {
                @let sure = figure.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
                tr.sure[sure] {
                    td { (figure.metric.title()) }
                    td { (figure.rows) }
                    td { (format!("{:.4}", figure.first)) }
                    td { (format!("{:.4}", figure.second)) }
                    td { (format!("{:+.4}", figure.difference)) }
                    td {
                        @if let Some(interval) = figure.interval {
                            (format!("{:+.4} to {:+.4}", interval.low, interval.high))
                        }
                    }
                }
            }
        }
    }
}
