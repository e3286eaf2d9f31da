//! Evaluations and comparisons: each figure against the metric that it names, and against values by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assize_calibration::evaluation::{
    Comparison, Evaluation, EvaluationOptions, Figures, Gold, JudgedRow, McNemarTest, Metric, ResampledBy,
    mcnemar,
};
use assize_calibration::metrics::{self, Binning, Bootstrap, distribution, take};
use assize_calibration::{CalibrationError, Probability, Shape, softmax};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

const FEW: EvaluationOptions = EvaluationOptions {
    resamples: 200,
    seed: 3,
    confidence: 0.95,
};

fn probabilities(values: &[f64]) -> Vec<Probability> {
    values
        .iter()
        .map(|value| Probability::new(*value).unwrap())
        .collect()
}

fn row(id: &str, shape: Shape, p: &[f64], gold: usize) -> JudgedRow {
    JudgedRow::new(id, shape, probabilities(p), Gold::Option(gold)).unwrap()
}

/// Rows whose gold options are drawn by sharper probabilities than those stated.
fn drawn(shape: Shape, rows: usize, options: usize, seed: u64) -> Vec<JudgedRow> {
    let mut generator = ChaCha12Rng::seed_from_u64(seed);
    (0..rows)
        .map(|row| {
            let scores: Vec<f32> = (0..options).map(|_| generator.random::<f32>() * 4.0).collect();
            let sharp: Vec<f32> = scores.iter().map(|score| score * 1.5).collect();
            let mut left: f64 = generator.random();
            let gold = softmax(&sharp).unwrap().iter().position(|p| {
                left -= p.get();
                left < 0.0
            });
            let gold = Gold::Option(gold.unwrap_or(options - 1));
            JudgedRow::new(format!("{shape}-{row}"), shape, softmax(&scores).unwrap(), gold).unwrap()
        })
        .collect()
}

