//! Fits a calibration to predictions, and judges it on rows that it has not seen.

use std::collections::HashSet;

use assize_calibration::calibrators::{Argmax, Candidate, Folds, Tried, choose, split};
use assize_calibration::metrics::{ece_equal_mass, nll};
use assize_calibration::{CalibrationError, Probability, ScoredRow, softmax};

use super::predictions::{Prediction, PredictionSet};
use super::{SHOWN_QUESTION, SHOWN_STATE};
use crate::service::{CalibratedQuestion, CalibrationFile, EvaluatedOn, FittedOn};

/// Bins of the expected calibration error that is reported.
const BINS: usize = 15;

/// What a calibration is judged on.
#[derive(Debug, Clone, Copy)]
pub enum HeldOut<'s> {
    /// Each fold in turn, by what the others choose and fit.
    Folds,
    /// The share of the rows that is not fitted on.
    Share(f64),
    /// Another file.
    File(&'s PredictionSet),
}

/// How a calibration is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOptions {
    /// The kinds that are tried.
    pub candidates: Vec<Candidate>,
    /// Whether the most probable option may change.
    pub argmax: Argmax,
    /// Folds of the cross-validation that chooses, and the seed of every division.
    pub folds: Folds,
}

/// A calibration, and the rows that it has not seen.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The calibration as a file holds it.
    pub file: CalibrationFile,
    /// Places of rows of the held-out set that it was judged on and has not seen: those of the test file, else of the fitted
    /// file; none where it was judged by folds, which have all been fitted on in the end.
    pub unseen: Option<Vec<usize>>,
}

/// Fits to a set of predictions by cross-validated negative log-likelihood.
///
/// # Errors
/// No rows with a right option, too few of them for the folds or the division, or no kind that can be fitted.
pub fn fit(
    set: &PredictionSet,
    held_out: HeldOut<'_>,
    options: &FitOptions,
) -> Result<Fitted, CalibrationError> {
    let (places, rows): (Vec<usize>, Vec<ScoredRow>) = set.scored()?.into_iter().unzip();
    if rows.is_empty() {
        return Err(CalibrationError::Empty("rows with a right option"));
    }
    let (rows, folds_by) = in_units(set, &places, rows, options.folds.count)?;
    let question = question_of(set, &places);
    let (candidates, apart) = candidates_for(question.as_ref(), &options.candidates);
    let options = &FitOptions {
        candidates,
        ..options.clone()
    };
    let fits = match held_out {
        HeldOut::Share(share) => split(rows.iter().map(ScoredRow::group), share, options.folds.seed)?,
        _ => vec![true; rows.len()],
    };
    let part = |wanted: bool| -> Vec<ScoredRow> {
        rows.iter()
            .zip(&fits)
            .filter(|(_, fits)| **fits == wanted)
            .map(|(row, _)| row.clone())
            .collect()
    };
    let fitted_rows = part(true);
    let chosen = choose(&fitted_rows, &options.candidates, options.argmax, options.folds)?;
    let mut file = CalibrationFile::new(
        set.header.as_ref().map(|header| header.artifact.clone()),
        chosen.calibrator.clone(),
    );
    if CalibrationFile::leans(chosen.calibrator.map()) {
        file.question = question;
    }
    file.chosen = Some(chosen.candidate);
    file.fitted_on = Some(FittedOn {
        file: set.path.display().to_string(),
        sha256: set.sha256.clone(),
        rows: fitted_rows.len(),
        folds_by: folds_by.to_owned(),
    });
    let mut seen = 0;
    let (how, judged_set, judged, after, unseen) = match held_out {
        HeldOut::Folds => {
            let after = by_folds(&fitted_rows, &chosen.fold_of, options)?;
            ("held-out folds", set, fitted_rows, after, None)
        }
        HeldOut::Share(_) => {
            let judged = part(false);
            let unseen: Vec<usize> = places
                .iter()
                .zip(&fits)
                .filter(|(_, fits)| !**fits)
                .map(|(place, _)| *place)
                .collect();
            let after = mapped(&file, set, &unseen, &judged)?;
            ("held-out share", set, judged, after, Some(unseen))
        }
        HeldOut::File(test) => {
            let fitted_on: HashSet<_> = set.rows.iter().filter_map(asked).collect();
            let is_new = |(place, _): &(usize, ScoredRow)| {
                let row = test.rows.get(*place).and_then(asked);
                row.is_none_or(|row| !fitted_on.contains(&row))
            };
            let all = test.scored()?;
            let count = all.len();
            let (unseen, judged): (Vec<usize>, Vec<ScoredRow>) = all.into_iter().filter(is_new).unzip();
            seen = count - judged.len();
            if judged.is_empty() && seen > 0 {
                return Err(CalibrationError::NotApplicable {
                    what: "--test",
                    needs: "rows that were not fitted on".to_owned(),
                    found: format!("{seen} rows that all were"),
                });
            }
            let after = mapped(&file, test, &unseen, &judged)?;
            ("test file", test, judged, after, Some(unseen))
        }
    };
    let before = judged
        .iter()
        .map(|row| softmax(row.scores()))
        .collect::<Result<Vec<_>, _>>()?;
    let labels: Vec<usize> = judged.iter().map(ScoredRow::label).collect();
    let (nll_before, nll_after) = (nll(&before, &labels)?, nll(&after, &labels)?);
    file.evaluated_on = Some(EvaluatedOn {
        how: how.to_owned(),
        file: judged_set.path.display().to_string(),
        sha256: judged_set.sha256.clone(),
        rows: judged.len(),
        seen,
        nll_before,
        nll_after,
        ece_before: ece(&before, &labels)?,
        ece_after: ece(&after, &labels)?,
        improved: nll_after < nll_before,
        held: held(&before, &after),
    });
    file.tried = chosen.tried;
    file.tried.extend(apart);
    Ok(Fitted { file, unseen })
}

