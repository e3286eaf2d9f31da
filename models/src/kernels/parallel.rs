//! Work sharing inside one forward pass.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs closures on the threads of one forward pass; the engine lends its own thread pool.
pub(crate) trait Parallel {
    /// Number of workers.
    fn workers(&self) -> usize;

    /// Calls `work(worker)` once for each worker, possibly at the same time, and returns when all are done.
    fn broadcast(&self, work: &(dyn Fn(usize) + Sync));

    /// Calls `item(i)` once for every `i` below `items`; workers take the next item when they are free.
    fn for_each(&self, items: usize, item: &(dyn Fn(usize) + Sync)) {
        if items <= 1 || self.workers() == 1 {
            (0..items).for_each(item);
            return;
        }
        let next = AtomicUsize::new(0);
        self.broadcast(&|_| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= items {
                    break;
                }
                item(index);
            }
        });
    }
}

/// A mutable slice that several workers write at places that do not overlap.
pub(crate) struct SharedMut<'a, T> {
    start: *mut T,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: access goes through `slice_mut`, whose caller promises that places handed out do not overlap.
unsafe impl<T: Send> Sync for SharedMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for SharedMut<'_, T> {}

impl<'a, T> SharedMut<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            _slice: PhantomData,
        }
    }

    /// The place `[offset, offset + len)`.
    ///
    /// # Safety
    /// No other live reference overlaps the place.
    ///
    /// # Panics
    /// The place is out of range.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice_mut(&self, offset: usize, len: usize) -> &mut [T] {
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.len),
            "place outside the slice"
        );
        // SAFETY: in range by the assertion, unshared by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), len) }
    }
}

/// One worker: the caller's own thread.
#[cfg(test)]
pub(crate) struct Serial;

#[cfg(test)]
impl Parallel for Serial {
    fn workers(&self) -> usize {
        1
    }

    fn broadcast(&self, work: &(dyn Fn(usize) + Sync)) {
        work(0);
    }
}
