//! Metrics with their intervals, and those that have no value.

use serde::{Deserialize, Serialize};

use super::Metric;

/// A bootstrap interval: the percentiles of a metric over the resamples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PercentileInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Resamples that the ends are percentiles of.
    pub resamples: usize,
    /// Resamples left out because the metric is undefined on them.
    pub undefined: usize,
}

/// One metric on some rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Which metric.
    pub metric: Metric,
    /// Number of rows that it is of: those that have what the metric needs.
    pub rows: usize,
    /// Its value on these rows.
    pub estimate: f64,
    /// Its interval; none where there is too little to resample, which
    /// [`Figures::without_interval`] explains.
    pub interval: Option<PercentileInterval>,
}

/// A metric that these rows leave without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndefinedMetric {
    /// Which metric.
    pub metric: Metric,
    /// Why.
    pub reason: String,
}

/// All metrics on some rows: each is either a figure or named with the reason why not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Those that have a value, in the order of [`Metric::ALL`].
    pub defined: Vec<Figure>,
    /// Those that have none.
    pub undefined: Vec<UndefinedMetric>,
    /// Why figures have no interval, if they have none.
    pub without_interval: Option<String>,
}

impl Figures {
    /// The figure of a metric, if it has a value.
    pub fn get(&self, metric: Metric) -> Option<&Figure> {
        self.defined.iter().find(|figure| figure.metric == metric)
    }

    /// The value of a metric, if it has one.
    pub fn estimate(&self, metric: Metric) -> Option<f64> {
        self.get(metric).map(|figure| figure.estimate)
    }

    /// Why a metric has no value, if it has none.
    pub fn reason(&self, metric: Metric) -> Option<&str> {
        self.undefined
            .iter()
            .find(|undefined| undefined.metric == metric)
            .map(|undefined| undefined.reason.as_str())
    }
}
