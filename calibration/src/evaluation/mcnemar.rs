//! McNemar's test: whether two sets of answers to the same questions differ in accuracy.

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

use crate::thresholds::upper_tail;

/// Discordant pairs from which the test is the chi-square one.
const MANY: usize = 25;

/// How a p-value was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McNemarTest {
    /// Exact binomial test of the discordant pairs, two-sided; below 25 of them.
    Exact,
    /// Chi-square with one degree of freedom and continuity correction; from 25 discordant pairs up.
    ChiSquare,
}

/// McNemar's test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McNemar {
    /// Rows that only the first answers right.
    pub only_first: usize,
    /// Rows that only the second answers right.
    pub only_second: usize,
    /// Which test.
    pub test: McNemarTest,
    /// The smaller of the two counts for the exact test, else the chi-square statistic.
    pub statistic: f64,
    /// Two-sided probability of a difference at least this large where both are right equally often.
    pub p_value: f64,
}

/// McNemar's test of the rows that only one of two answers right (McNemar 1947, "Note on the sampling error of the
/// difference between correlated proportions or percentages"). Below 25 discordant pairs it is the exact binomial test,
/// `min(1, 2 P(Bin(b + c, 1/2) <= min(b, c)))`; from there up `(max(0, |b - c| - 1))^2 / (b + c)` against chi-square with
/// one degree of freedom, with the continuity correction of Edwards 1948.
///
/// As statsmodels' `mcnemar`, save that for b = c from 25 pairs up its correction makes a difference of 1 out of none.
/// Rows are taken as independent: with rows in groups the p-value is too small, and the paired interval of the
/// difference is the honest one.
pub fn mcnemar(only_first: usize, only_second: usize) -> McNemar {
    let discordant = only_first + only_second;
    let least = only_first.min(only_second);
    let (test, statistic, p_value) = if discordant < MANY {
        // P(X <= least) = P(X >= discordant - least), since both answers are equally likely.
        let p = 2.0 * upper_tail(discordant - least, discordant, 0.5);
        (McNemarTest::Exact, least as f64, p.min(1.0))
    } else {
        let apart = (only_first.abs_diff(only_second)).saturating_sub(1) as f64;
        let statistic = apart * apart / discordant as f64;
        (McNemarTest::ChiSquare, statistic, erfc((statistic / 2.0).sqrt()))
    };
    McNemar {
        only_first,
        only_second,
        test,
        statistic,
        p_value,
    }
}
