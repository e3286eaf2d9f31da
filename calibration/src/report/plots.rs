//! The plots of a report, as SVG.
//!
//! No text of a caller is in them. Colours are written as attributes, which the style sheet of the page maps to those of
//! its light or dark form.

use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::CalibrationError;
use crate::evaluation::Curves;

const SIZE: (u32, u32) = (460, 380);
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const MAIN: RGBColor = RGBColor(0x25, 0x63, 0xaa);
const BEFORE: RGBColor = RGBColor(0xb4, 0x69, 0x0e);
const WRONG: RGBColor = RGBColor(0xb3, 0x26, 0x1e);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Reliability diagram: promised probability against accuracy, with intervals, and the number of rows of every bin on top.
pub(super) fn reliability(curves: &Curves, before: Option<&Curves>) -> Result<String, CalibrationError> {
    svg(|area| {
        // Above 1 is where the numbers of rows stand.
        let mut chart = axes(
            area,
            1.0,
            1.12,
            "Top probability (promised)",
            "Accuracy (kept)",
            2,
        )?;
        let diagonal = (0..20).map(|dash| f64::from(dash) / 20.0);
        for start in diagonal {
            let dash = [(start, start), (start + 0.025, start + 0.025)];
            chart.draw_series(LineSeries::new(dash, INK.stroke_width(1)))?;
        }
        if let Some(before) = before {
            promises(&mut chart, before, BEFORE.stroke_width(1))?;
        }
        promises(&mut chart, curves, MAIN.stroke_width(2))?;
        let style = TextStyle::from(("sans-serif", 14))
            .color(&INK)
            .pos(Pos::new(HPos::Center, VPos::Center));
        chart.draw_series(curves.reliability.iter().map(|point| {
            let centre = f64::midpoint(point.lower, point.upper);
            Text::new(short(point.rows), (centre, 1.06), style.clone())
        }))?;
        Ok(())
    })
}

/// The points of one reliability diagram with their intervals.
fn promises(chart: &mut Chart<'_, '_>, curves: &Curves, style: ShapeStyle) -> Drawn {
    for point in &curves.reliability {
        let (x, low, high) = (point.mean_probability, point.low, point.high);
        let cap = |end| vec![((x - 0.01).max(0.0), end), ((x + 0.01).min(1.0), end)];
        for line in [vec![(x, low), (x, high)], cap(low), cap(high)] {
            chart.draw_series(std::iter::once(PathElement::new(line, style)))?;
        }
    }
    let points = curves.reliability.iter();
    let points = points.map(|point| (point.mean_probability, point.accuracy));
    chart.draw_series(LineSeries::new(points.clone(), style))?;
    chart.draw_series(points.map(|at| Circle::new(at, 4, style.color.filled())))?;
    Ok(())
}

/// Rows by top probability, right ones below wrong ones; the outline is before calibration.
pub(super) fn confidence(curves: &Curves, before: Option<&Curves>) -> Result<String, CalibrationError> {
    let all = |curves: &Curves| -> Vec<f64> {
        let rows = curves.confidence.iter().map(|bar| bar.right + bar.wrong);
        rows.map(|rows| rows as f64).collect()
    };
    let outline = before.map(all).unwrap_or_default();
    let most = all(curves)
        .into_iter()
        .chain(outline.iter().copied())
        .fold(1.0, f64::max);
    svg(|area| {
        let mut chart = axes(area, 1.0, most * 1.05, "Top probability", "Rows", 0)?;
        let bars = curves.confidence.len().max(1) as f64;
        let edge = |bar: usize| bar as f64 / bars;
        for (index, bar) in curves.confidence.iter().enumerate() {
            let (left, right) = (edge(index) + 0.004, edge(index + 1) - 0.004);
            let (kept, top) = (bar.right as f64, (bar.right + bar.wrong) as f64);
            for (from, to, colour) in [(0.0, kept, MAIN), (kept, top, WRONG)] {
                if to > from {
                    let rectangle = Rectangle::new([(left, from), (right, to)], colour.filled());
                    chart.draw_series(std::iter::once(rectangle))?;
                }
            }
        }
        let steps = outline
            .iter()
            .enumerate()
            .flat_map(|(bar, rows)| [(edge(bar), *rows), (edge(bar + 1), *rows)]);
        chart.draw_series(LineSeries::new(steps, BEFORE.stroke_width(2)))?;
        Ok(())
    })
}

/// The share of wrong rows among those that are answered.
pub(super) fn risk_coverage(curves: &Curves, before: Option<&Curves>) -> Result<String, CalibrationError> {
    let points = |curves: &Curves| -> Vec<(f64, f64)> {
        let all = curves.risk_coverage.iter();
        all.map(|point| (point.coverage, point.risk)).collect()
    };
    let (main, before) = (points(curves), before.map(points).unwrap_or_default());
    let most = main
        .iter()
        .chain(&before)
        .fold(0.05, |most: f64, (_, risk)| most.max(*risk));
    svg(|area| {
        let top = (most * 1.1).min(1.0);
        let mut chart = axes(
            area,
            1.0,
            top,
            "Coverage (share of rows answered)",
            "Risk (share of them wrong)",
            if top < 0.1 { 3 } else { 2 },
        )?;
        chart.draw_series(LineSeries::new(before.iter().copied(), BEFORE.stroke_width(2)))?;
        chart.draw_series(LineSeries::new(main.iter().copied(), MAIN.stroke_width(2)))?;
        // One point alone makes no line.
        if let [only] = main.as_slice() {
            chart.draw_series(std::iter::once(Circle::new(*only, 4, MAIN.filled())))?;
        }
        Ok(())
    })
}

fn svg(draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, CalibrationError> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(&area)
        .and_then(|()| Ok(area.present()?))
        .map_err(|error| CalibrationError::Plot(error.to_string()))?;
    drop(area);
    Ok(text)
}

fn axes<'a, 'b>(
    area: &'a Area<'b>,
    right: f64,
    top: f64,
    x: &str,
    y: &str,
    decimals: usize,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(52)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|value| format!("{value:.1}"))
        .y_label_formatter(&|value| {
            // The room for numbers above 1 has no label.
            if decimals == 2 && *value > 1.001 {
                String::new()
            } else {
                format!("{value:.decimals$}")
            }
        })
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 16).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 17).into_font().color(&INK))
        .draw()?;
    Ok(chart)
}

/// A count that fits above a bin.
fn short(count: usize) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}
