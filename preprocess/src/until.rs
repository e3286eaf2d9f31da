//! Until when decoding is worth while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A moment, or earlier: as soon as nobody waits for the result any more. Clones share that.
#[derive(Debug, Clone)]
pub struct Until {
    at: Instant,
    given_up: Arc<AtomicBool>,
}

impl Until {
    /// Until a moment.
    #[must_use]
    pub fn new(at: Instant) -> Self {
        Self {
            at,
            given_up: Arc::default(),
        }
    }

    /// The same, but `time` from now if that is sooner.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let sooner = Instant::now().checked_add(time);
        Self {
            at: sooner.map_or(self.at, |sooner| sooner.min(self.at)),
            given_up: Arc::clone(&self.given_up),
        }
    }

    /// Until another moment; both are given up together.
    #[must_use]
    pub fn at(&self, at: Instant) -> Self {
        Self {
            at,
            given_up: Arc::clone(&self.given_up),
        }
    }

    /// Nobody waits any more.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Whether there is no more reason to go on.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Relaxed) || Instant::now() > self.at
    }
}

impl Default for Until {
    /// A day from now, which is as good as for ever.
    fn default() -> Self {
        Self::new(Instant::now() + Duration::from_secs(86_400))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_at_its_time_or_when_it_is_given_up() {
        let until = Until::default();
        let (sooner, other) = (until.within(Duration::ZERO), until.within(Duration::MAX));
        std::thread::sleep(Duration::from_millis(2));
        assert!(sooner.is_over() && !until.is_over() && !other.is_over());
        until.give_up();
        assert!(until.is_over() && other.is_over());
    }
}
