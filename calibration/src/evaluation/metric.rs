//! The metrics that an evaluation can contain.

use serde::{Deserialize, Serialize};

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
    /// Neither: it describes the rows or a direction of error.
    Neither,
}

/// A metric of an evaluation; the formulas are with the functions of [`metrics`](crate::metrics). Serialised as its
/// [`key`](Self::key).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Metric {
    /// Share of rows whose most probable option is the gold one.
    Accuracy,
    /// Accuracy, averaged over groups; each group counts the same.
    AccuracyOverGroups,
    /// Accuracy, averaged over the gold options that occur.
    MacroAccuracy,
    /// Negative log-likelihood, nats.
    Nll,
    /// Log-loss skill against the base rate.
    LogLossSkill,
    /// Multi-class Brier score, from 0 to 2.
    BrierMulticlass,
    /// Binary Brier score of predicates, from 0 to 1.
    BrierBinary,
    /// Reliability part of the multi-class Brier score, 10 bins of equal width.
    BrierReliability,
    /// Resolution part of the multi-class Brier score.
    BrierResolution,
    /// Uncertainty part of the multi-class Brier score.
    BrierUncertainty,
    /// What bins of a range leave: within-bin variance less within-bin covariance.
    BrierWithinBins,
    /// Expected calibration error of the top label, 10 bins of equal width.
    #[serde(rename = "ece_equal_width_10")]
    EceEqualWidth10,
    /// The same over 15 bins.
    #[serde(rename = "ece_equal_width_15")]
    EceEqualWidth15,
    /// Expected calibration error of the top label, 10 bins of equal mass.
    #[serde(rename = "ece_equal_mass_10")]
    EceEqualMass10,
    /// The same over 15 bins.
    #[serde(rename = "ece_equal_mass_15")]
    EceEqualMass15,
    /// Expected calibration error of a predicate's probability of true, 15 bins of equal mass.
    #[serde(rename = "ece_binary_equal_mass_15")]
    EceBinary,
    /// Class-wise expected calibration error, 15 bins of equal width.
    #[serde(rename = "classwise_ece_equal_width_15")]
    ClasswiseEce,
    /// Adaptive calibration error over 15 ranges of equal mass.
    #[serde(rename = "adaptive_calibration_error_15")]
    AdaptiveCalibrationError,
    /// Maximum calibration error over 15 bins of equal mass.
    #[serde(rename = "mce_equal_mass_15")]
    Mce,
    /// The part of the expected calibration error (15 bins of equal mass) where more was promised than kept.
    #[serde(rename = "overconfidence_equal_mass_15")]
    Overconfidence,
    /// The part where more was kept than promised.
    #[serde(rename = "underconfidence_equal_mass_15")]
    Underconfidence,
    /// Area under the receiver operating characteristic of predicates.
    Auroc,
    /// Average precision (area under the precision-recall curve) of predicates.
    AveragePrecision,
    /// Area under the risk-coverage curve.
    Aurc,
    /// Accuracy on the most confident half of the rows.
    #[serde(rename = "selective_accuracy_0.5")]
    SelectiveAccuracy50,
    /// Accuracy on the most confident 80 %.
    #[serde(rename = "selective_accuracy_0.8")]
    SelectiveAccuracy80,
    /// Accuracy on the most confident 90 %.
    #[serde(rename = "selective_accuracy_0.9")]
    SelectiveAccuracy90,
    /// Accuracy on the most confident 95 %.
    #[serde(rename = "selective_accuracy_0.95")]
    SelectiveAccuracy95,
    /// Ranked probability score of score rows.
    RankedProbabilityScore,
    /// The same with every row divided by its number of levels less one.
    RankedProbabilityScoreNormalised,
    /// Cross-entropy against ratings, nats.
    RatingsCrossEntropy,
    /// Entropy of the ratings, nats: the least that the cross-entropy can be.
    RatingsEntropy,
    /// Kullback-Leibler divergence of the ratings from the prediction, nats.
    RatingsKlDivergence,
    /// Squared distance of prediction and ratings.
    RatingsBrier,
    /// Ranked probability score of score rows against ratings.
    RatingsRankedProbabilityScore,
    /// The same with every row divided by its number of levels less one.
    RatingsRankedProbabilityScoreNormalised,
}

