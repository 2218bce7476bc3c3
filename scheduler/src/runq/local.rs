//! The ring of runnable goroutines that one P owns, and the runnext slot beside it.
//! Spec: RQ-1 to RQ-14. Go: `runqput`, `runqputslow`, `runqget`, `runqgrab`, `runqsteal`, `runqempty`.
//!
//! # Invariants
//! - I1 `tail - head <= RING_SLOTS`, in wrapping u32 arithmetic.
//! - I2 Only the owner stores `tail` and installs a non-null `next`; anyone may CAS `head` forward or
//!   `next` to null.
//! - I3 A pushed pointer leaves by exactly one successful `claim` (ring) or CAS (next).
//! # Edges (release in, acquire in, what it carries)
//! - E1 `push`, `steal`, `put_batch`: the slot, and the goroutine behind it.
//! - E2 `claim`; `push` and `pop`: the claimer has finished reading, the slot may be reused.
//! - E3 `swap_next`, `take_next`: the goroutine behind runnext.
//! # Not here
//! No wake-up, no allocation, no `unsafe`: pointers pass through, unfollowed. Go copies slots with plain
//! reads (RQ-4); in Rust that is a data race, so slots are atomics.
//!
//! "Owner" is whoever holds the P that embeds the ring. The type cannot check it, since a P changes hands;
//! the holder of a P is unique by M-3 and IDLE's lock.

use crate::limits::RING_SLOTS;
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::shim::{AtomicPtr, AtomicU32, retry_pause};
use std::ptr;

/// Ring and runnext of one P. The thieves' word (`head`) and the owner's (`tail`, `next`) lie on separate
/// cache lines.
pub(crate) struct Ring<T> {
    head: Line<AtomicU32>,
    tail: Line<Own<T>>,
    slots: [AtomicPtr<T>; RING_SLOTS as usize],
}

/// 128 bytes: two lines, since the adjacent-line prefetcher pairs them on x86.
#[repr(align(128))]
struct Line<V>(V);

struct Own<T> {
    tail: AtomicU32,
    next: AtomicPtr<T>,
}

