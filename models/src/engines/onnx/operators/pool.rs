//! ONNX Runtime's thread pool as the kernels see it.

use ort::operator::ComputeContext;

use crate::kernels::Parallel;

/// The pool that runs the current node.
pub(super) struct Pool<'a> {
    pub(super) context: &'a ComputeContext,
    pub(super) workers: usize,
}

// SAFETY: the context is only used to hand work to the pool, from the thread that runs the node.
unsafe impl Sync for Pool<'_> {}

impl Parallel for Pool<'_> {
    fn workers(&self) -> usize {
        self.workers
    }

    fn broadcast(&self, work: &(dyn Fn(usize) + Sync)) {
        // The call only fails without a context, and one exists while a node runs; then the caller works alone.
        if self.context.par_for(self.workers, self.workers, work).is_err() {
            work(0);
        }
    }
}
