//! Calibrators, prediction sets and Clopper-Pearson bounds against scikit-learn, netcal, MAPIE and scipy: the values of
//! `golden/calibrators.json`, which `golden/make_calibrators.py` writes.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not know for tests

use assize_calibration::calibrators::{
    Argmax, Beta, Bins, Calibrator, Histogram, Isotonic, Map, Platt, Targets, Temperature, Vector,
};
use assize_calibration::conformal::{PredictionSets, Rule};
use assize_calibration::thresholds::{lower_bound, upper_bound};
use assize_calibration::{CalibrationError, Probability, ScoredRow, Shape};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    predicates: Vec<Predicate>,
    choices: Vec<Choice>,
    conformal: Vec<Conformal>,
    clopper_pearson: Vec<(usize, usize, f64, f64, f64)>,
}

#[derive(Deserialize)]
struct Predicate {
    name: String,
    margins: Vec<f32>,
    labels: Vec<usize>,
    grid: Vec<f32>,
    isotonic: Vec<f64>,
    platt_smoothed: Line,
    platt_plain: Option<Line>,
    beta_plain: Option<BetaFit>,
    beta_netcal_nll: Option<f64>,
    #[serde(default)]
    histogram: Vec<Binned>,
}

#[derive(Deserialize)]
struct Line {
    slope: f64,
    intercept: f64,
    nll: Option<f64>,
}

#[derive(Deserialize)]
struct BetaFit {
    parameters: [f64; 3],
    nll: f64,
}

#[derive(Deserialize)]
struct Binned {
    bins: usize,
    grid: Vec<f64>,
}

#[derive(Deserialize)]
struct Choice {
    name: String,
    scores: Vec<Vec<f32>>,
    labels: Vec<usize>,
    temperature: Temperatures,
    vector: Option<VectorFit>,
}

#[derive(Deserialize)]
struct Temperatures {
    scipy: f64,
    nll: f64,
    sklearn: Option<f64>,
    netcal: Option<f64>,
}

#[derive(Deserialize)]
struct VectorFit {
    ridge: f64,
    objective: f64,
    weights: Vec<f64>,
    biases: Vec<f64>,
}

#[derive(Deserialize)]
struct Conformal {
    coverage: f64,
    rows: Vec<Vec<Probability>>,
    labels: Vec<usize>,
    new: Vec<Vec<Probability>>,
    draws: Vec<f64>,
    new_draws: Vec<f64>,
    lac: Sets,
    aps: Sets,
    aps_randomised: Option<Sets>,
}

#[derive(Deserialize)]
struct Sets {
    quantile: f64,
    sets: Vec<Vec<usize>>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/calibrators.json")).unwrap()
}

impl Predicate {
    fn rows(&self) -> Vec<ScoredRow> {
        let rows = self.margins.iter().zip(&self.labels);
        rows.map(|(d, label)| ScoredRow::new(vec![0.0, *d], *label, Shape::Predicate).unwrap())
            .collect()
    }

    /// P(true) on the grid.
    fn on_grid(&self, map: Map) -> Vec<f64> {
        let calibrator = Calibrator::new(map, Argmax::MayChange);
        let p = |d: &f32| calibrator.apply(&[0.0, *d], Shape::Predicate).unwrap()[1].get();
        self.grid.iter().map(p).collect()
    }

