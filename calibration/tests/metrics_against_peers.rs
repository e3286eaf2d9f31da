//! The metrics give what scikit-learn, torchmetrics, netcal, scipy and scoringrules give, and differ from them only where
//! the docstrings say so. golden/make_metrics.py wrote the values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use assize_calibration::metrics::{self, Binning, Bootstrap, distribution};
use assize_calibration::{CalibrationError, Probability};
use serde_json::{Value, from_value};

#[derive(serde::Deserialize)]
struct Golden {
    versions: BTreeMap<String, String>,
    cases: Vec<Case>,
}

/// By metric, by source.
type Values = BTreeMap<String, BTreeMap<String, Value>>;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    denominator: u32,
    counts: Vec<Vec<u32>>,
    labels: Vec<usize>,
    votes: Vec<Vec<u32>>,
    agree: Values,
    differ: Values,
    undefined: Vec<String>,
}

fn golden() -> Golden {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/metrics.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

type Numbers = Result<Vec<f64>, CalibrationError>;

impl Case {
    fn rows(&self) -> Vec<Vec<Probability>> {
        let probability =
            |count: &u32| Probability::new(f64::from(*count) / f64::from(self.denominator)).unwrap();
        self.counts
            .iter()
            .map(|row| row.iter().map(probability).collect())
            .collect()
    }

    /// What this crate makes of a metric, named as in the file.
    fn found(&self, metric: &str) -> Numbers {
        let words: Vec<&str> = metric.split(' ').collect();
        let (rows, labels) = (self.rows(), self.labels.as_slice());
        let one = |value: Result<f64, CalibrationError>| value.map(|value| vec![value]);
        match words.as_slice() {
            ["distribution", score] => self.against_raters(score),
            ["bootstrap", score] => self.bootstrap(score),
            ["selective_accuracy", coverage] => {
                let coverage = Probability::new(coverage.parse().unwrap()).unwrap();
                one(metrics::selective_accuracy(&rows, labels, coverage))
            }
            ["ece", bins] => one(metrics::ece(&rows, labels, bins.parse().unwrap())),
            ["ece_equal_mass", bins] => one(metrics::ece_equal_mass(&rows, labels, bins.parse().unwrap())),
            ["adaptive_calibration_error", bins] => {
                let ranges = bins.parse().unwrap();
                one(metrics::adaptive_calibration_error(&rows, labels, ranges))
            }
            [score, kind, bins] => {
                let bins = bins.parse().unwrap();
                let binning = match *kind {
                    "width" => Binning::EqualWidth(bins),
                    "mass" => Binning::EqualMass(bins),
                    other => panic!("{other}"),
                };
                self.in_bins(score, binning)
            }
            [score] if score.ends_with("binary") || ["auroc", "average_precision"].contains(score) => {
                self.of_predicate(score)
            }
            ["accuracy"] => one(metrics::accuracy(&rows, labels)),
            ["macro_accuracy"] => one(metrics::macro_accuracy(&rows, labels)),
            ["nll"] => one(metrics::nll(&rows, labels)),
            ["brier_multiclass"] => one(metrics::brier_multiclass(&rows, labels)),
            ["log_loss_skill"] => one(metrics::log_loss_skill(&rows, labels)),
            ["aurc"] => one(metrics::aurc(&rows, labels)),
            ["ranked_probability_score"] => one(metrics::ranked_probability_score(&rows, labels)),
            ["ranked_probability_score_normalised"] => {
                one(metrics::ranked_probability_score_normalised(&rows, labels))
            }
            ["confusion_matrix"] => metrics::confusion_matrix(&rows, labels).map(triples),
            other => panic!("{other:?}"),
        }
    }

    fn in_bins(&self, score: &str, binning: Binning) -> Numbers {
        let (rows, labels) = (self.rows(), self.labels.as_slice());
        let one = |value: Result<f64, CalibrationError>| value.map(|value| vec![value]);
        match score {
            "mce" => one(metrics::mce(&rows, labels, binning)),
            "classwise_ece" => one(metrics::classwise_ece(&rows, labels, binning)),
            "over_under_confidence" => metrics::over_under_confidence(&rows, labels, binning)
                .map(|found| vec![found.over, found.under]),
            "brier_decomposition" => {
                metrics::brier_decomposition_multiclass(&rows, labels, binning).map(parts)
            }
            "ece_binary"
            | "brier_decomposition_binary"
            | "reliability_diagram_binary"
            | "reliability_interval_binary" => {
                let (probabilities, labels) = self.predicate();
                match score {
                    "ece_binary" => one(metrics::ece_binary(&probabilities, &labels, binning)),
                    "brier_decomposition_binary" => {
                        metrics::brier_decomposition_binary(&probabilities, &labels, binning).map(parts)
                    }
                    _ => metrics::reliability_diagram_binary(&probabilities, &labels, binning).map(|bins| {
                        let numbers = bins.iter().flat_map(|bin| match score {
                            "reliability_diagram_binary" => [bin.mean_probability, bin.frequency],
                            _ => [bin.frequency_low, bin.frequency_high],
                        });
                        numbers.collect()
                    }),
                }
            }
            other => panic!("{other}"),
        }
    }

    fn predicate(&self) -> (Vec<Probability>, Vec<bool>) {
        (
            self.rows().iter().map(|row| row[1]).collect(),
            self.labels.iter().map(|label| *label == 1).collect(),
        )
    }

    fn of_predicate(&self, score: &str) -> Numbers {
        let (probabilities, labels) = self.predicate();
        let scores: Vec<f64> = probabilities.iter().map(|p| p.get()).collect();
        match score {
            "brier_binary" => metrics::brier_binary(&probabilities, &labels),
            "auroc" => metrics::auroc(&scores, &labels),
            "average_precision" => metrics::average_precision(&scores, &labels),
            other => panic!("{other}"),
        }
        .map(|value| vec![value])
    }

    fn against_raters(&self, score: &str) -> Numbers {
        let rows = self.rows();
        let gold: Vec<_> = self
            .votes
            .iter()
            .map(|votes| distribution::shares(votes).unwrap())
            .collect();
        match score {
            "cross_entropy" => distribution::cross_entropy(&rows, &gold),
            "entropy" => distribution::entropy(&gold),
            "kl_divergence" => distribution::kl_divergence(&rows, &gold),
            "brier" => distribution::brier(&rows, &gold),
            "ranked_probability_score" => distribution::ranked_probability_score(&rows, &gold),
            "ranked_probability_score_normalised" => {
                distribution::ranked_probability_score_normalised(&rows, &gold)
            }
            other => panic!("{other}"),
        }
        .map(|value| vec![value])
    }

    fn bootstrap(&self, score: &str) -> Numbers {
        let (rows, labels) = (self.rows(), &self.labels);
        let rows: Vec<&[Probability]> = rows.iter().map(Vec::as_slice).collect();
        let bootstrap = Bootstrap {
            resamples: 20000,
            seed: 1,
        };
        let interval = bootstrap.by_row(rows.len(), |drawn| {
            let (rows, labels) = (metrics::take(&rows, drawn), metrics::take(labels, drawn));
            match score {
                "accuracy" => metrics::accuracy(&rows, &labels),
                "nll" => metrics::nll(&rows, &labels),
                other => panic!("{other}"),
            }
        })?;
        Ok(vec![interval.low, interval.high])
    }
}

fn parts(parts: metrics::BrierDecomposition) -> Vec<f64> {
    vec![
        parts.reliability,
        parts.resolution,
        parts.uncertainty,
        parts.within_bin_variance,
        parts.within_bin_covariance,
    ]
}

/// Label, answer and count of the cells that are not 0.
fn triples(matrix: Vec<Vec<usize>>) -> Vec<f64> {
    let cells = matrix.iter().enumerate().flat_map(|(label, line)| {
        let of_cell = move |(answer, count): (usize, &usize)| [label, answer, *count];
        line.iter().enumerate().map(of_cell)
    });
    cells
        .filter(|cell| cell[2] > 0)
        .flatten()
        .map(|number| number as f64)
        .collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        // What JSON cannot hold: infinity.
        Value::Null => vec![f64::INFINITY],
        value => vec![from_value(value.clone()).unwrap()],
    }
}

