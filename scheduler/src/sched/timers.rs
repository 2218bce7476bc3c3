//! When does a sleeper wake? The timers of one P. Spec: TIMER-1, 2, 5, 8, 10, 11, 17. Go: `timers` in time.go.
//!
//! # Invariants
//! - I1 `first` is the deadline of the heap's root, or 0; it is written under the lock and never later than
//!   the root (TIMER-6).
//! - I2 Callbacks run with no lock held (TIMER-4), on the worker that found them due, and do not block.
//! # Not here
//! Stop, reset and channel timers with lazy insertion: timers are only added and run so far, so no entry
//! is ever stale.

use crate::limits::TIMER_HEAP_ARITY as ARITY;
use crate::sched::world::Timed;
use crate::shim::Ordering::{Acquire, Release};
use crate::shim::{AtomicU64, Mutex};
use crate::task::G;

/// What happens when a timer is due.
pub(crate) enum Due {
    /// The goroutine becomes ready.
    Ready(*mut G),
    /// The closure runs on the scheduler's stack and must not block.
    Call(Box<dyn FnOnce() + Send>),
}

struct Entry {
    when: u64,
    due: Due,
}

/// A 4-ary heap of deadlines with its own lock.
pub(crate) struct Timers {
    first: AtomicU64,
    heap: Mutex<Vec<Entry>>,
}

// SAFETY: a `Due::Ready` names a goroutine that waits for exactly this timer (its waker is unique, G-2).
unsafe impl Send for Entry {}

impl Timers {
    pub(crate) fn new() -> Timers {
        Timers { first: AtomicU64::new(0), heap: Mutex::new(Vec::new()) }
    }

    /// Earliest deadline, 0: none. Lock-free.
    pub(crate) fn deadline(&self) -> u64 {
        self.first.load(Acquire) // Ordering: pairs with the stores under the lock.
    }

    /// Adds a timer; `true`: it is the earliest now, so a sleeper in the poller may have to be told.
    /// O(log n), locks.
    pub(crate) fn add(&self, when: u64, due: Due) -> bool {
        let mut heap = self.heap.lock();
        heap.push(Entry { when, due });
        let last = heap.len() - 1;
        let earliest = sift_up(&mut heap, last) == 0;
        self.first.store(heap[0].when, Release); // Ordering: I1.
        earliest
    }

    /// Runs what is due at `now`, one by one, in the order of deadlines. Spec: TIMER-8.
    pub(crate) fn run(&self, now: u64, mut ring: impl FnMut(Due)) -> Timed {
        let mut timed = Timed { next: self.deadline(), ran: false };
        while timed.next != 0 && timed.next <= now {
            let mut heap = self.heap.lock();
            let due =
                if heap.first().is_some_and(|e| e.when <= now) { pop(&mut heap) } else { None };
            timed.next = heap.first().map_or(0, |e| e.when);
            self.first.store(timed.next, Release); // Ordering: I1.
            drop(heap);
            if let Some(entry) = due {
                timed.ran = true;
                ring(entry.due);
            }
        }
        timed
    }

    /// Forgets every timer: the runtime ends. Closures are dropped here.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.heap.lock());
        self.first.store(0, Release); // Ordering: I1.
        drop(all);
    }
}

fn sift_up(heap: &mut [Entry], mut at: usize) -> usize {
    while at > 0 {
        let parent = (at - 1) / ARITY;
        if heap[parent].when <= heap[at].when {
            break;
        }
        heap.swap(parent, at);
        at = parent;
    }
    at
}

fn pop(heap: &mut Vec<Entry>) -> Option<Entry> {
    if heap.is_empty() {
        return None;
    }
    let entry = heap.swap_remove(0);
    let mut at = 0;
    loop {
        let children = at * ARITY + 1..(at * ARITY + 1 + ARITY).min(heap.len());
        let Some(least) = children.min_by_key(|&c| heap[c].when) else { break };
        if heap[at].when <= heap[least].when {
            break;
        }
        heap.swap(at, least);
        at = least;
    }
    Some(entry)
}

#[cfg(all(test, not(sched_loom)))]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex as StdMutex};

    /// Goal: timers run in deadline order, none early, none lost. Method: 1,000 deadlines from a fixed
    /// generator, run in three steps of the clock.
    #[test]
    fn timer2_due_timers_run_in_order_of_deadline() {
        let timers = Timers::new();
        let ran = Arc::new(StdMutex::new(Vec::new()));
        let mut x = 12345u64;
        for _ in 0..1000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (when, ran) = (1 + (x >> 33) % 900, ran.clone());
            timers.add(when, Due::Call(Box::new(move || ran.lock().unwrap().push(when))));
        }
        let clock = |now| {
            let timed = timers.run(now, |due| {
                if let Due::Call(f) = due {
                    f()
                }
            });
            assert!(timed.next == 0 || timed.next > now);
            assert!(ran.lock().unwrap().iter().all(|&w| w <= now));
            timed
        };
        assert!(clock(300).ran);
        assert!(clock(600).ran);
        assert_eq!(clock(900), Timed { next: 0, ran: true });
        assert_eq!(clock(901), Timed { next: 0, ran: false });
        let ran = ran.lock().unwrap();
        assert_eq!(ran.len(), 1000);
        assert!(ran.is_sorted());
    }
}