impl Metric {
    /// Every metric, in the order of reports.
    pub const ALL: [Metric; 36] = [
        Metric::Accuracy,
        Metric::AccuracyOverGroups,
        Metric::MacroAccuracy,
        Metric::Nll,
        Metric::LogLossSkill,
        Metric::BrierMulticlass,
        Metric::BrierBinary,
        Metric::BrierReliability,
        Metric::BrierResolution,
        Metric::BrierUncertainty,
        Metric::BrierWithinBins,
        Metric::EceEqualWidth10,
        Metric::EceEqualWidth15,
        Metric::EceEqualMass10,
        Metric::EceEqualMass15,
        Metric::EceBinary,
        Metric::ClasswiseEce,
        Metric::AdaptiveCalibrationError,
        Metric::Mce,
        Metric::Overconfidence,
        Metric::Underconfidence,
        Metric::Auroc,
        Metric::AveragePrecision,
        Metric::Aurc,
        Metric::SelectiveAccuracy50,
        Metric::SelectiveAccuracy80,
        Metric::SelectiveAccuracy90,
        Metric::SelectiveAccuracy95,
        Metric::RankedProbabilityScore,
        Metric::RankedProbabilityScoreNormalised,
        Metric::RatingsCrossEntropy,
        Metric::RatingsEntropy,
        Metric::RatingsKlDivergence,
        Metric::RatingsBrier,
        Metric::RatingsRankedProbabilityScore,
        Metric::RatingsRankedProbabilityScoreNormalised,
    ];