fn tolerance(metric: &str, source: &str) -> f64 {
    match metric {
        // Other draws: two steps of 1 / 90 in an accuracy.
        "bootstrap accuracy" => 0.023,
        "bootstrap nll" => 0.01,
        _ if source.ends_with("float32") => 1e-6,
        _ => 1e-9,
    }
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() <= tolerance)
}

#[test]
fn where_definitions_agree() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in golden().cases {
        for (metric, sources) in &case.agree {
            let found = case.found(metric).unwrap();
            for (source, value) in sources {
                compared += 1;
                if !close(&found, &numbers(value), tolerance(metric, source)) {
                    wrong.push(format!("{}: {metric}: {found:?}, {source} {value}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{compared} compared; {}", wrong.join("\n"));
    assert!(compared > 700, "{compared}");
}

#[test]
fn where_definitions_differ() {
    let mut sources = Vec::new();
    for case in golden().cases {
        for (metric, values) in &case.differ {
            for (source, value) in values {
                if let Ok(found) = case.found(metric) {
                    assert!(found.iter().all(|number| number.is_finite()), "{metric}");
                    let same = close(&found, &numbers(value), 1e-7);
                    assert!(!same, "{}: {metric} is {source}'s after all", case.name);
                }
                sources.push(source.clone());
            }
        }
    }
    sources.sort();
    sources.dedup();
    assert_eq!(sources, ["netcal", "netcal ACE", "sklearn", "torchmetrics"]);
}

#[test]
fn what_is_undefined_is_refused() {
    let mut refused = 0;
    for case in golden().cases {
        for metric in &case.undefined {
            let error = case.found(metric).unwrap_err();
            let kind = matches!(
                error,
                CalibrationError::Undefined { .. } | CalibrationError::OneClass(_)
            );
            assert!(kind, "{}: {metric}: {error}", case.name);
            refused += 1;
        }
    }
    assert!(refused >= 7, "{refused}");
}

#[test]
fn versions_are_recorded() {
    let versions = golden().versions;
    for package in ["scikit-learn", "torchmetrics", "netcal", "scoringrules"] {
        assert!(versions.contains_key(package), "{package}");
    }
}