/// What a thief may do about runnext. Spec: RQ-11.
pub(crate) enum NextRule<F: FnMut()> {
    /// Ring only (passes 1 to 3).
    Leave,
    /// Take it if the ring is empty, after calling this (the pause, where the rule asks for one).
    TakeAfter(F),
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        let slots = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        let own = Own { tail: AtomicU32::new(0), next: AtomicPtr::new(ptr::null_mut()) };
        Ring { head: Line(AtomicU32::new(0)), tail: Line(own), slots }
    }

    fn slot(&self, at: u32) -> &AtomicPtr<T> {
        &self.slots[(at % RING_SLOTS) as usize]
    }

    /// Advances `head` from `from` by `n` if nobody did in between. E2.
    fn claim(&self, from: u32, n: u32) -> bool {
        let to = from.wrapping_add(n);
        // Ordering: Release is E2 for the next writer of these slots; nothing is read after it.
        self.head.0.compare_exchange(from, to, Release, Relaxed).is_ok()
    }

    /// Goroutines in the ring, without runnext: what schedtrace prints. A snapshot.
    pub(crate) fn len(&self) -> u32 {
        // Ordering: Relaxed, a number for people and hints; a torn pair is clipped.
        let (head, tail) = (self.head.0.load(Relaxed), self.tail.0.tail.load(Relaxed));
        let len = tail.wrapping_sub(head);
        if len > RING_SLOTS { 0 } else { len }
    }

    /// Owner: exchanges runnext; null if it was empty. E3. Spec: RQ-5 (1).
    #[inline]
    pub(crate) fn swap_next(&self, task: *mut T) -> *mut T {
        let next = &self.tail.0.next;
        // Ordering: Relaxed: an empty slot stays empty but for us (I2), so a plain store may fill it.
        if next.load(Relaxed).is_null() {
            next.store(task, Release); // Ordering: E3.
            return ptr::null_mut();
        }
        // Ordering: AcqRel, E3: publishes `task`, acquires what a former owner put there.
        next.swap(task, AcqRel)
    }

    /// Anyone: what lies in the ring and in runnext, each pointer as it was a moment ago. For watchdogs.
    pub(crate) fn for_each(&self, mut f: impl FnMut(*mut T)) {
        let (head, len) = (self.head.0.load(Acquire), self.len()); // Ordering: a snapshot.
        let slots = (0..len).map(|i| self.slot(head.wrapping_add(i)).load(Acquire)); // As above.
        let next = self.tail.0.next.load(Acquire); // As above.
        slots.chain([next]).filter(|g| !g.is_null()).for_each(&mut f);
    }

    /// Anyone: is runnext set? A snapshot for counters.
    pub(crate) fn has_next(&self) -> bool {
        !self.tail.0.next.load(Relaxed).is_null() // Ordering: a number for people.
    }

    /// Owner: takes runnext, unless it is empty or a thief was quicker. Spec: RQ-8 (1).
    #[inline]
    pub(crate) fn take_next(&self) -> Option<*mut T> {
        let next = &self.tail.0.next;
        // Ordering: Relaxed look; the CAS below decides.
        let task = next.load(Relaxed);
        if task.is_null() {
            return None;
        }
        // Ordering: Acquire, E3 (the owner of the P may have changed since it was set). Release: who sees the
        // null in `is_empty` also sees what was displaced into the ring before (RQ-13).
        next.compare_exchange(task, ptr::null_mut(), AcqRel, Relaxed).ok()
    }

    /// Owner: appends `task`, or hands it back if the ring is full: the caller overflows (RQ-6). O(1).
    #[inline]
    pub(crate) fn push(&self, task: *mut T) -> Result<(), *mut T> {
        let tail = self.tail.0.tail.load(Relaxed); // Ordering: own store, sole writer (I2).
        let head = self.head.0.load(Acquire); // Ordering: E2, not loom-checkable; argued in RQ-4.
        if tail.wrapping_sub(head) == RING_SLOTS {
            return Err(task);
        }
        self.slot(tail).store(task, Relaxed); // Ordering: published by the next line.
        self.tail.0.tail.store(tail.wrapping_add(1), Release); // Ordering: E1; else thieves read null.
        Ok(())
    }

    /// Owner: takes the oldest. Spec: RQ-8 (2).
    #[inline]
    pub(crate) fn pop(&self) -> Option<*mut T> {
        loop {
            let head = self.head.0.load(Acquire); // Ordering: E2, as in `push`.
            let tail = self.tail.0.tail.load(Relaxed); // Ordering: own store.
            if head == tail {
                return None;
            }
            let task = self.slot(head).load(Relaxed); // Ordering: validated by `claim`.
            if self.claim(head, 1) {
                return Some(task);
            }
            retry_pause();
        }
    }

    /// Owner: removes the oldest half of a full ring into `out`, oldest first. `false`: not full any more,
    /// or a thief made room in between; push again. Spec: RQ-6.
    pub(crate) fn take_oldest_half(&self, mut out: impl FnMut(*mut T)) -> bool {
        let head = self.head.0.load(Acquire); // Ordering: E2.
        let tail = self.tail.0.tail.load(Relaxed); // Ordering: own store.
        if tail.wrapping_sub(head) != RING_SLOTS {
            return false;
        }
        let half = RING_SLOTS / 2;
        let mut oldest = [ptr::null_mut(); RING_SLOTS as usize / 2];
        for (i, task) in (0..half).zip(&mut oldest) {
            *task = self.slot(head.wrapping_add(i)).load(Relaxed); // Ordering: validated by `claim`.
        }
        if !self.claim(head, half) {
            return false;
        }
        oldest.into_iter().for_each(&mut out);
        true
    }

    /// Owner: fills the ring from `next_task` until it is full or that ends; one publish at the end.
    /// Spec: RQ-7, GQ-4.
    pub(crate) fn put_batch(&self, mut next_task: impl FnMut() -> Option<*mut T>) {
        let head = self.head.0.load(Acquire); // Ordering: E2.
        let mut tail = self.tail.0.tail.load(Relaxed); // Ordering: own store.
        while tail.wrapping_sub(head) < RING_SLOTS {
            let Some(task) = next_task() else { break };
            self.slot(tail).store(task, Relaxed); // Ordering: published below.
            tail = tail.wrapping_add(1);
        }
        self.tail.0.tail.store(tail, Release); // Ordering: E1.
    }

    /// Thief: moves `amount(len)` of the oldest into `mine`, an empty ring that the thief owns, and
    /// returns the newest of them. Spec: RQ-10, RQ-11, RQ-12.
    ///
    /// Also tells how many were taken, for the counters.
    pub(crate) fn steal<F: FnMut()>(
        &self,
        mine: &Ring<T>,
        amount: impl Fn(u32) -> u32,
        next_rule: &mut NextRule<F>,
    ) -> Option<(*mut T, u32)> {
        let base = mine.expect_empty(); // RQ-12. Acquires E2 for the slots written below.
        loop {
            let head = self.head.0.load(Acquire); // Ordering: RQ-3; not for safety, it spares a retry.
            let tail = self.tail.0.tail.load(Acquire); // Ordering: E1.
            let len = tail.wrapping_sub(head);
            if len == 0 {
                return match self.steal_next(next_rule)? {
                    Ok(task) => Some((task, 1)),
                    Err(Changed) => continue,
                };
            }
            let n = amount(len);
            if len > RING_SLOTS || n > RING_SLOTS / 2 {
                retry_pause(); // RQ-10 (4): `head` and `tail` are from different times; look again.
                continue;
            }
            for i in 0..n {
                let guess = self.slot(head.wrapping_add(i)).load(Relaxed); // Ordering: see `claim`.
                mine.slot(base.wrapping_add(i)).store(guess, Relaxed); // Ordering: not yet public.
            }
            if self.claim(head, n) {
                let newest = base.wrapping_add(n - 1);
                mine.tail.0.tail.store(newest, Release); // Ordering: E1, for our thieves.
                return Some((mine.slot(newest).load(Relaxed), n)); // Ordering: ours.
            }
            retry_pause();
        }
    }

    /// Thief, ring found empty: takes runnext where the rule allows it. `None`: nothing to take.
    fn steal_next<F: FnMut()>(&self, rule: &mut NextRule<F>) -> Option<Result<*mut T, Changed>> {
        let NextRule::TakeAfter(pause) = rule else { return None };
        let next = &self.tail.0.next;
        let task = next.load(Relaxed); // Ordering: the CAS below decides.
        if task.is_null() {
            return None;
        }
        pause();
        // Ordering: Acquire, E3. AcqRel would add nothing: we publish null.
        match next.compare_exchange(task, ptr::null_mut(), Acquire, Relaxed) {
            Ok(task) => Some(Ok(task)),
            Err(_) => {
                retry_pause();
                Some(Err(Changed))
            }
        }
    }

    /// The tail of a ring that must be empty. Spec: RQ-12: a thief's own ring is.
    fn expect_empty(&self) -> u32 {
        let head = self.head.0.load(Acquire); // Ordering: E2.
        let tail = self.tail.0.tail.load(Relaxed); // Ordering: own store.
        assert_eq!(head, tail, "RQ-12: a thief's own ring is not empty");
        tail
    }

    /// Anyone: is there nothing, runnext included? Never wrongly `true`. Spec: RQ-13.
    pub(crate) fn is_empty(&self) -> bool {
        loop {
            let head = self.head.0.load(Acquire); // Ordering: RQ-3.
            let tail = self.tail.0.tail.load(Acquire); // Ordering: orders the look at `next`.
            let next = self.tail.0.next.load(Acquire); // Ordering: orders the second look at `tail`.
            // A displaced runnext may have moved to the ring between the two reads; then tail moved too.
            if tail == self.tail.0.tail.load(Relaxed) {
                return head == tail && next.is_null();
            }
            retry_pause();
        }
    }
}

/// Runnext was changed under the thief's hands: look at the victim again.
struct Changed;

#[cfg(all(test, not(sched_loom)))]
#[path = "local_tests.rs"]
mod tests;
