//! Which function computes which metric, from which rows.

use super::Metric;
use super::sample::Sample;
use crate::metrics::{self, Binning, distribution};
use crate::{CalibrationError, Probability};

/// Metrics that one computation gives.
pub(super) struct Family {
    pub metrics: &'static [Metric],
    pub needs: Needs,
    /// Whether it looks at every option of every row by bins, which is the work of many other metrics together.
    pub wide: bool,
    /// One value per metric.
    pub compute: fn(&Sample<'_>) -> Result<Vec<f64>, CalibrationError>,
}

/// What rows a metric is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Rows with a gold option.
    GoldOption,
    /// Rows with a gold option, all of one shape and with the same number of options: what is compared across rows is the
    /// place of an option in its list.
    OneOptionList,
    /// Rows with a gold option and a group.
    Group,
    /// Predicates with a gold option.
    Predicate,
    /// Scores with a gold option.
    Score,
    /// Rows with ratings.
    Ratings,
    /// Scores with ratings.
    ScoreRatings,
}

const WIDTH_10: Binning = Binning::EqualWidth(10);
const WIDTH_15: Binning = Binning::EqualWidth(15);
const MASS_15: Binning = Binning::EqualMass(15);

/// The families whose figures are given for every group.
pub(super) const OF_GROUPS: &[Metric] = &[
    Metric::Accuracy,
    Metric::Nll,
    Metric::BrierMulticlass,
    Metric::EceEqualMass15,
];

