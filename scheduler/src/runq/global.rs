//! Lists of goroutines linked through the goroutines themselves: the global queue and batches.
//! Spec: G-4, GQ-1 to GQ-4. Go: `gQueue`, `gList`.
//!
//! # Invariants
//! - I1 A goroutine is on at most one list (G-4); its link belongs to the holder of that list.
//! # Not here
//! No lock: the global queue is inside the scheduler's.

use std::ptr;

/// Something with one intrusive link.
pub(crate) trait Linked {
    /// # Safety
    /// 1. `this` is live and the caller owns its link (it is on no list, or on the caller's).
    unsafe fn link(this: *mut Self) -> *mut *mut Self;
}

/// A first-in, first-out list. Dropping it forgets what is on it.
pub(crate) struct List<T: Linked> {
    head: *mut T,
    tail: *mut T,
    len: usize,
}

// SAFETY: the list owns the links of what is on it (I1); whoever holds the list may use it.
unsafe impl<T: Linked> Send for List<T> {}

impl<T: Linked> List<T> {
    pub(crate) const fn new() -> List<T> {
        List { head: ptr::null_mut(), tail: ptr::null_mut(), len: 0 }
    }
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends. O(1).
    ///
    /// # Safety
    /// 1. `task` is live, on no list, and stays live while it is on this one.
    pub(crate) unsafe fn push_back(&mut self, task: *mut T) {
        // SAFETY: ours by (1).
        unsafe { *T::link(task) = ptr::null_mut() };
        if self.tail.is_null() {
            self.head = task;
        } else {
            // SAFETY: `tail` is on this list, so live and its link is ours.
            unsafe { *T::link(self.tail) = task };
        }
        self.tail = task;
        self.len += 1;
    }

    /// Calls `f` for each, first to last.
    pub(crate) fn for_each(&self, mut f: impl FnMut(*mut T)) {
        let mut at = self.head;
        while !at.is_null() {
            f(at);
            // SAFETY: on this list, so live and its link is ours.
            at = unsafe { *T::link(at) };
        }
    }

    /// Takes the first. O(1).
    pub(crate) fn pop_front(&mut self) -> Option<*mut T> {
        let task = self.head;
        if task.is_null() {
            return None;
        }
        // SAFETY: on this list, so live and its link is ours.
        self.head = unsafe { *T::link(task) };
        if self.head.is_null() {
            self.tail = ptr::null_mut();
        }
        self.len -= 1;
        Some(task)
    }

    /// Appends all of `other`, in order. O(1).
    pub(crate) fn append(&mut self, other: &mut List<T>) {
        if other.is_empty() {
            return;
        }
        if self.tail.is_null() {
            self.head = other.head;
        } else {
            // SAFETY: `tail` is on this list, so live and its link is ours.
            unsafe { *T::link(self.tail) = other.head };
        }
        self.tail = other.tail;
        self.len += other.len;
        *other = List::new();
    }
}
