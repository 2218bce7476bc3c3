//! Who waits for what, in the order of arrival: intrusive queues of records on the waiters' own stacks.
//! Spec: CHAN-1, CHAN-2, SEMA-3. Go: `waitq`, `sudog`.
//!
//! # Invariants
//! - I1 A record lies on the stack of its waiter, which stays parked while the record is queued or marked
//!   taken: so the pointers in a queue are live.
//! - I2 Queue and records are touched under the owning structure's lock only, but for `done` and `ok` after
//!   the waiter was made ready.
//! # Not here
//! Pooling (CHAN-2): a record needs no allocation here.

use crate::shim::Ordering::{AcqRel, Relaxed};
use crate::task::G;
use std::ptr;

/// One goroutine waiting at one place.
pub(crate) struct Waiter {
    pub(crate) g: *mut G,
    /// Where a value is taken from or put to; its type is known to the structure.
    pub(crate) slot: *mut (),
    /// Which case of a select this is; `None`: a plain operation.
    pub(crate) case: Option<usize>,
    /// Somebody took the record out on purpose: the waiter is being made ready.
    pub(crate) taken: bool,
    /// The operation took place (as opposed to: the channel was closed).
    pub(crate) ok: bool,
    pub(crate) queued: bool,
    next: *mut Waiter,
    prev: *mut Waiter,
}

impl Waiter {
    pub(crate) fn new(g: *mut G, slot: *mut (), case: Option<usize>) -> Waiter {
        let (next, prev) = (ptr::null_mut(), ptr::null_mut());
        Waiter { g, slot, case, taken: false, ok: false, queued: false, next, prev }
    }
}

/// First in, first out, with removal from the middle.
pub(crate) struct WaitQueue {
    head: *mut Waiter,
    tail: *mut Waiter,
}

impl WaitQueue {
    pub(crate) const fn new() -> WaitQueue {
        WaitQueue { head: ptr::null_mut(), tail: ptr::null_mut() }
    }
    /// # Safety
    /// 1. `w` is on no queue, and stays where it is until it is removed (I1).
    pub(crate) unsafe fn push_back(&mut self, w: *mut Waiter) {
        // SAFETY: (1); `tail` is queued, so live (I1).
        unsafe {
            (*w).queued = true;
            (*w).next = ptr::null_mut();
            (*w).prev = self.tail;
            if self.tail.is_null() {
                self.head = w;
            } else {
                (*self.tail).next = w;
            }
        }
        self.tail = w;
    }

    /// # Safety
    /// 1. As for `push_back`.
    pub(crate) unsafe fn push_front(&mut self, w: *mut Waiter) {
        // SAFETY: (1); `head` is queued, so live (I1).
        unsafe {
            (*w).queued = true;
            (*w).prev = ptr::null_mut();
            (*w).next = self.head;
            if self.head.is_null() {
                self.tail = w;
            } else {
                (*self.head).prev = w;
            }
        }
        self.head = w;
    }

    /// Takes the first without claiming anything.
    pub(crate) fn pop_front(&mut self) -> Option<*mut Waiter> {
        let w = self.head;
        if w.is_null() {
            return None;
        }
        // SAFETY: queued, so live (I1) and on this queue.
        unsafe { self.remove(w) };
        Some(w)
    }

    /// Takes the first that is still free to go: records of a select that another case has won are dropped
    /// on the way. Spec: SEL-6.
    pub(crate) fn claim_front(&mut self) -> Option<*mut Waiter> {
        loop {
            let w = self.pop_front()?;
            // SAFETY: was queued, so live (I1); its select cannot return before our lock is free.
            unsafe {
                if (*w).case.is_some() {
                    // Ordering: AcqRel: one waker wins; the loser leaves the record alone.
                    let done = &(*(*w).g).select_done;
                    if done.compare_exchange(0, 1, AcqRel, Relaxed).is_err() {
                        continue;
                    }
                }
                (*w).taken = true;
            }
            return Some(w);
        }
    }

    /// Removes `w` if it is still queued. Spec: SEL-8.
    ///
    /// # Safety
    /// 1. `w` is live, and if it is queued, then here.
    pub(crate) unsafe fn remove(&mut self, w: *mut Waiter) {
        // SAFETY: (1); its neighbours are queued, so live (I1).
        unsafe {
            if !(*w).queued {
                return;
            }
            (*w).queued = false;
            let (prev, next) = ((*w).prev, (*w).next);
            if prev.is_null() {
                self.head = next;
            } else {
                (*prev).next = next;
            }
            if next.is_null() {
                self.tail = prev;
            } else {
                (*next).prev = prev;
            }
        }
    }
}