fn grouped(rows: Vec<JudgedRow>, groups: usize) -> Vec<JudgedRow> {
    let in_group = |(index, row): (usize, JudgedRow)| row.in_group(format!("g{}", index % groups));
    rows.into_iter().enumerate().map(in_group).collect()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

fn is(figures: &Figures, metric: Metric, expected: Result<f64, CalibrationError>) {
    let found = figures
        .estimate(metric)
        .unwrap_or_else(|| panic!("{metric}: {:?}", figures.reason(metric)));
    let expected = expected.unwrap();
    assert!(
        (found - expected).abs() < 1e-12,
        "{metric}: {found} is not {expected}"
    );
}

/// Every metric is there once, as a figure or by the reason, and nothing is NaN.
fn is_complete(figures: &Figures) {
    let mut named: Vec<Metric> = figures.defined.iter().map(|figure| figure.metric).collect();
    named.extend(figures.undefined.iter().map(|undefined| undefined.metric));
    named.sort();
    assert_eq!(named, Metric::ALL);
    for figure in &figures.defined {
        assert!(figure.estimate.is_finite() && figure.rows > 0, "{figure:?}");
        if let Some(interval) = figure.interval {
            assert!(
                interval.low <= interval.high && interval.low.is_finite(),
                "{figure:?}"
            );
        }
    }
    assert!(
        figures
            .undefined
            .iter()
            .all(|undefined| !undefined.reason.is_empty())
    );
}

fn parts(rows: &[JudgedRow]) -> (Vec<&[Probability]>, Vec<usize>) {
    let labelled = || rows.iter().filter(|row| row.gold_option().is_some());
    (
        labelled().map(JudgedRow::probabilities).collect(),
        labelled().filter_map(JudgedRow::gold_option).collect(),
    )
}

#[test]
fn figures_are_those_of_the_metrics() {
    let rows = grouped(drawn(Shape::Score, 300, 5, 1), 40);
    let found = Evaluation::of(&rows, &FEW).unwrap();
    let (p, gold) = parts(&rows);
    let groups: Vec<&str> = rows.iter().filter_map(JudgedRow::group).collect();
    let figures = &found.overall;
    is_complete(figures);
    let mass = Binning::EqualMass(15);
    let brier = metrics::brier_decomposition_multiclass(&p, &gold, Binning::EqualWidth(10)).unwrap();
    let direction = metrics::over_under_confidence(&p, &gold, mass).unwrap();
    let at = |coverage| metrics::selective_accuracy(&p, &gold, Probability::new(coverage).unwrap());
    for (metric, expected) in [
        (Metric::Accuracy, metrics::accuracy(&p, &gold)),
        (
            Metric::AccuracyOverGroups,
            metrics::accuracy_over_groups(&p, &gold, &groups),
        ),
        (Metric::MacroAccuracy, metrics::macro_accuracy(&p, &gold)),
        (Metric::Nll, metrics::nll(&p, &gold)),
        (Metric::LogLossSkill, metrics::log_loss_skill(&p, &gold)),
        (Metric::BrierMulticlass, metrics::brier_multiclass(&p, &gold)),
        (Metric::BrierReliability, Ok(brier.reliability)),
        (Metric::BrierResolution, Ok(brier.resolution)),
        (Metric::BrierUncertainty, Ok(brier.uncertainty)),
        (
            Metric::BrierWithinBins,
            Ok(brier.within_bin_variance - brier.within_bin_covariance),
        ),
        (Metric::EceEqualWidth10, metrics::ece(&p, &gold, 10)),
        (Metric::EceEqualWidth15, metrics::ece(&p, &gold, 15)),
        (Metric::EceEqualMass10, metrics::ece_equal_mass(&p, &gold, 10)),
        (Metric::EceEqualMass15, metrics::ece_equal_mass(&p, &gold, 15)),
        (
            Metric::ClasswiseEce,
            metrics::classwise_ece(&p, &gold, Binning::EqualWidth(15)),
        ),
        (
            Metric::AdaptiveCalibrationError,
            metrics::adaptive_calibration_error(&p, &gold, 15),
        ),
        (Metric::Mce, metrics::mce(&p, &gold, mass)),
        (Metric::Overconfidence, Ok(direction.over)),
        (Metric::Underconfidence, Ok(direction.under)),
        (Metric::Aurc, metrics::aurc(&p, &gold)),
        (Metric::SelectiveAccuracy50, at(0.5)),
        (Metric::SelectiveAccuracy80, at(0.8)),
        (Metric::SelectiveAccuracy90, at(0.9)),
        (Metric::SelectiveAccuracy95, at(0.95)),
        (
            Metric::RankedProbabilityScore,
            metrics::ranked_probability_score(&p, &gold),
        ),
        (
            Metric::RankedProbabilityScoreNormalised,
            metrics::ranked_probability_score_normalised(&p, &gold),
        ),
    ] {
        is(figures, metric, expected);
        assert!(figures.get(metric).unwrap().interval.is_some(), "{metric}");
    }
    assert_eq!(figures.defined.len(), 26);
    assert_eq!(
        figures.reason(Metric::Auroc),
        Some("no predicate row has a gold option")
    );
    assert_eq!(figures.reason(Metric::RatingsBrier), Some("no row has ratings"));
    assert_eq!((found.rows, found.rows_with_gold_option), (300, 300));
    assert_eq!(
        (found.resampled_by, found.resampled_units),
        (ResampledBy::Group, 40)
    );
    assert_eq!(found.few_resampled(), None);
    assert_eq!(found.by_shape.len(), 1);
    assert_eq!(found.by_shape[0].figures, found.overall);
    let group = &found.by_group[7];
    assert_eq!(
        (group.group.as_str(), group.rows, group.figures.defined.len()),
        ("g7", 8, 4)
    );
    let of_group: Vec<JudgedRow> = rows
        .iter()
        .filter(|row| row.group() == Some("g7"))
        .cloned()
        .collect();
    let (p, gold) = parts(&of_group);
    is(
        &group.figures,
        Metric::EceEqualMass15,
        metrics::ece_equal_mass(&p, &gold, 15),
    );
    assert!(
        group
            .figures
            .without_interval
            .as_ref()
            .unwrap()
            .contains("8 rows")
    );
    assert!(
        group
            .figures
            .defined
            .iter()
            .all(|figure| figure.interval.is_none())
    );
}

#[test]
fn predicates_have_their_own_metrics() {
    let rows = drawn(Shape::Predicate, 200, 2, 2);
    let found = Evaluation::of(&rows, &FEW).unwrap();
    is_complete(&found.overall);
    let p: Vec<Probability> = rows.iter().map(|row| row.probabilities()[1]).collect();
    let scores: Vec<f64> = p.iter().map(|p| p.get()).collect();
    let gold: Vec<bool> = rows.iter().map(|row| row.gold_option() == Some(1)).collect();
    is(
        &found.overall,
        Metric::BrierBinary,
        metrics::brier_binary(&p, &gold),
    );
    is(
        &found.overall,
        Metric::EceBinary,
        metrics::ece_binary(&p, &gold, Binning::EqualMass(15)),
    );
    is(&found.overall, Metric::Auroc, metrics::auroc(&scores, &gold));
    is(
        &found.overall,
        Metric::AveragePrecision,
        metrics::average_precision(&scores, &gold),
    );
    let half = found.overall.estimate(Metric::BrierMulticlass).unwrap() / 2.0;
    close(found.overall.estimate(Metric::BrierBinary).unwrap(), half);
}

#[test]
fn intervals_are_those_of_the_bootstrap() {
    let bootstrap = Bootstrap {
        resamples: FEW.resamples,
        seed: FEW.seed,
    };
    let rows = drawn(Shape::Choice, 120, 4, 3);
    let (p, gold) = parts(&rows);
    let by_row = Evaluation::of(&rows, &FEW).unwrap();
    assert_eq!(by_row.resampled_by, ResampledBy::Row);
    let grouped = grouped(rows.clone(), 15);
    let by_group = Evaluation::of(&grouped, &FEW).unwrap();
    assert_eq!(by_row.few_resampled(), None);
    let few = by_group.few_resampled().unwrap();
    assert!(
        few.contains(&format!("{} groups", by_group.resampled_units)),
        "{few}"
    );
    let groups: Vec<&str> = grouped.iter().filter_map(JudgedRow::group).collect();
    type Of = fn(&[&[Probability]], &[usize]) -> Result<f64, CalibrationError>;
    let all: [(Metric, Of); 6] = [
        (Metric::Accuracy, |p, gold| metrics::accuracy(p, gold)),
        (Metric::Nll, |p, gold| metrics::nll(p, gold)),
        (Metric::EceEqualMass10, |p, gold| {
            metrics::ece_equal_mass(p, gold, 10)
        }),
        (Metric::Aurc, |p, gold| metrics::aurc(p, gold)),
        (Metric::AdaptiveCalibrationError, |p, gold| {
            metrics::adaptive_calibration_error(p, gold, 15)
        }),
        (Metric::LogLossSkill, |p, gold| metrics::log_loss_skill(p, gold)),
    ];
    for (metric, of) in all {
        let mut on = |drawn: &[usize]| of(&take(&p, drawn), &take(&gold, drawn));
        for (evaluation, expected) in [
            (&by_row, bootstrap.by_row(rows.len(), &mut on).unwrap()),
            (&by_group, bootstrap.by_group(&groups, &mut on).unwrap()),
        ] {
            let found = evaluation.overall.get(metric).unwrap().interval.unwrap();
            close(found.low, expected.low);
            close(found.high, expected.high);
            assert_eq!(
                (found.resamples, found.undefined),
                (expected.resamples, expected.undefined)
            );
        }
    }
    // A group that is drawn twice counts twice: of groups of one row, the mean over groups is the accuracy.
    let single = self::grouped(rows, 120);
    let single = Evaluation::of(&single, &FEW).unwrap();
    let of = |metric| single.overall.get(metric).unwrap();
    let (micro, over_groups) = (of(Metric::Accuracy), of(Metric::AccuracyOverGroups));
    close(micro.interval.unwrap().low, over_groups.interval.unwrap().low);
    close(micro.interval.unwrap().high, over_groups.interval.unwrap().high);
    // A narrower wish gives a narrower interval.
    let half = EvaluationOptions {
        confidence: 0.5,
        ..FEW
    };
    let half = Evaluation::of(&grouped, &half).unwrap();
    let inner = half.overall.get(Metric::Nll).unwrap().interval.unwrap();
    let outer = by_group.overall.get(Metric::Nll).unwrap().interval.unwrap();
    assert!(outer.low < inner.low && inner.high < outer.high);
}

#[test]
fn ratings_judge_distributions_and_their_winner() {
    let rated = |id: &str, p: &[f64], gold: &[f64]| {
        JudgedRow::new(id, Shape::Score, probabilities(p), Gold::Ratings(gold.to_vec())).unwrap()
    };
    let rows = [
        rated("a", &[0.2, 0.5, 0.3], &[0.25, 0.25, 0.5]),
        rated("b", &[0.6, 0.3, 0.1], &[0.5, 0.5, 0.0]),
        rated("c", &[0.6, 0.3, 0.1], &[0.75, 0.25, 0.0]),
    ];
    let found = Evaluation::of(&rows, &FEW).unwrap();
    is_complete(&found.overall);
    assert_eq!(
        (
            found.rows_with_gold_option,
            found.rows_with_ratings,
            found.rows_with_tied_ratings
        ),
        (2, 3, 1)
    );
    // Of a and c, c alone is right; b has no gold option.
    let accuracy = found.overall.get(Metric::Accuracy).unwrap();
    assert_eq!((accuracy.rows, accuracy.estimate), (2, 0.5));
    let p: Vec<_> = rows.iter().map(JudgedRow::probabilities).collect();
    let gold: Vec<_> = rows.iter().filter_map(JudgedRow::ratings).collect();
    for (metric, expected) in [
        (
            Metric::RatingsCrossEntropy,
            distribution::cross_entropy(&p, &gold),
        ),
        (Metric::RatingsEntropy, distribution::entropy(&gold)),
        (
            Metric::RatingsKlDivergence,
            distribution::kl_divergence(&p, &gold),
        ),
        (Metric::RatingsBrier, distribution::brier(&p, &gold)),
        (
            Metric::RatingsRankedProbabilityScore,
            distribution::ranked_probability_score(&p, &gold),
        ),
        (
            Metric::RatingsRankedProbabilityScoreNormalised,
            distribution::ranked_probability_score_normalised(&p, &gold),
        ),
    ] {
        is(&found.overall, metric, expected);
        assert_eq!(found.overall.get(metric).unwrap().rows, 3);
    }
    // Ties alone: no gold option at all, and the plots say so by being empty.
    let ties = Evaluation::of(&rows[1..2], &FEW).unwrap();
    is_complete(&ties.overall);
    assert_eq!(ties.overall.reason(Metric::Nll), Some("no row has a gold option"));
    assert!(ties.overall.get(Metric::RatingsBrier).is_some());
    assert!(ties.curves.reliability.is_empty());
}

#[test]
fn what_rows_cannot_say_is_named() {
    // One row.
    let found = Evaluation::of(&[row("only", Shape::Choice, &[0.75, 0.25], 0)], &FEW).unwrap();
    is_complete(&found.overall);
    assert!(
        found
            .overall
            .without_interval
            .as_ref()
            .unwrap()
            .contains("one row")
    );
    assert!(
        found
            .overall
            .defined
            .iter()
            .all(|figure| figure.interval.is_none())
    );
    close(found.overall.estimate(Metric::Nll).unwrap(), -(0.75_f64.ln()));
    assert_eq!(
        found.overall.reason(Metric::LogLossSkill),
        Some("log-loss skill is undefined here: it needs at least two labels that occur")
    );
    // One class.
    let trues: Vec<JudgedRow> = (1..20)
        .map(|p| {
            row(
                &p.to_string(),
                Shape::Predicate,
                &[1.0 - f64::from(p) / 20.0, f64::from(p) / 20.0],
                1,
            )
        })
        .collect();
    let found = Evaluation::of(&trues, &FEW).unwrap();
    is_complete(&found.overall);
    assert!(
        found
            .overall
            .reason(Metric::Auroc)
            .unwrap()
            .contains("all labels are true")
    );
    assert_eq!(found.overall.estimate(Metric::AveragePrecision), Some(1.0));
    // One group.
    let found = Evaluation::of(&grouped(trues, 1), &FEW).unwrap();
    assert!(
        found
            .overall
            .without_interval
            .as_ref()
            .unwrap()
            .contains("one group")
    );
    assert!(
        found.by_group[0]
            .figures
            .get(Metric::Nll)
            .unwrap()
            .interval
            .is_some()
    );
    // Different numbers of options.
    let mut rows = drawn(Shape::Choice, 30, 3, 5);
    rows.push(row("more", Shape::Choice, &[0.25, 0.25, 0.25, 0.25], 3));
    let found = Evaluation::of(&rows, &FEW).unwrap();
    is_complete(&found.overall);
    for metric in [
        Metric::ClasswiseEce,
        Metric::AdaptiveCalibrationError,
        Metric::MacroAccuracy,
    ] {
        assert!(
            found
                .overall
                .reason(metric)
                .unwrap()
                .contains("from 3 to 4 options")
        );
    }
    let (p, gold) = parts(&rows);
    is(&found.overall, Metric::Nll, metrics::nll(&p, &gold));
    let counts: Vec<_> = found
        .option_counts
        .iter()
        .map(|count| (count.options, count.rows))
        .collect();
    assert_eq!(counts, [(3, 30), (4, 1)]);
    // Several shapes.
    rows.pop();
    rows.extend(drawn(Shape::Predicate, 20, 2, 6));
    let found = Evaluation::of(&rows, &FEW).unwrap();
    assert!(
        found
            .overall
            .reason(Metric::ClasswiseEce)
            .unwrap()
            .contains("several shapes")
    );
    assert_eq!(found.overall.get(Metric::Auroc).unwrap().rows, 20);
    let shapes: Vec<_> = found
        .by_shape
        .iter()
        .map(|line| (line.shape, line.rows))
        .collect();
    assert_eq!(shapes, [(Shape::Choice, 30), (Shape::Predicate, 20)]);
    found.by_shape.iter().for_each(|line| is_complete(&line.figures));
    assert!(found.by_shape[0].figures.get(Metric::ClasswiseEce).is_some());
    let alone = Evaluation::of(&rows[..30], &FEW).unwrap();
    assert_eq!(alone.overall, found.by_shape[0].figures);
}

#[test]
fn hard_rows_have_figures() {
    // All of the same confidence; one impossible gold option.
    let mut same: Vec<JudgedRow> = (0..40)
        .map(|index| {
            row(
                &index.to_string(),
                Shape::Choice,
                &[0.75, 0.25, 0.0],
                usize::from(index % 4 == 0),
            )
        })
        .collect();
    let found = Evaluation::of(&same, &FEW).unwrap();
    is_complete(&found.overall);
    close(found.overall.estimate(Metric::EceEqualMass15).unwrap(), 0.0);
    close(found.overall.estimate(Metric::Aurc).unwrap(), 0.25);
    assert_eq!(found.nll_clipped_rows, 0);
    assert_eq!(found.curves.reliability.len(), 1);
    let bin = found.curves.reliability[0];
    assert_eq!((bin.rows, bin.right), (40, 30));
    // scipy.stats.binomtest(30, 40).proportion_ci(method="exact")
    close(bin.low, 0.5880380198484636);
    close(bin.high, 0.8730852010671533);
    assert_eq!(
        (
            found.curves.confidence[14].right,
            found.curves.confidence[14].wrong
        ),
        (30, 10)
    );
    same.push(row("impossible", Shape::Choice, &[0.75, 0.25, 0.0], 2));
    assert_eq!(Evaluation::of(&same, &FEW).unwrap().nll_clipped_rows, 1);
    // 255 options.
    let found = Evaluation::of(&drawn(Shape::Choice, 50, 255, 8), &FEW).unwrap();
    is_complete(&found.overall);
    assert!(found.overall.get(Metric::ClasswiseEce).is_some());
}

#[test]
fn wide_metrics_say_that_they_took_fewer_resamples() {
    let rows = drawn(Shape::Choice, 2000, 255, 9);
    let options = EvaluationOptions {
        resamples: 110,
        ..FEW
    };
    let found = Evaluation::of(&rows, &options).unwrap();
    let resamples = |metric| found.overall.get(metric).unwrap().interval.unwrap().resamples;
    assert_eq!(resamples(Metric::Nll), 110);
    assert_eq!(resamples(Metric::ClasswiseEce), 100);
    assert_eq!(resamples(Metric::BrierReliability), 100);
}

#[test]
fn bad_input_is_refused() {
    let one = [row("a", Shape::Choice, &[1.0], 0)];
    assert_eq!(Evaluation::of(&[], &FEW), Err(CalibrationError::Empty("rows")));
    let none = EvaluationOptions { resamples: 0, ..FEW };
    assert_eq!(
        Evaluation::of(&one, &none),
        Err(CalibrationError::Empty("resamples"))
    );
    for confidence in [0.0, 1.0, f64::NAN] {
        assert!(Evaluation::of(&one, &EvaluationOptions { confidence, ..FEW }).is_err());
    }
    assert!(Comparison::of(&one, &[], &FEW).is_err());
    assert!(Comparison::of(&[], &[], &FEW).is_err());
    let says = |other: JudgedRow| Comparison::of(&one, &[other], &FEW).unwrap_err().to_string();
    assert!(says(row("b", Shape::Choice, &[1.0], 0)).contains("both sets have"));
    assert!(says(row("a", Shape::Score, &[1.0], 0)).contains("its shape"));
    assert!(says(row("a", Shape::Choice, &[0.5, 0.5], 0)).contains("its number of options"));
    assert!(says(one[0].clone().in_group("g")).contains("its group"));
    let rated = JudgedRow::new(
        "a",
        Shape::Choice,
        probabilities(&[1.0]),
        Gold::Ratings(vec![1.0]),
    );
    assert!(says(rated.unwrap()).contains("its gold answer"));
    let twice = [one[0].clone(), one[0].clone()];
    assert!(
        Comparison::of(&twice, &one, &FEW)
            .unwrap_err()
            .to_string()
            .contains("twice")
    );
}

#[test]
fn stored_figures_are_read_back_exactly() {
    let mut rows = grouped(drawn(Shape::Choice, 60, 3, 10), 7);
    rows.extend(drawn(Shape::Predicate, 30, 2, 11));
    let found = Evaluation::of(&rows, &FEW).unwrap();
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.starts_with("{\"version\":1,"), "{json}");
    assert_eq!(serde_json::from_str::<Evaluation>(&json).unwrap(), found);
    let other = json.replacen("\"version\":1", "\"version\":2", 1);
    assert!(serde_json::from_str::<Evaluation>(&other).is_err());
    let comparison = Comparison::of(&rows, &rows[10..], &FEW).unwrap();
    let json = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
}

