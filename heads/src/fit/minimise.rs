//! L-BFGS for the fit; the algorithm is argmin's.

use std::cell::{Cell, RefCell};

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

use crate::HeadError;

/// Value and gradient at a point.
type Slope = (f64, Vec<f64>);

/// A function as argmin sees it: it asks for value and gradient apart, so the last point's are kept; the best point so far
/// is kept here too; and evaluations are counted, since argmin's line search can go round for ever where rounding hides
/// the slope.
struct Problem<'a, F> {
    function: &'a F,
    last: RefCell<Option<(Vec<f64>, Slope)>>,
    best: &'a RefCell<(f64, Vec<f64>)>,
    left: Cell<usize>,
}

impl<F: Fn(&[f64]) -> Slope> Problem<'_, F> {
    fn evaluate(&self, point: &[f64]) -> Result<Slope, Error> {
        if let Some((known, slope)) = self.last.borrow().as_ref()
            && known == point
        {
            return Ok(slope.clone());
        }
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.ok_or_else(|| Error::msg("too many evaluations"))?);
        let slope = (self.function)(point);
        if !slope.0.is_finite() {
            return Err(Error::msg("the value is not finite"));
        }
        if slope.0 <= self.best.borrow().0 {
            *self.best.borrow_mut() = (slope.0, point.to_vec());
        }
        *self.last.borrow_mut() = Some((point.to_vec(), slope.clone()));
        Ok(slope)
    }
}

impl<F: Fn(&[f64]) -> Slope> CostFunction for Problem<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.evaluate(point)?.0)
    }
}

impl<F: Fn(&[f64]) -> Slope> Gradient for Problem<'_, F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.evaluate(point)?.1)
    }
}

/// Steps kept by L-BFGS, steps taken at most, evaluations at most, and fresh starts.
const MEMORY: usize = 10;
const MAX_STEPS: u64 = 3000;
const EVALUATIONS: usize = 6000;
const STARTS: usize = 5;

/// The minimum of a convex function, from `start`: where the gradient's norm is `done`, or as small as rounding lets it be.
///
/// # Errors
/// The norm is still above `accepted`.
pub(super) fn minimise(
    function: impl Fn(&[f64]) -> Slope,
    start: Vec<f64>,
    done: f64,
    accepted: f64,
) -> Result<Vec<f64>, HeadError> {
    let norm_at = |point: &[f64]| function(point).1.iter().map(|g| g * g).sum::<f64>().sqrt();
    let best = RefCell::new((function(&start).0, start));
    // A line search that stops at the rounding of the function's value ends a run; a fresh start from the best point,
    // without the remembered steps, goes on if anything is left to gain.
    for _ in 0..STARTS {
        let (before, point) = best.borrow().clone();
        if norm_at(&point) <= done {
            break;
        }
        let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
            .with_tolerance_grad(done)
            .and_then(|solver| solver.with_tolerance_cost(0.0))
            .map_err(|error| HeadError::Fit(error.to_string()))?;
        let problem = Problem {
            function: &function,
            last: RefCell::new(None),
            best: &best,
            left: Cell::new(EVALUATIONS),
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
    let left = norm_at(&point);
    if left <= accepted && point.iter().all(|x| x.is_finite()) {
        Ok(point)
    } else {
        Err(HeadError::Fit(format!(
            "the optimiser stopped where the slope is still {left:e}: use more rows, or stronger regularisation"
        )))
    }
}
