//! Figures as tables on the console.

use assize_calibration::evaluation::{Compared, Comparison, Evaluation, Figures, Metric};
use comfy_table::{Table, presets};

/// A table in the form of the benchmarks'.
pub(super) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

fn number(value: f64) -> String {
    format!("{value:.4}")
}

/// All figures of an evaluation; with `before`, those before calibration beside them.
pub(super) fn evaluation(found: &Evaluation, before: Option<&Evaluation>) -> String {
    let mut table = match before {
        Some(_) => table(["metric", "rows", "value", "interval", "before calibration"]),
        None => table(["metric", "rows", "value", "interval", ""]),
    };
    for figure in &found.overall.defined {
        let interval = figure.interval.map_or_else(String::new, |interval| {
            format!("{} to {}", number(interval.low), number(interval.high))
        });
        let before = before.and_then(|before| before.overall.estimate(figure.metric));
        table.add_row([
            figure.metric.key().to_owned(),
            figure.rows.to_string(),
            number(figure.estimate),
            interval,
            before.map_or_else(String::new, number),
        ]);
    }
    let mut text = format!("{table}\n");
    if let Some(few) = found.few_resampled() {
        text.push_str(&format!("{few}.\n"));
    }
    if !found.by_group.is_empty() {
        text.push_str(&format!("\n{}\n", groups(found)));
    }
    text
}

fn groups(found: &Evaluation) -> Table {
    let mut table = table(["group", "rows", "accuracy", "nll", "brier", "ece"]);
    let of = |figures: &Figures, metric| figures.estimate(metric).map_or_else(String::new, number);
    for group in &found.by_group {
        table.add_row([
            group.group.clone(),
            group.rows.to_string(),
            of(&group.figures, Metric::Accuracy),
            of(&group.figures, Metric::Nll),
            of(&group.figures, Metric::BrierMulticlass),
            of(&group.figures, Metric::EceEqualMass15),
        ]);
    }
    table
}

/// Both sides of a comparison.
pub(super) fn comparison(found: &Comparison) -> String {
    let mut text = compared("all rows", &found.overall);
    for group in &found.by_group {
        text.push('\n');
        text.push_str(&compared(&group.group, &group.compared));
    }
    text
}

fn compared(name: &str, found: &Compared) -> String {
    let mut table = table(["metric", "rows", "first", "second", "difference", "interval"]);
    for figure in &found.metrics {
        table.add_row([
            figure.metric.key().to_owned(),
            figure.rows.to_string(),
            number(figure.first),
            number(figure.second),
            format!("{:+.4}", figure.difference),
            figure.interval.map_or_else(String::new, |interval| {
                format!("{:+.4} to {:+.4}", interval.low, interval.high)
            }),
        ]);
    }
    let mcnemar = found.mcnemar.as_ref().map_or_else(String::new, |test| {
        format!(
            ", McNemar p = {:.4} (only first right {}, only second right {})",
            test.p_value, test.only_first, test.only_second
        )
    });
    format!(
        "{name}: {} rows, same answer on {} ({:.4}){mcnemar}, probabilities differ by {:.6} on average and {:.6} at most\n{table}\n",
        found.rows, found.same_answer, found.agreement, found.change.mean, found.change.largest
    )
}
