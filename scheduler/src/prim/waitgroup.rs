//! Waiting for a number of goroutines to finish. Spec: WG-1 to WG-3. Go: sync/waitgroup.go.
//!
//! # Invariants
//! - I1 One word: the counter above, the number of waiters below; who brings the counter to 0 with waiters
//!   zeroes the word and releases each waiter.

use crate::prim::sema::Sema;
use crate::sched::park::enter;
use crate::sched::spawn::is_quiet_end;
use crate::shim::AtomicU64;
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::task::WaitReason;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A counter to wait for; clones share it.
#[derive(Clone, Default)]
pub struct WaitGroup(Arc<Inner>);

struct Inner {
    state: AtomicU64,
    sema: Sema,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { state: AtomicU64::new(0), sema: Sema::new(0) }
    }
}

impl WaitGroup {
    /// With counter 0.
    #[must_use]
    pub fn new() -> WaitGroup {
        WaitGroup::default()
    }

    /// Adds `n` (may be negative) to the counter; at 0 all waiters go on.
    ///
    /// # Panics
    /// `sync: negative WaitGroup counter`; `sync: WaitGroup misuse: Add called concurrently with Wait`.
    pub fn add(&self, n: i32) {
        enter();
        let inner = &*self.0;
        let delta = (i64::from(n) << 32) as u64;
        // Ordering: AcqRel: what was done before `done` is seen after `wait`.
        let state = inner.state.fetch_add(delta, AcqRel).wrapping_add(delta);
        let (count, waiters) = ((state >> 32) as i32, state as u32);
        assert!(count >= 0, "sync: negative WaitGroup counter");
        let misuse = "sync: WaitGroup misuse: Add called concurrently with Wait";
        assert!(!(waiters != 0 && n > 0 && count == n), "{misuse}");
        if count > 0 || waiters == 0 {
            return;
        }
        assert!(inner.state.load(Relaxed) == state, "{misuse}"); // Ordering: a check.
        inner.state.store(0, Release); // Ordering: nobody else is inside now (I1).
        (0..waiters).for_each(|_| inner.sema.release(false));
    }

    /// Takes one off the counter.
    ///
    /// # Panics
    /// As [`WaitGroup::add`].
    pub fn done(&self) {
        self.add(-1);
    }

    /// Waits until the counter is 0.
    ///
    /// # Panics
    /// `sync: WaitGroup is reused before previous Wait has returned`.
    pub fn wait(&self) {
        enter();
        let inner = &*self.0;
        let mut state = inner.state.load(Acquire); // Ordering: pairs with `add`.
        loop {
            if (state >> 32) as i32 == 0 {
                return;
            }
            // Ordering: Relaxed: the semaphore orders the wake-up.
            match inner.state.compare_exchange(state, state + 1, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // A waiter leaves with its runtime, uncounted, unless the counter has just come to 0.
        let give_up = || {
            let state = inner.state.load(Relaxed); // Ordering: the CAS decides; nothing is handed over.
            (state >> 32) as i32 != 0
                && state as u32 != 0
                && inner.state.compare_exchange(state, state - 1, Relaxed, Relaxed).is_ok()
        };
        inner.sema.acquire(false, WaitReason::WaitGroup, give_up);
        let reused = inner.state.load(Relaxed) != 0; // Ordering: a check.
        assert!(!reused, "sync: WaitGroup is reused before previous Wait has returned");
    }

    /// Runs `f` in a goroutine and counts it: done when `f` returns or calls `goexit`. A panic of `f` ends
    /// the process, as in Go. Spec: WG-3.
    ///
    /// # Panics
    /// As [`go`](crate::go).
    pub fn go<F: FnOnce() + Send + 'static>(&self, f: F) {
        struct Done(WaitGroup);
        impl Drop for Done {
            fn drop(&mut self) {
                self.0.done();
            }
        }
        self.add(1);
        // In this order: if it never runs, what `f` owns is dropped before it counts as done.
        let work = (f, Done(self.clone()));
        crate::go(move || {
            let (f, done) = { work };
            let ended = catch_unwind(AssertUnwindSafe(f));
            if let Err(payload) = ended {
                if !is_quiet_end(&*payload) {
                    std::mem::forget(done); // Nobody may go on as if the work were there.
                }
                resume_unwind(payload);
            }
        });
    }
}
