//! What was compared, and how it came out.

use serde::Serialize;

/// What part of the way a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Sizes of resized pictures.
    Grid,
    /// Patches of pictures.
    Image,
    /// Frames of sound.
    Audio,
    /// Patches of video frames.
    Video,
    /// Both spellings of the configuration, and what follows from it.
    Checkpoint,
    /// Token ids of prompts.
    Prompt,
    /// Hidden states.
    Hidden,
    /// Probabilities of the slot head.
    Head,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Part of the way.
    pub area: Area,
    /// What was compared.
    pub name: String,
    /// Largest absolute difference, where numbers were compared; exact comparisons have none.
    pub difference: Option<f64>,
    /// The most that it may be; 0 for exact comparisons.
    pub bound: f64,
    /// Whether it held.
    pub passed: bool,
    /// What differs, where it did not hold.
    pub detail: Option<String>,
}

/// All comparisons.
pub struct Report<'d> {
    /// In the order made.
    pub checks: Vec<Check>,
    done: &'d mut dyn FnMut(&Check),
}

impl<'d> Report<'d> {
    pub(super) fn new(done: &'d mut dyn FnMut(&Check)) -> Self {
        Self {
            checks: Vec::new(),
            done,
        }
    }

    /// How many did not hold.
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| !check.passed).count()
    }

    /// Records an exact comparison; `difference` says what differs.
    pub(super) fn exact(&mut self, area: Area, name: impl Into<String>, difference: Option<String>) {
        self.add(Check {
            area,
            name: name.into(),
            difference: None,
            bound: 0.0,
            passed: difference.is_none(),
            detail: difference,
        });
    }

    /// Records a comparison of numbers.
    pub(super) fn close(
        &mut self,
        area: Area,
        name: impl Into<String>,
        found: &[f32],
        wanted: &[f32],
        bound: f64,
    ) {
        let (difference, detail) = furthest(found, wanted);
        self.add(Check {
            area,
            name: name.into(),
            difference,
            bound,
            passed: detail.is_none() && difference.is_some_and(|difference| difference <= bound),
            detail,
        });
    }

    fn add(&mut self, check: Check) {
        (self.done)(&check);
        self.checks.push(check);
    }
}

/// The largest absolute difference, and what makes a comparison impossible.
fn furthest(found: &[f32], wanted: &[f32]) -> (Option<f64>, Option<String>) {
    if found.len() != wanted.len() {
        let detail = format!("{} numbers instead of {}", found.len(), wanted.len());
        return (None, Some(detail));
    }
    if let Some(place) = found.iter().position(|value| !value.is_finite()) {
        return (None, Some(format!("number {place} is {}", found[place])));
    }
    let distance = |(found, wanted): (&f32, &f32)| (f64::from(*found) - f64::from(*wanted)).abs();
    (
        Some(found.iter().zip(wanted).map(distance).fold(0.0, f64::max)),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_fails() {
        let mut seen = 0;
        let mut count = |_: &Check| seen += 1;
        let mut report = Report::new(&mut count);
        report.exact(Area::Grid, "a", None);
        report.exact(Area::Grid, "b", Some("x".into()));
        report.close(Area::Head, "c", &[1.0, 2.0], &[1.0, 2.5], 0.5);
        report.close(Area::Head, "d", &[1.0, 2.0], &[1.0, 2.5], 0.4);
        report.close(Area::Head, "e", &[1.0], &[1.0, 2.5], 1.0);
        report.close(Area::Head, "f", &[f32::NAN], &[1.0], 1.0);
        let passed: Vec<_> = report.checks.iter().map(|check| check.passed).collect();
        assert_eq!(passed, [true, false, true, false, false, false]);
        assert_eq!(report.failed(), 4);
        assert_eq!(seen, 6);
    }
}