    /// Its name in JSON, which says the bins.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Accuracy => "accuracy",
            Metric::AccuracyOverGroups => "accuracy_over_groups",
            Metric::MacroAccuracy => "macro_accuracy",
            Metric::Nll => "nll",
            Metric::LogLossSkill => "log_loss_skill",
            Metric::BrierMulticlass => "brier_multiclass",
            Metric::BrierBinary => "brier_binary",
            Metric::BrierReliability => "brier_reliability",
            Metric::BrierResolution => "brier_resolution",
            Metric::BrierUncertainty => "brier_uncertainty",
            Metric::BrierWithinBins => "brier_within_bins",
            Metric::EceEqualWidth10 => "ece_equal_width_10",
            Metric::EceEqualWidth15 => "ece_equal_width_15",
            Metric::EceEqualMass10 => "ece_equal_mass_10",
            Metric::EceEqualMass15 => "ece_equal_mass_15",
            Metric::EceBinary => "ece_binary_equal_mass_15",
            Metric::ClasswiseEce => "classwise_ece_equal_width_15",
            Metric::AdaptiveCalibrationError => "adaptive_calibration_error_15",
            Metric::Mce => "mce_equal_mass_15",
            Metric::Overconfidence => "overconfidence_equal_mass_15",
            Metric::Underconfidence => "underconfidence_equal_mass_15",
            Metric::Auroc => "auroc",
            Metric::AveragePrecision => "average_precision",
            Metric::Aurc => "aurc",
            Metric::SelectiveAccuracy50 => "selective_accuracy_0.5",
            Metric::SelectiveAccuracy80 => "selective_accuracy_0.8",
            Metric::SelectiveAccuracy90 => "selective_accuracy_0.9",
            Metric::SelectiveAccuracy95 => "selective_accuracy_0.95",
            Metric::RankedProbabilityScore => "ranked_probability_score",
            Metric::RankedProbabilityScoreNormalised => "ranked_probability_score_normalised",
            Metric::RatingsCrossEntropy => "ratings_cross_entropy",
            Metric::RatingsEntropy => "ratings_entropy",
            Metric::RatingsKlDivergence => "ratings_kl_divergence",
            Metric::RatingsBrier => "ratings_brier",
            Metric::RatingsRankedProbabilityScore => "ratings_ranked_probability_score",
            Metric::RatingsRankedProbabilityScoreNormalised => "ratings_ranked_probability_score_normalised",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Metric::Accuracy => "Accuracy (every row counts the same)",
            Metric::AccuracyOverGroups => "Accuracy, mean over groups",
            Metric::MacroAccuracy => "Accuracy, mean over gold options",
            Metric::Nll => "Negative log-likelihood (nats)",
            Metric::LogLossSkill => "Log-loss skill against the base rate",
            Metric::BrierMulticlass => "Brier score, multi-class (0 to 2)",
            Metric::BrierBinary => "Brier score, binary (0 to 1)",
            Metric::BrierReliability => "Brier part: reliability",
            Metric::BrierResolution => "Brier part: resolution",
            Metric::BrierUncertainty => "Brier part: uncertainty",
            Metric::BrierWithinBins => "Brier part: within bins",
            Metric::EceEqualWidth10 => "ECE, 10 bins of equal width",
            Metric::EceEqualWidth15 => "ECE, 15 bins of equal width",
            Metric::EceEqualMass10 => "ECE, 10 bins of equal mass",
            Metric::EceEqualMass15 => "ECE, 15 bins of equal mass",
            Metric::EceBinary => "ECE of P(true), 15 bins of equal mass",
            Metric::ClasswiseEce => "Class-wise ECE, 15 bins of equal width",
            Metric::AdaptiveCalibrationError => "Adaptive calibration error, 15 ranges",
            Metric::Mce => "Maximum calibration error, 15 bins of equal mass",
            Metric::Overconfidence => "Overconfidence, part of ECE (15, equal mass)",
            Metric::Underconfidence => "Underconfidence, part of ECE (15, equal mass)",
            Metric::Auroc => "AUROC of P(true)",
            Metric::AveragePrecision => "Average precision (AUPRC) of P(true)",
            Metric::Aurc => "Area under the risk-coverage curve",
            Metric::SelectiveAccuracy50 => "Accuracy at coverage 0.5",
            Metric::SelectiveAccuracy80 => "Accuracy at coverage 0.8",
            Metric::SelectiveAccuracy90 => "Accuracy at coverage 0.9",
            Metric::SelectiveAccuracy95 => "Accuracy at coverage 0.95",
            Metric::RankedProbabilityScore => "Ranked probability score",
            Metric::RankedProbabilityScoreNormalised => "Ranked probability score (0 to 1)",
            Metric::RatingsCrossEntropy => "Cross-entropy against ratings (nats)",
            Metric::RatingsEntropy => "Entropy of the ratings (nats)",
            Metric::RatingsKlDivergence => "KL divergence from ratings (nats)",
            Metric::RatingsBrier => "Brier score against ratings",
            Metric::RatingsRankedProbabilityScore => "Ranked probability score against ratings",
            Metric::RatingsRankedProbabilityScoreNormalised => {
                "Ranked probability score against ratings (0 to 1)"
            }
        }
    }

    /// Which way it is better.
    pub fn better(self) -> Better {
        match self {
            Metric::Accuracy
            | Metric::AccuracyOverGroups
            | Metric::MacroAccuracy
            | Metric::LogLossSkill
            | Metric::BrierResolution
            | Metric::Auroc
            | Metric::AveragePrecision
            | Metric::SelectiveAccuracy50
            | Metric::SelectiveAccuracy80
            | Metric::SelectiveAccuracy90
            | Metric::SelectiveAccuracy95 => Better::Higher,
            Metric::BrierUncertainty | Metric::BrierWithinBins | Metric::RatingsEntropy => Better::Neither,
            _ => Better::Lower,
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_names_are_the_keys() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(json, format!("\"{}\"", metric.key()));
            assert_eq!(serde_json::from_str::<Metric>(&json).unwrap(), metric);
        }
        let mut sorted = Metric::ALL.to_vec();
        sorted.sort();
        assert_eq!(sorted, Metric::ALL);
    }
}
