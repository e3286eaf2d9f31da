//! Writes a report about generated rows: `report FILE [ROWS [OPTIONS [GROUPS]]]`.
//!
//! The rows' probabilities are overconfident; those shown as calibrated are the ones that the gold options were drawn by.

use std::time::Instant;

use anyhow::Context;
use assize_calibration::evaluation::{Evaluation, EvaluationOptions, Gold, JudgedRow};
use assize_calibration::report::{ProvenanceSection, Report, ShownRow};
use assize_calibration::{Shape, softmax};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

const SHARPER: f32 = 2.5;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("say where the report should go")?;
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (rows, options, groups) = (number(2000)?, number(6)?, number(12)?);
    let names: Vec<String> = (0..options).map(|option| format!("option {option}")).collect();
    let mut generator = ChaCha12Rng::seed_from_u64(1);
    let (mut calibrated, mut raw) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let scores: Vec<f32> = (0..options).map(|_| generator.random::<f32>() * 5.0).collect();
        let probabilities = softmax(&scores)?;
        let mut left: f64 = generator.random();
        let gold = probabilities
            .iter()
            .position(|p| {
                left -= p.get();
                left < 0.0
            })
            .unwrap_or(options - 1);
        let shape = if options == 2 {
            Shape::Predicate
        } else {
            Shape::Choice
        };
        let sharp: Vec<f32> = scores.iter().map(|score| score * SHARPER).collect();
        for (into, probabilities) in [(&mut calibrated, probabilities), (&mut raw, softmax(&sharp)?)] {
            let judged = JudgedRow::new(format!("row-{row}"), shape, probabilities, Gold::Option(gold))?;
            into.push(match groups {
                0 => judged,
                _ => judged.in_group(format!("document {}", row % groups)),
            });
        }
    }
    let settings = EvaluationOptions::default();
    let start = Instant::now();
    let evaluation = Evaluation::of(&calibrated, &settings)?;
    println!(
        "evaluated {rows} rows of {options} options in {:.1?}",
        start.elapsed()
    );
    let before = Evaluation::of(&raw, &settings)?;
    let shown: Vec<ShownRow<'_>> = calibrated
        .iter()
        .map(|row| ShownRow {
            row,
            state: "Customer: the parcel was left at the door & now it is <gone>.\nI would like my money back.",
            question: "What does the customer want?",
            options: &names,
        })
        .collect();
    let provenance = [
        ProvenanceSection {
            name: "Model".to_owned(),
            entries: vec![
                ("artifact".to_owned(), "0123456789abcdef".repeat(4)),
                ("engine".to_owned(), "none: rows are generated".to_owned()),
            ],
        },
        ProvenanceSection {
            name: "Data".to_owned(),
            entries: vec![("rows".to_owned(), rows.to_string())],
        },
    ];
    let report = Report {
        title: "Generated rows, with and without temperature scaling",
        provenance: &provenance,
        evaluation: &evaluation,
        rows: &shown,
        before: Some(&before),
        notes: &["Generated rows say nothing about any model.".to_owned()],
    };
    std::fs::write(&file, report.html()?)?;
    Ok(())
}
