//! Fitting a head to labelled rows: L2-regularised multinomial logistic regression on normalised hidden states.
//!
//! `z = W ((h - mu) / sd) + b` minimises `C sum_i NLL_i + |W|^2 / 2` (the objective and the `C` of scikit-learn's
//! `LogisticRegression`; the intercept is not penalised). `C` is chosen by cross-validated NLL. Everything is float64 and
//! the same on every run.

mod cross_validation;
mod folds;
mod logistic;
mod minimise;
mod normaliser;
mod rows;

pub use cross_validation::{FitOptions, Fitted, TriedStrength, fit};
pub use folds::{Folds, assign};
pub use logistic::{LinearWeights, fit_at};
pub use normaliser::Normaliser;
pub use rows::HiddenRows;
