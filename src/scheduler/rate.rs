//! How many tokens a second the engine has been doing lately.

use std::time::Duration;

/// Exponentially weighted tokens per second; recent batches weigh by their duration.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecentRate {
    tokens: f64,
    seconds: f64,
}

/// Seconds of engine time after which an old batch weighs 1/e.
const MEMORY_SECONDS: f64 = 10.0;

/// Assumed before the first batch: slow enough that callers are not invited back too soon.
const INITIAL_TOKENS_PER_SECOND: f64 = 500.0;

impl RecentRate {
    /// Adds a batch.
    pub(super) fn record(&mut self, tokens: usize, took: Duration) {
        let seconds = took.as_secs_f64();
        let keep = (-seconds / MEMORY_SECONDS).exp();
        self.tokens = self.tokens * keep + tokens as f64;
        self.seconds = self.seconds * keep + seconds;
    }

    /// Tokens per second, always positive and finite.
    pub(super) fn tokens_per_second(&self) -> f64 {
        if self.seconds > 1e-6 && self.tokens >= 1.0 {
            self.tokens / self.seconds
        } else {
            INITIAL_TOKENS_PER_SECOND
        }
    }

    /// Time to work through `tokens`, between 1 and 60 s.
    pub(super) fn time_for(&self, tokens: usize) -> Duration {
        Duration::from_secs_f64((tokens as f64 / self.tokens_per_second()).clamp(1.0, 60.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_recent_batches() {
        let mut rate = RecentRate::default();
        assert_eq!(rate.time_for(5_000), Duration::from_secs(10));
        for _ in 0..50 {
            rate.record(1_000, Duration::from_secs(1));
        }
        assert!((rate.tokens_per_second() - 1_000.0).abs() < 1.0);
        for _ in 0..50 {
            rate.record(100, Duration::from_secs(1));
        }
        assert!(rate.tokens_per_second() < 110.0);
        assert_eq!(rate.time_for(1), Duration::from_secs(1));
        assert_eq!(rate.time_for(10_000_000), Duration::from_secs(60));
    }
}