#[test]
fn mcnemar_as_statsmodels() {
    // statsmodels 0.15.0: mcnemar([[10, b], [c, 10]], exact=b + c < 25, correction=True)
    for (b, c, statistic, p_value) in [
        (0, 0, 0.0, 1.0),
        (1, 0, 0.0, 1.0),
        (0, 1, 0.0, 1.0),
        (5, 0, 0.0, 0.0625),
        (3, 9, 3.0, 0.14599609375),
        (12, 12, 12.0, 1.0),
        (7, 17, 7.0, 0.06391465663909912),
        (24, 0, 0.0, 1.1920928955078125e-07),
        (13, 12, 0.0, 1.0),
        (5, 20, 7.84, 0.005110260660855866),
        (0, 25, 23.04, 1.5866563039511885e-06),
        (40, 22, 4.661290322580645, 0.030849999436874987),
        (121, 59, 20.67222222222222, 5.450094825427117e-06),
        (300, 290, 0.13728813559322034, 0.7109919960746027),
        (5000, 4000, 110.889, 6.25782696074682e-26),
    ] {
        let found = mcnemar(b, c);
        let expected = if b + c < 25 {
            McNemarTest::Exact
        } else {
            McNemarTest::ChiSquare
        };
        assert_eq!(found.test, expected, "{b} {c}");
        close(found.statistic, statistic);
        let error = (found.p_value / p_value - 1.0).abs();
        assert!(error < 1e-9, "{b} {c}: {} is not {p_value}", found.p_value);
        assert_eq!(mcnemar(c, b).p_value, found.p_value);
    }
    // No difference is no evidence, where statsmodels' correction makes one.
    assert_eq!(mcnemar(20, 20).p_value, 1.0);
}

