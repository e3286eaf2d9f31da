//! The fit of a head against scikit-learn's LogisticRegression (tests/golden/make_logistic.py), and what a fit keeps.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use assize_heads::fit::{FitOptions, Folds, HiddenRows, Normaliser, fit, fit_at};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    options: usize,
    hidden: Vec<Vec<f32>>,
    gold: Vec<usize>,
    c: f64,
    fitted: Reference,
}

#[derive(Deserialize)]
struct Reference {
    mean: Vec<f64>,
    deviation: Vec<f64>,
    weight: Vec<Vec<f64>>,
    bias: Vec<f64>,
}

fn rows(options: usize, hidden: &[Vec<f32>], gold: &[usize]) -> HiddenRows {
    let mut rows = HiddenRows::new(hidden[0].len(), options).unwrap();
    for (row, (hidden, gold)) in hidden.iter().zip(gold).enumerate() {
        rows.push(hidden, *gold, &row.to_string()).unwrap();
    }
    rows
}

fn close(name: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{name}: {found} is not {expected}"
    );
}

#[test]
fn coefficients_are_those_of_scikit_learn() {
    let golden: Golden = serde_json::from_slice(include_bytes!("golden/logistic.json")).unwrap();
    assert!(golden.cases.len() > 8);
    for case in golden.cases {
        let rows = rows(case.options, &case.hidden, &case.gold);
        let normaliser = Normaliser::of(&rows);
        let scales = normaliser.mean.iter().zip(&normaliser.deviation);
        for ((mean, deviation), (expected_mean, expected_deviation)) in
            scales.zip(case.fitted.mean.iter().zip(&case.fitted.deviation))
        {
            close(
                &case.name,
                f64::from(*mean),
                *expected_mean,
                1e-6 * expected_mean.abs().max(1e-3),
            );
            close(&case.name, f64::from(*deviation) / expected_deviation, 1.0, 1e-6);
        }
        let found = fit_at(&normaliser.apply(&rows), rows.gold(), case.options, case.c, None).unwrap();
        for (found, expected) in found.weight.iter().zip(case.fitted.weight.iter().flatten()) {
            close(&case.name, *found, *expected, 1e-5);
        }
        for (found, expected) in found.bias.iter().zip(&case.fitted.bias) {
            close(&case.name, *found, *expected, 1e-5);
        }
    }
}

/// Rows whose second number alone says which option is gold, most of the time, and 30 numbers that say nothing.
fn noisy() -> HiddenRows {
    let mut state = 12345_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((state >> 33) as f32) / (1_u64 << 31) as f32 - 0.5
    };
    let mut rows = HiddenRows::new(32, 2).unwrap();
    for row in 0..160 {
        let hidden: Vec<f32> = (0..32).map(|_| random()).collect();
        let gold = usize::from(hidden[1] + 0.6 * random() > 0.0);
        rows.push(&hidden, gold, &(row / 2).to_string()).unwrap();
    }
    rows
}

#[test]
fn the_strength_is_chosen_by_rows_that_were_left_out() {
    let rows = noisy();
    let options = FitOptions {
        folds: Folds { count: 4, seed: 7 },
        strengths: vec![1e-4, 1e-2, 1e-1, 10.0, 1000.0],
    };
    let found = fit(&rows, &options, || {}).unwrap();
    assert_eq!(
        found,
        fit(&rows, &options, || {}).unwrap(),
        "the same on every run"
    );
    let best = found.tried.iter().min_by(|a, b| a.nll.total_cmp(&b.nll)).unwrap();
    assert_eq!(best.c, found.strength);
    // With 32 numbers and 160 rows neither end of the range is best.
    assert!((1e-3..100.0).contains(&found.strength), "{:?}", found.tried);
    // The left-out scores are not those of the fit on all rows, which knows the answers.
    let nll = |scores: &[Vec<f32>]| {
        let of_row = |(scores, gold): (&Vec<f32>, &usize)| {
            let total: f64 = scores.iter().map(|s| f64::from(*s).exp()).sum();
            total.ln() - f64::from(scores[*gold])
        };
        scores.iter().zip(rows.gold()).map(of_row).sum::<f64>() / rows.len() as f64
    };
    let x = found.normaliser.apply(&rows);
    let known: Vec<Vec<f32>> = x
        .chunks_exact(32)
        .map(|x| found.weights.scores(x).iter().map(|s| *s as f32).collect())
        .collect();
    assert!((nll(&found.out_of_fold) - best.nll).abs() < 1e-5);
    assert!(nll(&known) < nll(&found.out_of_fold) - 0.01);
}

#[test]
fn labels_that_say_nothing_are_not_learnt() {
    let rows = noisy();
    let mut shuffled = HiddenRows::new(32, 2).unwrap();
    for (row, hidden) in rows.hidden().enumerate() {
        shuffled
            .push(hidden, (row * 7919 / 13) % 2, &row.to_string())
            .unwrap();
    }
    let found = fit(&shuffled, &FitOptions::default(), || {}).unwrap();
    let best = found
        .tried
        .iter()
        .map(|tried| tried.nll)
        .fold(f64::INFINITY, f64::min);
    // The entropy of a fair coin is 0.693; memorised labels would look better than it.
    assert!(best > 0.66, "{:?}", found.tried);
    assert!(found.strength < 1e-2, "{:?}", found.tried);
}
