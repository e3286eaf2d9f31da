//! The keys of a running server, with what each has used.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use subtle::ConditionallySelectable as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::api_key::KeyHash;
use super::file::{KeyEntry, KeyFile};

/// A key and what its holder has used.
#[derive(Debug)]
pub struct Key {
    name: String,
    rate: Option<(NonZeroU32, DefaultDirectRateLimiter)>,
    at_once: Option<(NonZeroU32, Arc<Semaphore>)>,
}

/// A place among the requests that a key may have at once; given back when dropped.
#[derive(Debug)]
pub struct Admission {
    _place: Option<OwnedSemaphorePermit>,
}

/// Why a key is not admitted for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooMuch {
    /// It has asked too often.
    Rate {
        /// Its limit in a minute.
        per_minute: NonZeroU32,
        /// When it may ask again.
        wait: Duration,
    },
    /// It has too many requests at once.
    Concurrency {
        /// Its limit.
        most: NonZeroU32,
    },
}

impl Key {
    fn new(entry: &KeyEntry) -> Self {
        Self {
            name: entry.name.clone(),
            rate: entry
                .requests_per_minute
                .map(|limit| (limit, RateLimiter::direct(Quota::per_minute(limit)))),
            at_once: entry.concurrency.map(|limit| {
                let places = usize::try_from(limit.get()).unwrap_or(usize::MAX);
                (
                    limit,
                    Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
                )
            }),
        }
    }

    /// Who it is for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Admits one request, which counts until the admission is dropped. What is refused for being one too many at once
    /// does not count towards the rate.
    ///
    /// # Errors
    /// The key is over one of its limits.
    pub fn admit(&self) -> Result<Admission, TooMuch> {
        let place = match &self.at_once {
            None => None,
            Some((most, places)) => match Arc::clone(places).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return Err(TooMuch::Concurrency { most: *most }),
            },
        };
        if let Some((per_minute, limiter)) = &self.rate
            && let Err(refused) = limiter.check()
        {
            return Err(TooMuch::Rate {
                per_minute: *per_minute,
                wait: refused.wait_time_from(DefaultClock::default().now()),
            });
        }
        Ok(Admission { _place: place })
    }
}

/// All keys of a server.
#[derive(Debug)]
pub struct Keyring {
    keys: Vec<(KeyHash, Arc<Key>)>,
}

impl Keyring {
    /// The keys of a file, none of them used.
    pub fn new(file: &KeyFile) -> Self {
        let of_entry = |entry: &KeyEntry| (entry.sha256, Arc::new(Key::new(entry)));
        Self {
            keys: file.keys.iter().map(of_entry).collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none, so that nobody may ask.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key that a caller sent. Every hash is compared whole, whichever is the right one.
    pub fn find(&self, sent: &[u8]) -> Option<&Arc<Key>> {
        let hash = KeyHash::of(sent);
        let mut found = u64::MAX;
        for (index, (known, _)) in (0_u64..).zip(&self.keys) {
            found.conditional_assign(&index, hash.is(known));
        }
        let index = usize::try_from(found).ok()?;
        self.keys.get(index).map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: &[(&str, &[u8], u32, u32)]) -> Keyring {
        let keys = entries.iter().map(|(name, key, rate, at_once)| KeyEntry {
            name: (*name).into(),
            sha256: KeyHash::of(key),
            requests_per_minute: NonZeroU32::new(*rate),
            concurrency: NonZeroU32::new(*at_once),
        });
        Keyring::new(&KeyFile { keys: keys.collect() })
    }

    #[test]
    fn only_a_whole_key_is_found() {
        let ring = ring(&[("first", b"one", 0, 0), ("second", b"two", 0, 0)]);
        let name = |key: &[u8]| ring.find(key).map(|key| key.name().to_owned());
        assert_eq!(name(b"one").as_deref(), Some("first"));
        assert_eq!(name(b"two").as_deref(), Some("second"));
        for wrong in [b"on".as_slice(), b"onee", b"", b"ONE"] {
            assert_eq!(name(wrong), None);
        }
    }

    #[test]
    fn the_rate_is_kept_by_key() {
        let ring = ring(&[("a", b"a", 2, 0), ("b", b"b", 2, 0)]);
        let (a, b) = (ring.find(b"a").unwrap(), ring.find(b"b").unwrap());
        assert!(a.admit().is_ok());
        assert!(a.admit().is_ok());
        let Err(TooMuch::Rate { per_minute, wait }) = a.admit() else {
            panic!("a third request in the same moment")
        };
        assert_eq!(per_minute.get(), 2);
        // Two in a minute: one every 30 s.
        assert!((29.0..=30.0).contains(&wait.as_secs_f64()), "{wait:?}");
        assert!(b.admit().is_ok());
    }

    #[test]
    fn places_are_given_back() {
        let ring = ring(&[("a", b"a", 3, 1)]);
        let a = ring.find(b"a").unwrap();
        let first = a.admit().unwrap();
        for _ in 0..5 {
            assert!(matches!(a.admit(), Err(TooMuch::Concurrency { .. })));
        }
        drop(first);
        // The refused ones did not count towards the rate.
        drop(a.admit().unwrap());
        drop(a.admit().unwrap());
        assert!(matches!(a.admit(), Err(TooMuch::Rate { .. })));
        // Nor does a request that is refused for its rate keep a place.
        assert!(matches!(a.admit(), Err(TooMuch::Rate { .. })));
    }
}
