//! Thresholds and prediction sets on rows that the calibrator has not seen.

use assize_calibration::calibrators::split;
use assize_calibration::conformal::{PredictionSets, Rule};
use assize_calibration::thresholds::{Search, precision_threshold, routing};
use assize_calibration::{CalibrationError, Probability, Shape};

use super::predictions::{Prediction, PredictionSet};
use crate::service::{CalibrationFile, Promises};

/// The share of the rows that lays out thresholds; the others test them.
const DESIGN: f64 = 0.25;
/// The share of the rows that prediction sets are calibrated on; on the others their coverage is measured.
const SETS: f64 = 0.5;
/// Groups from which rows are divided by group.
const MANY_GROUPS: usize = 20;

/// Which promises are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThresholdOptions {
    /// Of accepted rows at least this share is right.
    pub precision: Option<f64>,
    /// Of rejected rows at least this share is wrong; as `precision` where none is given.
    pub reject_precision: Option<f64>,
    /// The confidence with which that holds.
    pub confidence: f64,
    /// The option that is accepted or rejected; `true` of predicates, and else the most probable one.
    pub option: Option<String>,
    /// How often a set of options holds the right one.
    pub coverage: Option<f64>,
    /// The seed of the divisions.
    pub seed: u64,
}

/// Thresholds that were found; see [`thresholds`].
pub type Thresholds = Promises;

/// Finds thresholds and prediction sets on the rows of `set` at `places`, by the probabilities that `calibration` gives.
///
/// Rows are divided by `seed`, and by group where there are at least 20 groups.
///
/// # Errors
/// No row has the option, wishes out of range, or too few rows.
pub fn thresholds(
    set: &PredictionSet,
    places: &[usize],
    calibration: &CalibrationFile,
    options: &ThresholdOptions,
) -> Result<Thresholds, CalibrationError> {
    let mut rows: Vec<(&Prediction, Vec<Probability>, usize)> = Vec::new();
    for row in places.iter().filter_map(|place| set.rows.get(*place)) {
        if let Some(label) = row.label() {
            rows.push((row, calibration.apply(&row.log_scores(), row.asked())?, label));
        }
    }
    let mut promises = Promises::default();
    if let Some(coverage) = options.coverage {
        let design = divided(rows.iter().map(|(row, ..)| *row), SETS, options.seed)?;
        let part = |wanted: bool| -> (Vec<Vec<Probability>>, Vec<usize>) {
            rows.iter()
                .zip(&design)
                .filter(|(_, of)| **of == wanted)
                .map(|((_, p, label), _)| (p.clone(), *label))
                .unzip()
        };
        let ((fit, fit_labels), (test, test_labels)) = (part(true), part(false));
        let sets = PredictionSets::fit(&fit, &fit_labels, Rule::Lac, coverage, options.seed)?;
        promises.coverage = Some(sets.coverage(&test, &test_labels, options.seed)?);
        promises.sets = Some(sets);
    }
    let Some(precision) = options.precision else {
        return Ok(promises);
    };
    let all_predicates = rows.iter().all(|(row, ..)| row.shape == Shape::Predicate);
    let option = options
        .option
        .clone()
        .or_else(|| all_predicates.then(|| "true".to_owned()));
    let mut asked = Vec::new();
    let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
    for (row, p, label) in &rows {
        let place = match &option {
            Some(option) => row.options.iter().position(|name| name == option),
            None => Some(top(p)),
        };
        let Some((place, p)) = place.and_then(|place| Some((place, *p.get(place)?))) else {
            continue;
        };
        asked.push(*row);
        probabilities.push(p);
        labels.push(place == *label);
    }
    if asked.is_empty() {
        return Err(CalibrationError::NotApplicable {
            what: "--option",
            needs: "an option that rows have".to_owned(),
            found: format!("{:?}", option.unwrap_or_default()),
        });
    }
    let design = divided(asked.into_iter(), DESIGN, options.seed)?;
    promises.precision = Some(precision_threshold(
        &probabilities,
        &labels,
        precision,
        options.confidence,
        Search::Designed(&design),
    )?);
    if option.is_some() {
        let reject = options.reject_precision.unwrap_or(precision);
        let found = routing(
            &probabilities,
            &labels,
            precision,
            reject,
            options.confidence,
            &design,
        )?;
        let tested = |place: &usize| design.get(*place) == Some(&false);
        let places: Vec<usize> = (0..labels.len()).filter(tested).collect();
        let p: Vec<Probability> = places
            .iter()
            .filter_map(|place| probabilities.get(*place).copied())
            .collect();
        let truths: Vec<bool> = places
            .iter()
            .filter_map(|place| labels.get(*place).copied())
            .collect();
        promises.volumes = Some(found.volumes(&p, &truths)?);
        promises.routing = Some(found);
    }
    promises.option = option;
    Ok(promises)
}

/// The most probable option, the first of equals.
fn top(probabilities: &[Probability]) -> usize {
    let mut best = (0, Probability::ZERO);
    for (option, p) in probabilities.iter().enumerate() {
        if *p > best.1 {
            best = (option, *p);
        }
    }
    best.0
}

fn divided<'p>(
    rows: impl Iterator<Item = &'p Prediction>,
    share: f64,
    seed: u64,
) -> Result<Vec<bool>, CalibrationError> {
    let groups: Vec<Option<&str>> = rows.map(|row| row.group.as_deref()).collect();
    let named: std::collections::HashSet<&str> = groups.iter().copied().flatten().collect();
    if named.len() >= MANY_GROUPS {
        split(groups.into_iter(), share, seed)
    } else {
        split(groups.iter().map(|_| None), share, seed)
    }
}
