//! The two optimisers that the fits share: Brent's method for one number, L-BFGS for several; both are argmin's.

use std::cell::{Cell, RefCell};

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::brent::BrentRoot;
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

use crate::CalibrationError;

struct Scalar<F>(F);

impl<F: Fn(f64) -> f64> CostFunction for Scalar<F> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, x: &f64) -> Result<f64, Error> {
        Ok((self.0)(*x))
    }
}

/// Where `f`, which changes sign between `low` and `high`, is 0; to 1e-14 in x.
pub(crate) fn root(
    what: &'static str,
    low: f64,
    high: f64,
    f: impl Fn(f64) -> f64,
) -> Result<f64, CalibrationError> {
    let found = Executor::new(Scalar(f), BrentRoot::new(low, high, 1e-14))
        .configure(|state| state.param(low).max_iters(500))
        .run()
        .map_err(|error| failed(what, &error))?;
    // The last point, not the best: the state's best is by |f|, which may be flat.
    match found.state().get_param().or(found.state().get_best_param()) {
        Some(x) if x.is_finite() => Ok(x.clamp(low, high)),
        _ => Err(CalibrationError::Fit {
            what,
            reason: "no finite root was found".to_owned(),
        }),
    }
}

/// A smooth convex function of several numbers with its gradient.
pub(crate) trait Smooth {
    /// Value and gradient at a point.
    fn value(&self, point: &[f64]) -> (f64, Vec<f64>);
}

/// A function as argmin sees it: the best point so far is kept here, and evaluations are counted, since argmin's line
/// search has no limit of its own and can go round for ever where rounding hides the slope.
struct Problem<'a, S> {
    function: &'a S,
    best: &'a RefCell<(f64, Vec<f64>)>,
    left: &'a Cell<usize>,
}

impl<S: Smooth> Problem<'_, S> {
    fn evaluate(&self, point: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let left = self
            .left
            .get()
            .checked_sub(1)
            .ok_or_else(|| Error::msg("too many evaluations"))?;
        self.left.set(left);
        let (value, gradient) = self.function.value(point);
        if !value.is_finite() {
            return Err(Error::msg("the value is not finite"));
        }
        let mut best = self.best.borrow_mut();
        if value <= best.0 {
            *best = (value, point.to_vec());
        }
        Ok((value, gradient))
    }
}

impl<S: Smooth> CostFunction for Problem<'_, S> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.evaluate(point)?.0)
    }
}

impl<S: Smooth> Gradient for Problem<'_, S> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.evaluate(point)?.1)
    }
}

/// Steps kept by L-BFGS, steps taken at most, evaluations at most, and fresh starts.
const MEMORY: usize = 10;
const MAX_STEPS: u64 = 500;
const EVALUATIONS: usize = 1000;
const STARTS: usize = 5;
/// The fit is done when the gradient's norm is this small.
const DONE: f64 = 1e-10;
/// Accepted when rounding lets it become no smaller: the slope of a mean NLL that is left, in nats.
const ACCEPTED: f64 = 1e-6;

/// The minimum of a convex function, from `start`: where the gradient's norm is 1e-10, or as small as rounding lets it be.
pub(crate) fn minimise<S: Smooth>(
    what: &'static str,
    function: &S,
    start: Vec<f64>,
) -> Result<Vec<f64>, CalibrationError> {
    let slope_at = |point: &[f64]| {
        let gradient = function.value(point).1;
        gradient.iter().map(|g| g * g).sum::<f64>().sqrt()
    };
    let best = RefCell::new((function.value(&start).0, start));
    // A line search that stops at the rounding of the function's value ends a run; a fresh start from the best point,
    // without the remembered steps, goes on if anything is left to gain.
    for _ in 0..STARTS {
        let (before, point) = best.borrow().clone();
        if slope_at(&point) <= DONE {
            break;
        }
        let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
            .with_tolerance_grad(DONE)
            .and_then(|solver| solver.with_tolerance_cost(0.0))
            .map_err(|error| failed(what, &error))?;
        let problem = Problem {
            function,
            best: &best,
            left: &Cell::new(EVALUATIONS),
        };
        // An error ends this run only: what it reached is in `best`.
        let _ended = Executor::new(problem, solver)
            .configure(|state| state.param(point).max_iters(MAX_STEPS))
            .run();
        if best.borrow().0 >= before {
            break;
        }
    }
    let (_, point) = best.into_inner();
    let left = slope_at(&point);
    if left <= ACCEPTED && point.iter().all(|x| x.is_finite()) {
        Ok(point)
    } else {
        Err(CalibrationError::Fit {
            what,
            reason: format!("the optimiser stopped where the slope is still {left:e}"),
        })
    }
}

fn failed(what: &'static str, error: &Error) -> CalibrationError {
    CalibrationError::Fit {
        what,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brent_finds_a_root() {
        let x = root("test", 0.0, 3.0, |x| x * x - 2.0).unwrap();
        assert!((x - 2.0_f64.sqrt()).abs() < 1e-13, "{x}");
        assert_eq!(root("test", 1.0, 3.0, |x| x - 1.0).unwrap(), 1.0);
        assert!(root("test", 1.0, 3.0, |x| x).is_err());
    }

    #[test]
    fn l_bfgs_finds_a_minimum() {
        // sum_i (i + 1) (x_i - i)^2
        struct Bowl;
        impl Smooth for Bowl {
            fn value(&self, x: &[f64]) -> (f64, Vec<f64>) {
                let terms = x.iter().enumerate().map(|(i, x)| (i as f64 + 1.0, x - i as f64));
                (
                    terms.clone().map(|(weight, off)| weight * off * off).sum(),
                    terms.map(|(weight, off)| 2.0 * weight * off).collect(),
                )
            }
        }
        let x = minimise("test", &Bowl, vec![9.0; 20]).unwrap();
        for (i, x) in x.iter().enumerate() {
            assert!((x - i as f64).abs() < 1e-9, "{x}");
        }
    }
}
