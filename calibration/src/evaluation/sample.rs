//! Rows laid out as the metrics take them.

use super::JudgedRow;
use crate::{Probability, Shape};

/// The rows of a population, or of a resample of it, sorted out by what they can be judged for.
#[derive(Default)]
pub(super) struct Sample<'a> {
    /// Rows with a gold option.
    pub labelled: Vec<&'a [Probability]>,
    pub labels: Vec<usize>,
    /// The same as pairs whose first option is the row's most probable one, and 0 where that is right: metrics of the top
    /// label give the same for these, whatever the number of options.
    pub tops: Vec<[Probability; 2]>,
    pub wrongs: Vec<usize>,
    /// Predicates among them: the probability of true, twice, and whether it is.
    pub trues: Vec<Probability>,
    pub true_scores: Vec<f64>,
    pub truths: Vec<bool>,
    /// Scores among them.
    pub levelled: Vec<&'a [Probability]>,
    pub levels: Vec<usize>,
    /// Rows with ratings.
    pub rated: Vec<&'a [Probability]>,
    pub ratings: Vec<&'a [Probability]>,
    /// Scores among those.
    pub rated_levelled: Vec<&'a [Probability]>,
    pub level_ratings: Vec<&'a [Probability]>,
    /// Per group that was drawn: rows answered right, and rows with a gold option.
    pub groups: Vec<(usize, usize)>,
}

impl<'a> Sample<'a> {
    pub fn clear(&mut self) {
        self.labelled.clear();
        self.labels.clear();
        self.tops.clear();
        self.wrongs.clear();
        self.trues.clear();
        self.true_scores.clear();
        self.truths.clear();
        self.levelled.clear();
        self.levels.clear();
        self.rated.clear();
        self.ratings.clear();
        self.rated_levelled.clear();
        self.level_ratings.clear();
        self.groups.clear();
    }

    pub fn push(&mut self, row: &'a JudgedRow) {
        let probabilities = row.probabilities();
        if let Some(label) = row.gold_option() {
            self.labelled.push(probabilities);
            self.labels.push(label);
            let (answer, p) = row.answer();
            self.tops.push([p, Probability::ZERO]);
            self.wrongs.push(usize::from(answer != label));
            match (row.shape(), probabilities) {
                (Shape::Predicate, [_, of_true]) => {
                    self.trues.push(*of_true);
                    self.true_scores.push(of_true.get());
                    self.truths.push(label == 1);
                }
                (Shape::Score, levels) => {
                    self.levelled.push(levels);
                    self.levels.push(label);
                }
                _ => {}
            }
        }
        if let Some(ratings) = row.ratings() {
            self.rated.push(probabilities);
            self.ratings.push(ratings);
            if row.shape() == Shape::Score {
                self.rated_levelled.push(probabilities);
                self.level_ratings.push(ratings);
            }
        }
    }
}
