//! The error type of this crate.

/// What can be wrong with numbers that should be scores, probabilities or labels.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// A number is no probability.
    #[error("{0} is no probability: it must be a number from 0 to 1")]
    NotAProbability(f64),
    /// A score is not finite.
    #[error("score {index} is {value}: scores must be finite")]
    NotFinite {
        /// Which score.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// There is nothing to compute on.
    #[error("no {0} were given")]
    Empty(&'static str),
    /// Two lists that belong together differ in length.
    #[error("{predictions} predictions and {labels} labels: there must be one label per prediction")]
    Lengths {
        /// Number of predictions.
        predictions: usize,
        /// Number of labels.
        labels: usize,
    },
    /// A label names an option that its row does not have.
    #[error("row {row}: label {label} of {options} options")]
    Label {
        /// Which row.
        row: usize,
        /// Its label.
        label: usize,
        /// Number of options of that row.
        options: usize,
    },
    /// The groups of the rows are not one per row.
    #[error("{rows} rows and {groups} groups: there must be one group per row")]
    Groups {
        /// Number of rows.
        rows: usize,
        /// Number of groups named.
        groups: usize,
    },
    /// The probabilities of a row are no distribution.
    #[error("row {row}: the probabilities sum to {sum}, not to 1")]
    NotADistribution {
        /// Which row.
        row: usize,
        /// What they sum to.
        sum: f64,
    },
    /// A row's gold distribution is over another number of options than its prediction.
    #[error("row {row}: {gold} gold probabilities for {options} options")]
    GoldOptions {
        /// Which row.
        row: usize,
        /// Number of gold probabilities.
        gold: usize,
        /// Number of options of that row.
        options: usize,
    },
    /// A judged row is none.
    #[error("row {id:?}: {reason}")]
    JudgedRow {
        /// What the caller calls it.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The rows do not determine the metric.
    #[error("{metric} is undefined here: it needs {needs}")]
    Undefined {
        /// The metric.
        metric: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A ranking metric needs both answers.
    #[error("all labels are {0}: AUROC needs both true and false ones")]
    OneClass(bool),
    /// A number of bins that makes no sense.
    #[error("0 bins: use at least one, usually 10 or 15")]
    NoBins,
    /// A setting out of its range.
    #[error("{name} is {value}: it must be {must}")]
    Setting {
        /// Which setting.
        name: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// A calibrator or a guarantee was given rows that it is not made for.
    #[error("{what} needs {needs}, and was given {found}")]
    NotApplicable {
        /// Which calibrator.
        what: &'static str,
        /// What it needs.
        needs: String,
        /// What it was given.
        found: String,
    },
    /// Scores separate the labels, so that the likelihood has no maximum.
    #[error("the scores separate true from false rows, so {0} has no finite fit: use smoothed targets")]
    Separable(&'static str),
    /// The optimiser gave up.
    #[error("{what} could not be fitted: {reason}")]
    Fit {
        /// Which calibrator.
        what: &'static str,
        /// What the optimiser said.
        reason: String,
    },
    /// A plot could not be drawn.
    #[error("a plot could not be drawn: {0}")]
    Plot(String),
    /// A stored object that contradicts itself.
    #[error("no valid {what}: {reason}")]
    Stored {
        /// What should have been stored.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A stored object in a form that this version does not read.
    #[error("format version {found}: this program reads version {reads}")]
    FormatVersion {
        /// What the object says.
        found: u64,
        /// What can be read.
        reads: u64,
    },
}
