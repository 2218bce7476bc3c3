//! The runtime's semaphore, embedded in what uses it. Spec: SEMA-1 to SEMA-5, AB-16. Go: sema.go.
//!
//! # Invariants
//! - I1 A waiter counts itself before it tests; a releaser increments before it reads the count (SEMA-5): by
//!   the two fences one of them sees the other.
//! # Not here
//! Go's table of 251 buckets (SEMA-2): the queue is in the object, which the clause allows.

use crate::prim::chan::unlock_commit;
use crate::prim::waitq::{WaitQueue, Waiter};
use crate::sched::park::{
    Parked, end_here, flush_outside, me, park, release_and_ready, yield_to_next,
};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::shim::{RawLock, fence, spin_pause, unmodelled::AtomicU32};
use crate::task::WaitReason;
use std::cell::UnsafeCell;
use std::ptr;

/// A counting semaphore with a FIFO queue.
pub(crate) struct Sema {
    count: AtomicU32,
    waiters: AtomicU32,
    lock: RawLock,
    queue: UnsafeCell<WaitQueue>,
}

// SAFETY: `queue` is touched under `lock` only.
unsafe impl Sync for Sema {}
// SAFETY: as above.
unsafe impl Send for Sema {}

impl Sema {
    pub(crate) const fn new(count: u32) -> Sema {
        Sema {
            count: AtomicU32::new(count),
            waiters: AtomicU32::new(0),
            lock: RawLock::new(),
            queue: UnsafeCell::new(WaitQueue::new()),
        }
    }

    fn try_take(&self) -> bool {
        let mut count = self.count.load(Relaxed); // Ordering: the CAS decides.
        while count > 0 {
            // Ordering: Acquire pairs with `release`.
            match self.count.compare_exchange_weak(count, count - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }

    /// Takes one, or waits. `lifo`: at the head of the queue (a waiter that was woken and lost). Spec: SEMA-1,
    /// SEMA-3.
    ///
    /// `give_up`: the runtime ends, and nobody has taken us off the queue: takes back what promised us a release, so
    /// that the others' counts are right without us (the lock may outlive the runtime). `false`: too late, the
    /// release is on its way. Called under the semaphore's lock, which no release gets past meanwhile.
    pub(crate) fn acquire(&self, lifo: bool, reason: WaitReason, give_up: impl Fn() -> bool) {
        if self.try_take() {
            return;
        }
        loop {
            let mut w = Waiter::new(me(), ptr::null_mut(), None);
            let w: *mut Waiter = &raw mut w;
            self.lock.lock();
            self.waiters.fetch_add(1, Relaxed); // Ordering: I1, by the fence.
            fence(SeqCst); // Pairs with the fence in `release`.
            if self.try_take() {
                self.waiters.fetch_sub(1, Relaxed); // Ordering: under the lock.
                // SAFETY: locked above.
                unsafe { self.lock.unlock() };
                return;
            }
            // SAFETY: under the lock; `w` stays on this stack until it is off the queue.
            unsafe {
                let queue = &mut *self.queue.get();
                if lifo { queue.push_front(w) } else { queue.push_back(w) }
            }
            let lock: *const RawLock = &raw const self.lock;
            // SAFETY: the commit releases the lock that protects the queue.
            let parked = unsafe { park(reason, true, unlock_commit, lock.cast_mut().cast()) };
            if parked == Parked::Ending && self.leave_queue(w, &give_up) {
                return;
            }
            // SAFETY: off the queue: ours alone.
            if unsafe { (*w).ok } || self.try_take() {
                return;
            }
        }
    }

    /// The runtime ends: off the queue and away, unless a releaser has taken us out (`false`) or is just about to
    /// (`true`: we have its count).
    fn leave_queue(&self, w: *mut Waiter, give_up: impl Fn() -> bool) -> bool {
        self.lock.lock();
        // SAFETY: under the lock; `w` is ours, queued here or taken.
        let taken = unsafe {
            (*self.queue.get()).remove(w);
            (*w).taken
        };
        let mut gone = false;
        // We still count as a waiter: a releaser increments, then waits for the lock, so that between our look at the
        // count and `give_up` nobody has finished releasing. It may yet have to release others before us, or another
        // may be quicker than we: so the lock is free between two attempts.
        let have = !taken
            && loop {
                if self.try_take() {
                    break true;
                }
                if give_up() {
                    gone = true;
                    break false;
                }
                // SAFETY: locked above.
                unsafe { self.lock.unlock() };
                spin_pause();
                self.lock.lock();
            };
        if !taken {
            self.waiters.fetch_sub(1, Relaxed); // Ordering: under the lock.
        }
        // SAFETY: locked above.
        unsafe { self.lock.unlock() };
        if taken {
            flush_outside();
        }
        if gone {
            end_here();
        }
        have
    }

    /// Gives one back and wakes the first waiter. `handoff`: it gets the count at once and runs before the
    /// caller goes on. Spec: SEMA-4.
    pub(crate) fn release(&self, handoff: bool) {
        self.count.fetch_add(1, AcqRel); // Ordering: Release pairs with `try_take`.
        fence(SeqCst); // I1
        if self.waiters.load(Relaxed) == 0 {
            return; // Ordering: I1, by the fences.
        }
        self.lock.lock();
        // SAFETY: under the lock.
        let Some(w) = (unsafe { (*self.queue.get()).claim_front() }) else {
            // SAFETY: locked above.
            return unsafe { self.lock.unlock() };
        };
        self.waiters.fetch_sub(1, Relaxed); // Ordering: under the lock.
        // SAFETY: claimed: live until it is made ready below.
        let (g, ticket) = unsafe {
            let ticket = handoff && self.try_take();
            (*w).ok = ticket;
            ((*w).g, ticket)
        };
        // SAFETY: claimed by us; the lock is released on the way.
        unsafe { release_and_ready(|| self.lock.unlock(), g) };
        if ticket {
            yield_to_next();
        }
    }
}