#[test]
fn a_comparison_by_hand() {
    let first = [
        row("same", Shape::Choice, &[0.5, 0.25, 0.25], 0),
        row("alone", Shape::Choice, &[0.5, 0.25, 0.25], 0),
        row("turned", Shape::Choice, &[0.5, 0.25, 0.25], 1),
        row("less", Shape::Choice, &[0.75, 0.25], 0),
    ];
    let second = [
        row("less", Shape::Choice, &[0.625, 0.375], 0),
        row("turned", Shape::Choice, &[0.25, 0.5, 0.25], 1),
        row("new", Shape::Choice, &[0.5, 0.25, 0.25], 0),
        row("same", Shape::Choice, &[0.5, 0.25, 0.25], 0),
    ];
    let found = Comparison::of(&first, &second, &FEW).unwrap();
    assert_eq!(
        (found.only_in_first, found.only_in_second),
        (vec!["alone".to_owned()], vec!["new".to_owned()])
    );
    let compared = found.overall;
    assert_eq!((compared.rows, compared.same_answer), (3, 2));
    close(compared.agreement, 2.0 / 3.0);
    let test = compared.mcnemar.unwrap();
    assert_eq!((test.only_first, test.only_second, test.p_value), (0, 1, 1.0));
    close(compared.change.largest, 0.25);
    let at = compared.change.at.unwrap();
    assert_eq!(
        (at.id.as_str(), at.option, at.first, at.second),
        ("turned", 0, 0.5, 0.25)
    );
    close(compared.change.mean, (0.0 + 0.25 + 0.125) / 3.0);
    // 1/2 ln 2 - 1/4 ln 2, and that of (3/4, 1/4) from (5/8, 3/8).
    let turned = 0.25 * 2.0_f64.ln();
    let less = 0.75 * (6.0 / 5.0_f64).ln() + 0.25 * (2.0 / 3.0_f64).ln();
    close(compared.change.mean_kl_divergence, (turned + less) / 3.0);
    let accuracy = compared
        .metrics
        .iter()
        .find(|figure| figure.metric == Metric::Accuracy)
        .unwrap();
    close(accuracy.first, 2.0 / 3.0);
    close(accuracy.second, 1.0);
    close(accuracy.difference, 1.0 / 3.0);
    // The difference is 1/3 of how often "turned" is drawn: never below 0.
    let interval = accuracy.interval.unwrap();
    close(interval.low, 0.0);
    assert!(interval.high >= 2.0 / 3.0 - 1e-12);
    assert!(found.by_group.is_empty());
}

