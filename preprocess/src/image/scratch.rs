//! Buffers that are used again. A fresh one of some megabytes costs as much as a pass over it: the system has to find and
//! clear each of its pages.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Larger buffers are given back to the system; the pixels of 1920x1080 fit (6.2 MB).
const MOST_BYTES: usize = 8 << 20;
/// Smaller ones are not worth keeping.
const FEWEST_BYTES: usize = 1 << 20;
/// How many are kept between pictures.
const MOST_KEPT: usize = 3;

static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Bytes that others may have used before, and will again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scratch(Vec<u8>);

impl Scratch {
    /// `len` bytes of any content; the caller overwrites them all.
    pub(super) fn take(len: usize) -> Vec<u8> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|buffer| buffer.capacity() >= len);
        let worth_it = (FEWEST_BYTES..=MOST_BYTES).contains(&len);
        let mut buffer = match place.filter(|_| worth_it) {
            Some(place) => kept.swap_remove(place),
            // Pages of a fresh buffer of zeros are cleared by the system, not here.
            None => return vec![0; len],
        };
        drop(kept);
        buffer.resize(len, 0);
        buffer
    }
}

impl From<Vec<u8>> for Scratch {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if (FEWEST_BYTES..=MOST_BYTES).contains(&self.0.capacity()) {
            let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < MOST_KEPT {
                kept.push(std::mem::take(&mut self.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_the_length_asked_for_whatever_was_in_it() {
        for len in [0, 10, FEWEST_BYTES, 3 << 20, 2 << 20, MOST_BYTES, MOST_BYTES + 1] {
            let mut bytes = Scratch::take(len);
            assert_eq!(bytes.len(), len);
            bytes.fill(7);
            drop(Scratch::from(bytes));
        }
        assert!(KEPT.lock().unwrap().len() <= MOST_KEPT);
        assert!(
            KEPT.lock()
                .unwrap()
                .iter()
                .all(|kept| kept.capacity() <= MOST_BYTES)
        );
    }
}
