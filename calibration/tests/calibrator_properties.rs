//! Properties of every kind of calibrator on generated rows: never NaN, sums of one, the argmax kept where asked, the same
//! after writing and reading; and the cross-validated choice.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not know for tests

use assize_calibration::calibrators::{Argmax, Calibrator, Candidate, Folds, Map, choose};
use assize_calibration::{CalibrationError, ScoredRow, Shape};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Scores as readouts give them, and as they should not: equal, tiny, huge.
fn score() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => -8.0_f32..8.0,
        2 => (-3_i8..4).prop_map(f32::from),
        1 => Just(0.0_f32),
        1 => prop_oneof![Just(f32::MIN_POSITIVE), Just(1e-45_f32), Just(-1e-30_f32)],
        1 => prop_oneof![Just(f32::MAX), Just(f32::MIN), Just(1e6_f32), Just(-1e4_f32)],
    ]
}

fn rows(options: usize, shape: Shape) -> impl Strategy<Value = Vec<ScoredRow>> {
    let row = (prop::collection::vec(score(), options), 0..options);
    prop::collection::vec(row, 1..25).prop_map(move |rows| {
        let rows = rows.into_iter();
        rows.map(|(scores, label)| ScoredRow::new(scores, label, shape).unwrap())
            .collect()
    })
}

fn any_rows() -> impl Strategy<Value = Vec<ScoredRow>> {
    prop_oneof![
        3 => rows(2, Shape::Predicate),
        1 => rows(3, Shape::Choice),
        1 => rows(5, Shape::Score),
        1 => rows(1, Shape::Choice),
    ]
}

/// The first of the highest.
fn argmax<T: PartialOrd>(values: &[T]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

/// Whether the candidate is made for such rows at all.
fn applies(candidate: Candidate, shape: Shape) -> bool {
    shape == Shape::Predicate
        || !matches!(
            candidate,
            Candidate::Platt { .. }
                | Candidate::Beta { .. }
                | Candidate::Isotonic
                | Candidate::Histogram { .. }
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_kind_is_bounded_and_keeps_the_argmax(
        (fitted, other) in any_rows().prop_flat_map(|fitted| {
            let (options, shape) = (fitted[0].scores().len(), fitted[0].shape());
            (Just(fitted), rows(options, shape))
        }),
    ) {
        let shape = fitted[0].shape();
        for candidate in Candidate::ALL {
            for rule in [Argmax::Kept, Argmax::MayChange] {
                let calibrator = match candidate.fit(&fitted, rule) {
                    Ok(calibrator) => calibrator,
                    Err(CalibrationError::NotApplicable { .. }) => {
                        prop_assert!(!applies(candidate, shape));
                        continue;
                    }
                    // Scores up to the largest float may be beyond what the optimiser can do: said, not hidden.
                    Err(CalibrationError::Fit { .. }) => {
                        let largest = fitted.iter().flat_map(|row| row.scores()).fold(0.0_f32, |a, b| a.max(b.abs()));
                        prop_assert!(largest > 100.0, "{candidate:?} gave up on ordinary scores");
                        continue;
                    }
                    Err(error) => panic!("{candidate:?}: {error}"),
                };
                let stored = serde_json::to_string(&calibrator).unwrap();
                let read: Calibrator = serde_json::from_str(&stored).unwrap();
                prop_assert_eq!(&read, &calibrator);
                for row in fitted.iter().chain(&other) {
                    let p = calibrator.apply(row.scores(), shape).unwrap();
                    prop_assert_eq!(&p, &read.apply(row.scores(), shape).unwrap());
                    let sum: f64 = p.iter().map(|p| p.get()).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-9, "{candidate:?}: {sum}");
                    if rule == Argmax::Kept {
                        prop_assert_eq!(argmax(&p), argmax(row.scores()), "{:?} {:?} {:?}", candidate, row, p);
                    }
                }
            }
        }
    }
}

/// Predicate rows whose log-odds are `slope * d + shift`.
fn drawn(n: usize, slope: f64, shift: f64, seed: u64) -> Vec<ScoredRow> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..n)
        .map(|_| {
            let d: f64 = random.random_range(-5.0..5.0);
            let p = 1.0 / (1.0 + (-(slope * d + shift)).exp());
            let label = usize::from(random.random::<f64>() < p);
            ScoredRow::new(vec![0.0, d as f32], label, Shape::Predicate).unwrap()
        })
        .collect()
}

