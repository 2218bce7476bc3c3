//! How a thread outside any runtime waits for tasks: one count down, one kernel wait.
use std::sync::atomic::{AtomicU64, Ordering::AcqRel};
use std::sync::{Condvar, Mutex, PoisonError};

/// Opens when `hit` was called as often as said at the start.
pub(crate) struct Latch {
    left: AtomicU64,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    /// A latch for `hits` hits; `0` is open at once.
    pub(crate) fn new(hits: u64) -> Latch {
        let open = Mutex::new(hits == 0);
        Latch { left: AtomicU64::new(hits), open, opened: Condvar::new() }
    }
    /// One hit. Does not wait; only the last one takes the lock.
    pub(crate) fn hit(&self) {
        // Ordering: the last hit sees what all the others did before theirs.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.opened.notify_all();
        }
    }
    /// Blocks the calling thread in the kernel until the latch is open.
    pub(crate) fn wait(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.opened.wait_while(open, |open| !*open);
        drop(open.unwrap_or_else(PoisonError::into_inner));
    }
}