#[test]
fn differences_are_resampled_in_pairs() {
    let first = grouped(drawn(Shape::Choice, 200, 3, 12), 20);
    // The same, a little flatter: accuracies are equal row by row, and so is every resample's.
    let flatter: Vec<JudgedRow> = first
        .iter()
        .rev()
        .map(|row| {
            let p = row
                .probabilities()
                .iter()
                .map(|p| Probability::new(0.9 * p.get() + 0.1 / 3.0).unwrap());
            JudgedRow::new(row.id(), row.shape(), p.collect(), row.gold().clone())
                .unwrap()
                .in_group(row.group().unwrap())
        })
        .collect();
    let found = Comparison::of(&first, &flatter, &FEW).unwrap();
    let of = |figures: &[assize_calibration::evaluation::ComparedFigure], metric| {
        *figures.iter().find(|figure| figure.metric == metric).unwrap()
    };
    let accuracy = of(&found.overall.metrics, Metric::Accuracy);
    assert_eq!(accuracy.difference, 0.0);
    assert_eq!(
        (accuracy.interval.unwrap().low, accuracy.interval.unwrap().high),
        (0.0, 0.0)
    );
    let nll = of(&found.overall.metrics, Metric::Nll);
    let interval = nll.interval.unwrap();
    assert!(interval.low < nll.difference && nll.difference < interval.high);
    // Far narrower than the interval of either.
    let alone = Evaluation::of(&first, &FEW).unwrap();
    let alone = alone.overall.get(Metric::Nll).unwrap().interval.unwrap();
    assert!(interval.high - interval.low < (alone.high - alone.low) / 2.0);
    assert_eq!(found.overall.agreement, 1.0);
    assert_eq!(found.by_group.len(), 20);
    let group = &found.by_group[3];
    assert_eq!((group.group.as_str(), group.compared.rows), ("g3", 10));
    assert_eq!(group.compared.metrics.len(), 4);
    assert!(of(&group.compared.metrics, Metric::Nll).interval.is_some());
    // With itself nothing differs.
    let same = Comparison::of(&first, &first, &FEW).unwrap().overall;
    assert_eq!(
        (
            same.change.largest,
            same.change.at,
            same.change.mean_kl_divergence
        ),
        (0.0, None, 0.0)
    );
    assert!(same.metrics.iter().all(|figure| figure.difference == 0.0));
}

#[test]
fn reliability_intervals_know_of_groups() {
    // Ten groups of twenty rows that are all right or all wrong: ten facts, not two hundred.
    let rows: Vec<JudgedRow> = (0..200)
        .map(|index| {
            row(
                &index.to_string(),
                Shape::Choice,
                &[0.75, 0.25],
                usize::from(index % 10 < 3),
            )
        })
        .collect();
    let alone = Evaluation::of(&rows, &FEW).unwrap().curves.reliability[0];
    let together = Evaluation::of(&grouped(rows, 10), &FEW)
        .unwrap()
        .curves
        .reliability[0];
    assert_eq!((alone.rows, alone.right), (together.rows, together.right));
    assert!(
        together.low < alone.low - 0.1 && together.high > alone.high + 0.05,
        "{together:?} {alone:?}"
    );
}