/// A row's prompt and options, where they are known: rows of two files may have different ids and be the same.
fn asked(row: &Prediction) -> Option<(String, &[String])> {
    Some((prompt(row)?, &row.options))
}

/// What stands for a row's prompt, where it is known: the hash of its tokens, else state and question where they are short
/// enough to be kept whole.
fn prompt(row: &Prediction) -> Option<String> {
    if let Some(tokens) = &row.tokens {
        return Some(tokens.sha256.clone());
    }
    let is_whole = row.state.chars().count() <= SHOWN_STATE && row.question.chars().count() <= SHOWN_QUESTION;
    (is_whole && !row.state.is_empty()).then(|| format!("{:?} {:?}", row.state, row.question))
}

/// The rows in the units that no fold or share divides: groups where there are enough of them. Rows without one that have the
/// same prompt are one unit in any case. Says what the units are as well: `group`, `prompt` or `row`.
fn in_units(
    set: &PredictionSet,
    places: &[usize],
    rows: Vec<ScoredRow>,
    parts: usize,
) -> Result<(Vec<ScoredRow>, &'static str), CalibrationError> {
    let prompts = || {
        let row = |place: &usize| set.rows.get(*place).and_then(prompt);
        places.iter().map(row)
    };
    let by_group = divides_by_group(&rows, parts);
    let known = prompts().any(|prompt| prompt.is_some());
    let units = rows.into_iter().zip(prompts()).map(|(row, prompt)| {
        let unit = match row.group().filter(|_| by_group) {
            Some(group) => Some(format!("group {group}")),
            None => prompt.map(|prompt| format!("prompt {prompt}")),
        };
        let plain = ScoredRow::new(row.scores().to_vec(), row.label(), row.shape())?;
        Ok(match unit {
            Some(unit) => plain.in_group(unit),
            None => plain,
        })
    });
    let units = units.collect::<Result<Vec<_>, CalibrationError>>()?;
    Ok((
        units,
        if by_group {
            "group"
        } else if known {
            "prompt"
        } else {
            "row"
        },
    ))
}

/// Whether there are enough groups to divide by them.
pub(super) fn divides_by_group(rows: &[ScoredRow], parts: usize) -> bool {
    let groups: HashSet<&str> = rows.iter().filter_map(ScoredRow::group).collect();
    let single = rows.iter().filter(|row| row.group().is_none()).count();
    !groups.is_empty() && groups.len() + single >= parts
}

/// The question of all rows, where they have the same options; its text where they all ask the same.
fn question_of(set: &PredictionSet, places: &[usize]) -> Option<CalibratedQuestion> {
    let rows = || places.iter().filter_map(|place| set.rows.get(*place));
    let first = rows().next()?;
    let same = |row: &Prediction| row.shape == first.shape && row.options == first.options;
    let text =
        Some(&first.question).filter(|text| !text.is_empty() && rows().all(|row| row.question == **text));
    rows().all(same).then(|| CalibratedQuestion {
        shape: first.shape,
        options: first.options.clone(),
        text: text.cloned(),
    })
}

/// The kinds that can be tried, and those that cannot with the reason: vector scaling treats each option in its own way, so
/// that it is for one list of them.
fn candidates_for(
    question: Option<&CalibratedQuestion>,
    candidates: &[Candidate],
) -> (Vec<Candidate>, Vec<Tried>) {
    let (apart, kept): (Vec<Candidate>, Vec<Candidate>) = candidates
        .iter()
        .partition(|candidate| question.is_none() && matches!(candidate, Candidate::Vector { .. }));
    let refused = |candidate| Tried {
        candidate,
        nll: None,
        refused: Some(
            "vector scaling needs the same options everywhere, and rows have different ones".to_owned(),
        ),
    };
    (kept, apart.into_iter().map(refused).collect())
}