/// Every metric once.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        metrics: &[Metric::Accuracy],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::accuracy(&s.tops, &s.wrongs)),
    },
    Family {
        metrics: &[Metric::AccuracyOverGroups],
        needs: Needs::Group,
        wide: false,
        compute: |s| one(accuracy_over_groups(&s.groups)),
    },
    Family {
        metrics: &[Metric::MacroAccuracy],
        needs: Needs::OneOptionList,
        wide: false,
        compute: |s| one(metrics::macro_accuracy(&s.labelled, &s.labels)),
    },
    Family {
        metrics: &[Metric::Nll],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::nll(&s.labelled, &s.labels)),
    },
    Family {
        metrics: &[Metric::LogLossSkill],
        needs: Needs::OneOptionList,
        wide: false,
        compute: |s| one(metrics::log_loss_skill(&s.labelled, &s.labels)),
    },
    Family {
        metrics: &[Metric::BrierMulticlass],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::brier_multiclass(&s.labelled, &s.labels)),
    },
    Family {
        metrics: &[Metric::BrierBinary],
        needs: Needs::Predicate,
        wide: false,
        compute: |s| one(metrics::brier_binary(&s.trues, &s.truths)),
    },
    Family {
        metrics: &[
            Metric::BrierReliability,
            Metric::BrierResolution,
            Metric::BrierUncertainty,
            Metric::BrierWithinBins,
        ],
        needs: Needs::GoldOption,
        wide: true,
        compute: |s| {
            let parts = metrics::brier_decomposition_multiclass(&s.labelled, &s.labels, WIDTH_10)?;
            Ok(vec![
                parts.reliability,
                parts.resolution,
                parts.uncertainty,
                parts.within_bin_variance - parts.within_bin_covariance,
            ])
        },
    },
    Family {
        metrics: &[Metric::EceEqualWidth10],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::ece(&s.tops, &s.wrongs, 10)),
    },
    Family {
        metrics: &[Metric::EceEqualWidth15],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::ece(&s.tops, &s.wrongs, 15)),
    },
    Family {
        metrics: &[Metric::EceEqualMass10],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::ece_equal_mass(&s.tops, &s.wrongs, 10)),
    },
    Family {
        metrics: &[Metric::EceEqualMass15],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::ece_equal_mass(&s.tops, &s.wrongs, 15)),
    },
    Family {
        metrics: &[Metric::EceBinary],
        needs: Needs::Predicate,
        wide: false,
        compute: |s| one(metrics::ece_binary(&s.trues, &s.truths, MASS_15)),
    },
    Family {
        metrics: &[Metric::ClasswiseEce],
        needs: Needs::OneOptionList,
        wide: true,
        compute: |s| one(metrics::classwise_ece(&s.labelled, &s.labels, WIDTH_15)),
    },
    Family {
        metrics: &[Metric::AdaptiveCalibrationError],
        needs: Needs::OneOptionList,
        wide: true,
        compute: |s| one(metrics::adaptive_calibration_error(&s.labelled, &s.labels, 15)),
    },
    Family {
        metrics: &[Metric::Mce],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::mce(&s.tops, &s.wrongs, MASS_15)),
    },
    Family {
        metrics: &[Metric::Overconfidence, Metric::Underconfidence],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| {
            let parts = metrics::over_under_confidence(&s.tops, &s.wrongs, MASS_15)?;
            Ok(vec![parts.over, parts.under])
        },
    },
    Family {
        metrics: &[Metric::Auroc],
        needs: Needs::Predicate,
        wide: false,
        compute: |s| one(metrics::auroc(&s.true_scores, &s.truths)),
    },
    Family {
        metrics: &[Metric::AveragePrecision],
        needs: Needs::Predicate,
        wide: false,
        compute: |s| one(metrics::average_precision(&s.true_scores, &s.truths)),
    },
    Family {
        metrics: &[Metric::Aurc],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| one(metrics::aurc(&s.tops, &s.wrongs)),
    },
    Family {
        metrics: &[
            Metric::SelectiveAccuracy50,
            Metric::SelectiveAccuracy80,
            Metric::SelectiveAccuracy90,
            Metric::SelectiveAccuracy95,
        ],
        needs: Needs::GoldOption,
        wide: false,
        compute: |s| {
            let at = |coverage| metrics::selective_accuracy(&s.tops, &s.wrongs, Probability::new(coverage)?);
            [0.5, 0.8, 0.9, 0.95].into_iter().map(at).collect()
        },
    },
    Family {
        metrics: &[Metric::RankedProbabilityScore],
        needs: Needs::Score,
        wide: false,
        compute: |s| one(metrics::ranked_probability_score(&s.levelled, &s.levels)),
    },
    Family {
        metrics: &[Metric::RankedProbabilityScoreNormalised],
        needs: Needs::Score,
        wide: false,
        compute: |s| {
            one(metrics::ranked_probability_score_normalised(
                &s.levelled,
                &s.levels,
            ))
        },
    },
    Family {
        metrics: &[Metric::RatingsCrossEntropy],
        needs: Needs::Ratings,
        wide: false,
        compute: |s| one(distribution::cross_entropy(&s.rated, &s.ratings)),
    },
    Family {
        metrics: &[Metric::RatingsEntropy],
        needs: Needs::Ratings,
        wide: false,
        compute: |s| one(distribution::entropy(&s.ratings)),
    },
    Family {
        metrics: &[Metric::RatingsKlDivergence],
        needs: Needs::Ratings,
        wide: false,
        compute: |s| one(distribution::kl_divergence(&s.rated, &s.ratings)),
    },
    Family {
        metrics: &[Metric::RatingsBrier],
        needs: Needs::Ratings,
        wide: false,
        compute: |s| one(distribution::brier(&s.rated, &s.ratings)),
    },
    Family {
        metrics: &[Metric::RatingsRankedProbabilityScore],
        needs: Needs::ScoreRatings,
        wide: false,
        compute: |s| {
            one(distribution::ranked_probability_score(
                &s.rated_levelled,
                &s.level_ratings,
            ))
        },
    },
    Family {
        metrics: &[Metric::RatingsRankedProbabilityScoreNormalised],
        needs: Needs::ScoreRatings,
        wide: false,
        compute: |s| {
            one(distribution::ranked_probability_score_normalised(
                &s.rated_levelled,
                &s.level_ratings,
            ))
        },
    },
];

fn one(value: Result<f64, CalibrationError>) -> Result<Vec<f64>, CalibrationError> {
    Ok(vec![value?])
}

/// Mean over the drawn groups of the share of their rows answered right: a group drawn twice counts twice, which
/// [`metrics::accuracy_over_groups`] cannot know.
fn accuracy_over_groups(groups: &[(usize, usize)]) -> Result<f64, CalibrationError> {
    let shares: Vec<f64> = groups
        .iter()
        .filter(|(_, rows)| *rows > 0)
        .map(|(right, rows)| *right as f64 / *rows as f64)
        .collect();
    if shares.is_empty() {
        return Err(CalibrationError::Empty("groups"));
    }
    Ok(shares.iter().sum::<f64>() / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_computed_once_and_in_order() {
        let of_families: Vec<Metric> = FAMILIES
            .iter()
            .flat_map(|family| family.metrics)
            .copied()
            .collect();
        assert_eq!(of_families, Metric::ALL);
    }
}