fn mean_nll(calibrator: &Calibrator, rows: &[ScoredRow]) -> f64 {
    let p: Vec<_> = rows
        .iter()
        .map(|row| calibrator.apply(row.scores(), row.shape()).unwrap())
        .collect();
    let labels: Vec<usize> = rows.iter().map(ScoredRow::label).collect();
    assize_calibration::metrics::nll(&p, &labels).unwrap()
}

#[test]
fn the_choice_is_by_rows_that_were_not_fitted() {
    let rows = drawn(300, 0.3, 1.0, 1);
    let chosen = choose(&rows, &Candidate::ALL, Argmax::MayChange, Folds::default()).unwrap();
    assert_eq!(chosen.fold_of.len(), 300);
    assert_eq!(chosen.tried.len(), Candidate::ALL.len());
    // By hand: each fold predicted by a fit on the others.
    let tried = chosen
        .tried
        .iter()
        .find(|tried| tried.candidate == Candidate::Temperature)
        .unwrap();
    let mut total = 0.0;
    for fold in 0..5 {
        let part = |inside: bool| -> Vec<ScoredRow> {
            let all = rows.iter().zip(&chosen.fold_of);
            all.filter(|(_, of)| (**of == fold) == inside)
                .map(|(row, _)| row.clone())
                .collect()
        };
        let fit = Candidate::Temperature
            .fit(&part(false), Argmax::MayChange)
            .unwrap();
        total += mean_nll(&fit, &part(true)) * part(true).len() as f64;
    }
    assert!((tried.nll.unwrap() - total / 300.0).abs() < 1e-12);
    // The best of those, refitted on all rows; it helps on rows from the same source.
    let best = chosen
        .tried
        .iter()
        .filter_map(|tried| tried.nll)
        .fold(f64::INFINITY, f64::min);
    let winner = chosen.tried.iter().find(|tried| tried.nll == Some(best)).unwrap();
    assert_eq!(winner.candidate, chosen.candidate);
    assert_eq!(
        chosen.calibrator,
        chosen.candidate.fit(&rows, Argmax::MayChange).unwrap()
    );
    let fresh = drawn(2000, 0.3, 1.0, 2);
    let identity = Calibrator::new(Map::Identity, Argmax::MayChange);
    assert!(mean_nll(&chosen.calibrator, &fresh) < mean_nll(&identity, &fresh) - 0.1);
    // The same again, and the same after writing and reading.
    let again = choose(&rows, &Candidate::ALL, Argmax::MayChange, Folds::default()).unwrap();
    assert_eq!(again, chosen);
    let json = serde_json::to_string(&chosen).unwrap();
    assert_eq!(
        serde_json::from_str::<assize_calibration::calibrators::Chosen>(&json).unwrap(),
        chosen
    );
}

#[test]
fn groups_stay_in_one_fold_and_refusals_are_listed() {
    let rows: Vec<ScoredRow> = drawn(60, 1.0, 0.0, 3)
        .into_iter()
        .enumerate()
        .map(|(index, row)| row.in_group(format!("document {}", index / 10)))
        .collect();
    let folds = Folds { count: 3, seed: 9 };
    let chosen = choose(&rows, &Candidate::ALL, Argmax::Kept, folds).unwrap();
    for document in chosen.fold_of.chunks(10) {
        assert!(document.iter().all(|fold| *fold == document[0]));
    }
    assert!(choose(&rows, &Candidate::ALL, Argmax::Kept, Folds { count: 7, seed: 0 }).is_err());
    let choices: Vec<ScoredRow> = (0..30)
        .map(|row| ScoredRow::new(vec![1.0, 0.0, 0.5], row % 3, Shape::Choice).unwrap())
        .collect();
    let chosen = choose(&choices, &Candidate::ALL, Argmax::Kept, folds).unwrap();
    let isotonic = chosen
        .tried
        .iter()
        .find(|tried| tried.candidate == Candidate::Isotonic)
        .unwrap();
    assert_eq!(isotonic.nll, None);
    assert_eq!(
        isotonic.refused.as_deref(),
        Some("isotonic regression needs predicate rows, and was given a choice row")
    );
    assert!(choose(&choices, &[Candidate::Isotonic], Argmax::Kept, folds).is_err());
    assert!(choose(&[], &Candidate::ALL, Argmax::Kept, folds).is_err());
    assert!(choose(&choices, &[], Argmax::Kept, folds).is_err());
}
