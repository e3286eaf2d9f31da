//! One temperature per question shape, or per number of options.

use serde::{Deserialize, Serialize};

use super::temperature::Temperature;
use crate::{CalibrationError, ScoredRow, Shape};

/// A key with fewer rows than this gets no temperature of its own.
const LEAST_ROWS: usize = 20;

/// One temperature per key, and one for every other key: the one fitted on all rows.
///
/// JSON: `{"each": [{"key": "choice", "rows": 120, "temperature": {"temperature": 1.7}}], "other": {"temperature": 1.4}}`, keys strictly
/// increasing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored<K>", bound(deserialize = "K: Deserialize<'de> + Ord"))]
pub struct TemperatureBy<K> {
    each: Vec<Keyed<K>>,
    other: Temperature,
}

/// One temperature per question shape.
pub type TemperatureByShape = TemperatureBy<Shape>;
/// One temperature per number of options.
pub type TemperatureByOptions = TemperatureBy<usize>;

/// The temperature of one key and the number of rows that it was fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyed<K> {
    /// Which rows.
    pub key: K,
    /// How many of them it was fitted on.
    pub rows: usize,
    /// Their temperature.
    pub temperature: Temperature,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<K> {
    each: Vec<Keyed<K>>,
    other: Temperature,
}

impl<K: Ord> TryFrom<Stored<K>> for TemperatureBy<K> {
    type Error = CalibrationError;

    fn try_from(stored: Stored<K>) -> Result<Self, CalibrationError> {
        if stored.each.windows(2).all(|pair| pair[0].key < pair[1].key) {
            Ok(Self {
                each: stored.each,
                other: stored.other,
            })
        } else {
            Err(CalibrationError::Stored {
                what: "list of temperatures",
                reason: "its keys must be in order, each once".to_owned(),
            })
        }
    }
}

impl TemperatureBy<Shape> {
    /// Fits one temperature per question shape that has at least 20 rows, as [`Temperature::fit`], and one on all rows.
    ///
    /// # Errors
    /// No rows.
    pub fn fit(rows: &[ScoredRow]) -> Result<Self, CalibrationError> {
        fit(rows, ScoredRow::shape)
    }
}

impl TemperatureBy<usize> {
    /// Fits one temperature per number of options that has at least 20 rows, as [`Temperature::fit`], and one on all rows.
    ///
    /// # Errors
    /// No rows.
    pub fn fit(rows: &[ScoredRow]) -> Result<Self, CalibrationError> {
        fit(rows, |row| row.scores().len())
    }
}

fn fit<K: Ord + Copy>(
    rows: &[ScoredRow],
    key: impl Fn(&ScoredRow) -> K,
) -> Result<TemperatureBy<K>, CalibrationError> {
    let mut keys: Vec<K> = rows.iter().map(&key).collect();
    keys.sort();
    let mut each = Vec::new();
    for run in keys.chunk_by(|a, b| a == b) {
        if let (Some(wanted), true) = (run.first(), run.len() >= LEAST_ROWS) {
            each.push(Keyed {
                key: *wanted,
                rows: run.len(),
                temperature: Temperature::fit_to(rows.iter().filter(|row| key(row) == *wanted))?,
            });
        }
    }
    Ok(TemperatureBy {
        each,
        other: Temperature::fit(rows)?,
    })
}

impl<K: Ord> TemperatureBy<K> {
    /// The keys that have a temperature of their own.
    pub fn each(&self) -> &[Keyed<K>] {
        &self.each
    }

    /// The temperature of every other key.
    pub fn other(&self) -> Temperature {
        self.other
    }

    /// The temperature that a key gets.
    pub fn get(&self, key: &K) -> Temperature {
        self.each
            .iter()
            .find(|keyed| keyed.key == *key)
            .map_or(self.other, |keyed| keyed.temperature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_fitted_on_its_rows() {
        let rows_of = |scores: &[f32], shape, wrong: usize| -> Vec<ScoredRow> {
            (0..40)
                .map(|row| ScoredRow::new(scores.to_vec(), usize::from(row >= wrong), shape).unwrap())
                .collect()
        };
        let predicates = rows_of(&[0.0, 1.0], Shape::Predicate, 10);
        let choices = rows_of(&[0.0, 1.0, -50.0], Shape::Choice, 4);
        let few = vec![ScoredRow::new(vec![0.0; 4], 0, Shape::Score).unwrap(); 19];
        let all: Vec<_> = [predicates.clone(), choices.clone(), few].concat();
        let by_shape = TemperatureByShape::fit(&all).unwrap();
        let by_options = TemperatureByOptions::fit(&all).unwrap();
        assert_eq!(by_shape.each().len(), 2);
        assert_eq!(
            by_shape.get(&Shape::Predicate),
            Temperature::fit(&predicates).unwrap()
        );
        assert_eq!(by_options.get(&3), Temperature::fit(&choices).unwrap());
        assert_eq!(by_options.get(&4), Temperature::fit(&all).unwrap());
        assert_eq!(by_shape.get(&Shape::Score), by_shape.other());
        assert!(TemperatureByShape::fit(&[]).is_err());

        let json = serde_json::to_string(&by_options).unwrap();
        assert_eq!(
            serde_json::from_str::<TemperatureByOptions>(&json).unwrap(),
            by_options
        );
        for bad in [
            r#"{"each":[{"key":3,"rows":1,"temperature":{"temperature":1}},{"key":3,"rows":1,"temperature":{"temperature":1}}],"other":{"temperature":1}}"#,
            r#"{"each":[{"key":3,"rows":1,"temperature":{"temperature":0}}],"other":{"temperature":1}}"#,
            r#"{"each":[{"key":3,"rows":1,"temperature":{"temperature":1,"x":1}}],"other":{"temperature":1}}"#,
            r#"{"each":[]}"#,
        ] {
            assert!(
                serde_json::from_str::<TemperatureByOptions>(bad).is_err(),
                "{bad}"
            );
        }
    }
}