/// Every row by the calibrator that the other folds choose and fit: the choice itself is judged as well.
fn by_folds(
    rows: &[ScoredRow],
    fold_of: &[usize],
    options: &FitOptions,
) -> Result<Vec<Vec<Probability>>, CalibrationError> {
    let mut after = vec![Vec::new(); rows.len()];
    for fold in 0..options.folds.count {
        let others: Vec<ScoredRow> = rows
            .iter()
            .zip(fold_of)
            .filter(|(_, of)| **of != fold)
            .map(|(row, _)| row.clone())
            .collect();
        // One fold fewer, so that as many groups as folds are enough.
        let inner = Folds {
            count: options.folds.count.saturating_sub(1).max(2),
            ..options.folds
        };
        let calibrator = choose(&others, &options.candidates, options.argmax, inner)?.calibrator;
        for ((row, of), place) in rows.iter().zip(fold_of).zip(&mut after) {
            if *of == fold {
                *place = calibrator.apply(row.scores(), row.shape())?;
            }
        }
    }
    Ok(after)
}

/// Rows of `set` at `places` by the calibration.
fn mapped(
    file: &CalibrationFile,
    set: &PredictionSet,
    places: &[usize],
    rows: &[ScoredRow],
) -> Result<Vec<Vec<Probability>>, CalibrationError> {
    rows.iter()
        .zip(places.iter().filter_map(|place| set.rows.get(*place)))
        .map(|(row, prediction)| file.apply(row.scores(), prediction.asked()))
        .collect()
}

/// Rows that the map alone would answer in another way, so that they are held where two options are equally probable.
fn held(before: &[Vec<Probability>], after: &[Vec<Probability>]) -> usize {
    let lead = |row: &Vec<Probability>| {
        let mut sorted: Vec<f64> = row.iter().map(|p| p.get()).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        match sorted.as_slice() {
            [first, second, ..] => first - second,
            _ => 1.0,
        }
    };
    let pairs = before.iter().zip(after);
    pairs
        .filter(|(before, after)| lead(before) > 1e-6 && lead(after) < 1e-9)
        .count()
}

fn ece(rows: &[Vec<Probability>], labels: &[usize]) -> Result<f64, CalibrationError> {
    let (mut tops, mut wrongs) = (Vec::new(), Vec::new());
    for (row, label) in rows.iter().zip(labels) {
        let mut best = (0, Probability::ZERO);
        for (option, p) in row.iter().enumerate() {
            if *p > best.1 {
                best = (option, *p);
            }
        }
        // As a pair whose other option is not the top, however small the first is.
        tops.push([best.1, Probability::ZERO]);
        wrongs.push(usize::from(best.0 != *label));
    }
    ece_equal_mass(&tops, &wrongs, BINS)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn set(rows: &[(Option<&str>, &str)]) -> PredictionSet {
        let row = |(n, (group, prompt)): (usize, &(Option<&str>, &str))| {
            let row = serde_json::json!({"row": n, "id": n.to_string(), "group": group, "shape": "predicate",
                "options": ["false", "true"], "state": "", "question": "",
                "tokens": {"count": 1, "sha256": prompt, "truncated": 0}, "probabilities": [0.4, 0.6], "gold": 1});
            serde_json::from_value(row).unwrap()
        };
        PredictionSet {
            path: PathBuf::new(),
            sha256: String::new(),
            header: None,
            rows: rows.iter().enumerate().map(row).collect(),
            faults: Vec::new(),
            ignored: Vec::new(),
        }
    }

    #[test]
    fn rows_of_one_prompt_are_one_unit() {
        let units = |rows: &[(Option<&str>, &str)]| {
            let set = set(rows);
            let (places, scored) = set.scored().unwrap().into_iter().unzip();
            let places: Vec<usize> = places;
            let (rows, by) = in_units(&set, &places, scored, 2).unwrap();
            let units: Vec<String> = rows.iter().map(|row| row.group().unwrap().to_owned()).collect();
            (units, by)
        };
        let (found, by) = units(&[(None, "a"), (None, "b"), (None, "a")]);
        assert_eq!(
            (found, by),
            (
                ["prompt a", "prompt b", "prompt a"].map(String::from).to_vec(),
                "prompt"
            )
        );
        let (found, by) = units(&[(Some("g"), "a"), (Some("h"), "a"), (None, "c"), (None, "c")]);
        let expected = ["group g", "group h", "prompt c", "prompt c"]
            .map(String::from)
            .to_vec();
        assert_eq!((found, by), (expected, "group"));
        // Too few groups to divide by.
        let (found, by) = units(&[(Some("g"), "a"), (Some("g"), "b"), (Some("g"), "a")]);
        assert_eq!(
            (found, by),
            (
                ["prompt a", "prompt b", "prompt a"].map(String::from).to_vec(),
                "prompt"
            )
        );
    }
}
