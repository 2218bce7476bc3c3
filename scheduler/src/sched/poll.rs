//! How a worker without a P waits for a moment or an event. Spec: FIND-16, POLL-8.
//!
//! # Invariants
//! - I1 One worker at a time is inside: it swapped `last` to 0 (S-1).
//! - I2 A break that meets nobody makes the next wait return at once: harmless, the waiter looks again.
//! # Not here
//! Sockets: so far only time passes here. The seam is [`Poller::wait`], which will also return goroutines.

use crate::shim::Ordering::{Acquire, Release};
use crate::shim::{AtomicBool, AtomicU64, Note, now};

/// The one place where a worker blocks with a time limit.
pub(crate) struct Poller {
    note: Note,
    /// 0: somebody is inside; otherwise the time of the last poll.
    last: AtomicU64,
    until: AtomicU64,
    /// The first timer brings it into being. Spec: TIMER-5.
    used: AtomicBool,
}

impl Poller {
    pub(crate) fn new() -> Poller {
        Poller {
            note: Note::new(),
            last: AtomicU64::new(now()),
            until: AtomicU64::new(0),
            used: AtomicBool::new(false),
        }
    }

    pub(crate) fn make_used(&self) {
        self.used.store(true, Release); // Ordering: a flag that only rises; read by `enter`.
    }

    /// Somebody is inside.
    pub(crate) fn is_occupied(&self) -> bool {
        self.last.load(Acquire) == 0 // Ordering: pairs with `enter`; StoreLoad by the callers' fences.
    }

    /// When whoever is inside means to wake, 0: never.
    pub(crate) fn until(&self) -> u64 {
        self.until.load(Acquire) // Ordering: pairs with `enter`.
    }

    /// Tries to be the one inside, until `until`. Nothing to wait for: no.
    pub(crate) fn enter(&self, until: u64) -> bool {
        if until == 0 || !self.used.load(Acquire) {
            return false;
        }
        // Ordering: AcqRel via swap; the fence orders it before the caller's wait. A timer added after
        // this swap sees us inside (WAKE-5); one added before was seen by FIND-15 (d).
        if self.last.swap(0, crate::shim::Ordering::AcqRel) == 0 {
            return false;
        }
        self.until.store(until, Release);
        crate::shim::fence(crate::shim::Ordering::SeqCst);
        true
    }

    /// Waits until `until` or a break, then leaves. Spec: FIND-16.
    pub(crate) fn wait(&self, until: u64) {
        self.note.bind();
        let left = until.saturating_sub(now());
        if left > 0 {
            self.note.sleep_for(left);
        }
        self.until.store(0, Release);
        self.last.store(now(), Release); // Ordering: publishes that nobody is inside.
    }

    /// Makes the one inside return.
    pub(crate) fn interrupt(&self) {
        self.note.wake();
    }
}