    /// Mean NLL of its rows where log-odds are known exactly.
    fn nll(&self, log_odds: impl Fn(f64) -> f64) -> f64 {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let rows = self.margins.iter().zip(&self.labels);
        let total: f64 = rows
            .map(|(d, label)| {
                let x = log_odds(f64::from(*d));
                softplus(x) - *label as f64 * x
            })
            .sum();
        total / self.labels.len() as f64
    }
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= tolerance * scale,
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn isotonic_as_scikit_learn() {
    let mut compared = 0;
    for case in golden().predicates {
        let fitted = Isotonic::fit_with_floor(&case.rows(), 0.0).unwrap();
        for (found, expected) in case.on_grid(Map::Isotonic(fitted)).iter().zip(&case.isotonic) {
            close(&case.name, *found, *expected, 1e-9);
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn platt_as_scikit_learn() {
    let mut compared = 0;
    for case in golden().predicates {
        let name = &case.name;
        let smoothed = Platt::fit(&case.rows(), Targets::Smoothed).unwrap();
        close(name, smoothed.slope(), case.platt_smoothed.slope, 1e-4);
        close(name, smoothed.intercept(), case.platt_smoothed.intercept, 1e-4);
        let plain = Platt::fit(&case.rows(), Targets::Plain);
        let Some(line) = &case.platt_plain else {
            assert!(matches!(plain, Err(CalibrationError::Separable(_))), "{name}");
            continue;
        };
        let plain = plain.unwrap();
        close(name, plain.slope(), line.slope, 1e-6);
        close(name, plain.intercept(), line.intercept, 1e-6);
        let nll = case.nll(|d| plain.slope() * d + plain.intercept());
        close(name, nll, line.nll.unwrap(), 1e-10);
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn beta_as_netcal_and_scipy() {
    let mut compared = 0;
    for case in golden().predicates {
        let name = &case.name;
        let Some(expected) = &case.beta_plain else {
            continue;
        };
        let fitted = Beta::fit(&case.rows(), Targets::Plain).unwrap();
        let [a, b, c] = fitted.parameters();
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let nll = case.nll(|d| -a * softplus(-d) + b * softplus(d) + c);
        close(name, nll, expected.nll, 1e-6);
        for (found, expected) in [a, b, c].iter().zip(expected.parameters) {
            close(name, *found, expected, 1e-4);
        }
        if let Some(netcal) = case.beta_netcal_nll {
            // netcal's optimiser stops earlier, never lower.
            assert!(nll <= netcal + 1e-6, "{name}: {nll} is above netcal's {netcal}");
            close(name, nll, netcal, 1e-4);
            compared += 1;
        }
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn histogram_as_netcal() {
    let mut compared = 0;
    for case in golden().predicates {
        for expected in &case.histogram {
            let fitted = Histogram::fit(&case.rows(), expected.bins, Bins::EqualWidth, 0.0).unwrap();
            let found = case.on_grid(Map::Histogram(fitted));
            // The ends of the grid are beyond what netcal takes.
            for (found, expected) in found[1..].iter().zip(&expected.grid) {
                close(&case.name, *found, *expected, 1e-9);
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

fn choice_rows(case: &Choice) -> Vec<ScoredRow> {
    let rows = case.scores.iter().zip(&case.labels);
    rows.map(|(scores, label)| ScoredRow::new(scores.clone(), *label, Shape::Choice).unwrap())
        .collect()
}

#[test]
fn temperature_as_scikit_learn_netcal_and_scipy() {
    let (mut sklearn, mut netcal) = (0, 0);
    for case in golden().choices {
        let rows = choice_rows(&case);
        let fitted = Temperature::fit(&rows).unwrap();
        close(
            &case.name,
            fitted.nll(&rows).unwrap(),
            case.temperature.nll,
            1e-10,
        );
        close(&case.name, fitted.get(), case.temperature.scipy, 1e-6);
        if let Some(expected) = case.temperature.sklearn {
            close(&case.name, fitted.get(), expected, 1e-4);
            sklearn += 1;
        }
        if let Some(expected) = case.temperature.netcal {
            close(&case.name, fitted.get(), expected, 1e-4);
            netcal += 1;
        }
    }
    assert!(sklearn >= 4 && netcal >= 4, "{sklearn} {netcal}");
}

#[test]
fn vector_as_scipy() {
    let mut compared = 0;
    for case in golden().choices {
        let Some(expected) = &case.vector else { continue };
        let fitted = Vector::fit(&choice_rows(&case), expected.ridge).unwrap();
        for (found, expected) in fitted.weights().iter().zip(&expected.weights) {
            close(&case.name, *found, *expected, 1e-4);
        }
        for (found, expected) in fitted.biases().iter().zip(&expected.biases) {
            close(&case.name, *found, *expected, 1e-4);
        }
        let calibrator = Calibrator::new(Map::Vector(fitted.clone()), Argmax::MayChange);
        let total: f64 = case
            .scores
            .iter()
            .zip(&case.labels)
            .map(|(scores, label)| {
                -calibrator.apply(scores, Shape::Choice).unwrap()[*label]
                    .get()
                    .ln()
            })
            .sum();
        let drawn: f64 = fitted.weights().iter().map(|w| (w - 1.0).powi(2)).sum::<f64>()
            + fitted.biases().iter().map(|b| b * b).sum::<f64>();
        let objective = (total + expected.ridge / 2.0 * drawn) / case.labels.len() as f64;
        close(&case.name, objective, expected.objective, 1e-8);
        compared += 1;
    }
    assert_eq!(compared, 4);
}

#[test]
fn prediction_sets_as_mapie() {
    for (index, case) in golden().conformal.iter().enumerate() {
        let kinds = [
            (Rule::Lac, Some(&case.lac)),
            (Rule::Aps, Some(&case.aps)),
            (Rule::ApsRandomised, case.aps_randomised.as_ref()),
        ];
        for (rule, expected) in kinds {
            let Some(expected) = expected else { continue };
            let fitted =
                PredictionSets::fit_drawn(&case.rows, &case.labels, rule, case.coverage, &case.draws)
                    .unwrap();
            let what = format!("case {index}, {rule:?}");
            close(&what, fitted.quantile.unwrap(), expected.quantile, 1e-12);
            let found: Vec<_> = case
                .new
                .iter()
                .zip(&case.new_draws)
                .map(|(row, u)| fitted.set(row, *u).unwrap())
                .collect();
            assert_eq!(found, expected.sets, "{what}");
        }
    }
}

#[test]
fn clopper_pearson_as_scipy() {
    let all = golden().clopper_pearson;
    for (k, n, confidence, lower, upper) in &all {
        let what = format!("{k} of {n} at {confidence}");
        close(&what, lower_bound(*k, *n, *confidence).unwrap(), *lower, 1e-9);
        close(&what, upper_bound(*k, *n, *confidence).unwrap(), *upper, 1e-9);
    }
    assert!(all.len() > 250, "{}", all.len());
}
