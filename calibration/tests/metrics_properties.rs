//! Properties that every metric has, over hostile rows: ties, zeros, rows with one option and with several.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assize_calibration::metrics::{self, Binning, distribution};
use assize_calibration::{CalibrationError, Probability};
use proptest::prelude::*;

type Rows = Vec<Vec<Probability>>;

/// A metric's name, its largest value and what it found.
type Found = (&'static str, f64, Result<f64, CalibrationError>);

/// Every metric that is one number.
fn all(rows: &Rows, labels: &[usize], bins: usize) -> Vec<Found> {
    let options = rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let (width, mass) = (Binning::EqualWidth(bins), Binning::EqualMass(bins));
    let half = Probability::new(0.5).unwrap();
    let hits: Vec<bool> = labels.iter().map(|label| *label == 0).collect();
    let first: Vec<Probability> = rows.iter().map(|row| row[0]).collect();
    let scores: Vec<f64> = first.iter().map(|p| p.get()).collect();
    let gold: Rows = rows.iter().map(|row| uniform(row.len())).collect();
    vec![
        ("accuracy", 1.0, metrics::accuracy(rows, labels)),
        ("macro_accuracy", 1.0, metrics::macro_accuracy(rows, labels)),
        ("nll", 36.1, metrics::nll(rows, labels)),
        ("brier_multiclass", 2.0, metrics::brier_multiclass(rows, labels)),
        ("brier_binary", 1.0, metrics::brier_binary(&first, &hits)),
        ("ece", 1.0, metrics::ece(rows, labels, bins)),
        ("ece_equal_mass", 1.0, metrics::ece_equal_mass(rows, labels, bins)),
        ("ece_binary", 1.0, metrics::ece_binary(&first, &hits, mass)),
        ("mce width", 1.0, metrics::mce(rows, labels, width)),
        ("mce mass", 1.0, metrics::mce(rows, labels, mass)),
        (
            "classwise_ece width",
            1.0,
            metrics::classwise_ece(rows, labels, width),
        ),
        (
            "classwise_ece mass",
            1.0,
            metrics::classwise_ece(rows, labels, mass),
        ),
        (
            "adaptive",
            1.0,
            metrics::adaptive_calibration_error(rows, labels, bins),
        ),
        ("aurc", 1.0, metrics::aurc(rows, labels)),
        (
            "selective_accuracy",
            1.0,
            metrics::selective_accuracy(rows, labels, half),
        ),
        ("auroc", 1.0, metrics::auroc(&scores, &hits)),
        (
            "average_precision",
            1.0,
            metrics::average_precision(&scores, &hits),
        ),
        (
            "rps",
            options - 1.0,
            metrics::ranked_probability_score(rows, labels),
        ),
        (
            "rps normalised",
            1.0,
            metrics::ranked_probability_score_normalised(rows, labels),
        ),
        (
            "distribution cross_entropy",
            36.1,
            distribution::cross_entropy(rows, &gold),
        ),
        (
            "distribution kl_divergence",
            36.1,
            distribution::kl_divergence(rows, &gold),
        ),
        ("distribution brier", 2.0, distribution::brier(rows, &gold)),
        (
            "distribution rps",
            options - 1.0,
            distribution::ranked_probability_score(rows, &gold),
        ),
    ]
}

fn uniform(options: usize) -> Vec<Probability> {
    vec![Probability::new(1.0 / options as f64).unwrap(); options]
}

/// Rows of up to five options, coarse enough for many ties, and their labels.
fn drawn() -> impl Strategy<Value = (Rows, Vec<usize>)> {
    let row = (
        prop::collection::vec(0_u32..4, 1..6),
        any::<prop::sample::Index>(),
    );
    prop::collection::vec(row, 1..40).prop_map(|drawn| {
        let rows = drawn
            .iter()
            .map(|(counts, _)| distribution::shares(counts).unwrap_or_else(|_| uniform(counts.len())));
        let labels = drawn.iter().map(|(counts, label)| label.index(counts.len()));
        (rows.collect(), labels.collect())
    })
}

proptest! {
    #[test]
    fn finite_in_range_and_whatever_the_order(
        (rows, labels) in drawn(),
        bins in 1_usize..20,
        turn in any::<prop::sample::Index>(),
    ) {
        let (mut turned, mut turned_labels) = (rows.clone(), labels.clone());
        turned.rotate_left(turn.index(rows.len()));
        turned_labels.rotate_left(turn.index(rows.len()));
        turned.reverse();
        turned_labels.reverse();
        let again = all(&turned, &turned_labels, bins);
        for ((name, largest, found), (_, _, turned)) in all(&rows, &labels, bins).into_iter().zip(again) {
            match (found, turned) {
                (Ok(found), Ok(turned)) => {
                    prop_assert!(found >= -1e-12 && found <= largest + 1e-12, "{name}: {found}");
                    prop_assert!((found - turned).abs() < 1e-12, "{name}: {found} or {turned}");
                }
                (found, turned) => prop_assert_eq!(found, turned, "{}", name),
            }
        }
    }

    #[test]
    fn a_diagram_holds_every_row_once(
        (rows, labels) in drawn(),
        bins in 1_usize..20,
        mass in any::<bool>(),
    ) {
        let binning = if mass { Binning::EqualMass(bins) } else { Binning::EqualWidth(bins) };
        let diagram = metrics::reliability_diagram(&rows, &labels, binning).unwrap();
        prop_assert_eq!(diagram.iter().map(|bin| bin.count).sum::<usize>(), rows.len());
        prop_assert!(diagram.len() <= bins);
        for bin in &diagram {
            prop_assert!(bin.count > 0);
            let middle = bin.mean_probability;
            prop_assert!(bin.lower - 1e-12 <= middle && middle <= bin.upper + 1e-12, "{bin:?}");
            prop_assert!(bin.frequency_low <= bin.frequency && bin.frequency <= bin.frequency_high, "{bin:?}");
            prop_assert!(0.0 <= bin.frequency_low && bin.frequency_high <= 1.0, "{bin:?}");
        }
        let curve = metrics::risk_coverage_curve(&rows, &labels).unwrap();
        let last = curve.last().unwrap();
        prop_assert_eq!(last.coverage, 1.0);
        prop_assert!((last.risk - (1.0 - metrics::accuracy(&rows, &labels).unwrap())).abs() < 1e-12);
    }
}

#[test]
fn no_rows_are_refused_and_a_diagram_is_json() {
    let none: Rows = vec![];
    for (name, _, found) in all(&none, &[], 10) {
        assert!(found.is_err(), "{name}");
    }
    let rows = vec![uniform(2), vec![Probability::ONE, Probability::ZERO]];
    let diagram = metrics::reliability_diagram(&rows, &[1, 1], Binning::EqualWidth(10)).unwrap();
    let written = serde_json::to_string(&diagram).unwrap();
    assert!(!written.contains("null"), "{written}");
    let read: Vec<metrics::ReliabilityBin> = serde_json::from_str(&written).unwrap();
    assert_eq!(read, diagram);
}
