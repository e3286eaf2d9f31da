//! A fitted calibrator.

use serde::{Deserialize, Serialize};

use super::argmax::{first_highest, keep, probabilities};
use super::softmax::scaled_softmax;
use super::{
    Argmax, Beta, Histogram, Isotonic, Platt, Temperature, TemperatureByOptions, TemperatureByShape, Vector,
};
use crate::row::check_scores;
use crate::{CalibrationError, FormatVersion, Probability, Shape};

/// A fitted map from raw scores to probabilities, and whether it may change the argmax.
///
/// JSON, version 1: `{"version": 1, "argmax": "kept" | "may_change", "map": {"kind": ..., ...}}`; the map's other fields
/// are those of its type. Unknown fields and numbers out of range are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrator {
    version: FormatVersion<1>,
    argmax: Argmax,
    map: Map,
}

/// What a calibrator computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Map {
    /// The raw probabilities, `softmax(s)`.
    Identity,
    /// One temperature.
    Temperature(Temperature),
    /// One temperature per question shape.
    TemperatureByShape(TemperatureByShape),
    /// One temperature per number of options.
    TemperatureByOptions(TemperatureByOptions),
    /// Platt scaling of a predicate.
    Platt(Platt),
    /// Vector scaling of a fixed list of options.
    Vector(Vector),
    /// Isotonic regression of a predicate.
    Isotonic(Isotonic),
    /// Beta calibration of a predicate.
    Beta(Beta),
    /// Histogram binning of a predicate.
    Histogram(Histogram),
}

impl Map {
    /// Whether it is for predicates only.
    fn predicates_only(&self) -> bool {
        matches!(
            self,
            Map::Platt(_) | Map::Isotonic(_) | Map::Beta(_) | Map::Histogram(_)
        )
    }
}

impl Calibrator {
    /// A fitted map, and whether it may change the argmax.
    pub fn new(map: Map, argmax: Argmax) -> Self {
        Self {
            version: FormatVersion,
            argmax,
            map,
        }
    }

    /// What it computes.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Whether it may change the argmax.
    pub fn argmax(&self) -> Argmax {
        self.argmax
    }

    /// The calibrated probabilities of one question's raw scores, in their order; they sum to 1.
    ///
    /// With [`Argmax::Kept`] the first option with the highest score is the first most probable one. Where the map alone
    /// would have it otherwise, its result is moved to the nearest probabilities (least squares) of which that is true:
    /// for a predicate, to one half each.
    ///
    /// # Errors
    /// Scores that are empty or not finite, a predicate without two options, or a question that the map is not made for: a
    /// predicate's map and another shape, or another number of options than vector scaling was fitted on.
    pub fn apply(&self, scores: &[f32], shape: Shape) -> Result<Vec<Probability>, CalibrationError> {
        check_scores(scores, shape)?;
        if shape != Shape::Predicate && self.map.predicates_only() {
            return Err(CalibrationError::NotApplicable {
                what: "this calibrator",
                needs: "a predicate".to_owned(),
                found: format!("a {shape}"),
            });
        }
        let mapped = match &self.map {
            Map::Identity => scaled_softmax(scores, 1.0),
            Map::Temperature(temperature) => temperature.map(scores),
            Map::TemperatureByShape(by) => by.get(&shape).map(scores),
            Map::TemperatureByOptions(by) => by.get(&scores.len()).map(scores),
            Map::Platt(platt) => platt.map(scores)?,
            Map::Vector(vector) => vector.map(scores)?,
            Map::Isotonic(isotonic) => isotonic.map(scores)?,
            Map::Beta(beta) => beta.map(scores)?,
            Map::Histogram(histogram) => histogram.map(scores)?,
        };
        probabilities(match self.argmax {
            Argmax::Kept => keep(mapped, first_highest(scores)),
            Argmax::MayChange => mapped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_form() {
        let json = r#"{"version":1,"argmax":"kept","map":{"kind":"temperature","temperature":2.0}}"#;
        let read: Calibrator = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let p = read.apply(&[0.0, 2.0], Shape::Choice).unwrap();
        assert!((p[1].get() - 1.0 / (1.0 + (-1.0_f64).exp())).abs() < 1e-15);
        for bad in [
            r#"{"version":2,"argmax":"kept","map":{"kind":"identity"}}"#,
            r#"{"argmax":"kept","map":{"kind":"identity"}}"#,
            r#"{"version":1,"map":{"kind":"identity"}}"#,
            r#"{"version":1,"argmax":"kept","map":{"kind":"magic"}}"#,
            r#"{"version":1,"argmax":"kept","map":{"kind":"identity"},"more":1}"#,
            r#"{"version":1,"argmax":"kept","map":{"kind":"temperature","temperature":2.0,"more":1}}"#,
            r#"{"version":1,"argmax":"kept","map":{"kind":"temperature","temperature":-2.0}}"#,
            r#"{"version":1,"argmax":"kept","map":{"kind":"platt","slope":null,"intercept":0,"targets":"plain"}}"#,
        ] {
            assert!(serde_json::from_str::<Calibrator>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn questions_that_the_map_is_not_for_are_refused() {
        let platt = r#"{"version":1,"argmax":"kept","map":{"kind":"platt","slope":1,"intercept":0,"targets":"plain"}}"#;
        let platt: Calibrator = serde_json::from_str(platt).unwrap();
        assert!(platt.apply(&[0.0, 1.0], Shape::Predicate).is_ok());
        assert!(platt.apply(&[0.0, 1.0], Shape::Choice).is_err());
        let identity = Calibrator::new(Map::Identity, Argmax::Kept);
        assert!(identity.apply(&[], Shape::Choice).is_err());
        assert!(identity.apply(&[f32::NAN], Shape::Choice).is_err());
        assert!(identity.apply(&[0.0; 3], Shape::Predicate).is_err());
    }
}
