//! Any number of goroutines that borrow from the caller: `scope`. Ours: Go has no such thing.
//!
//! # Invariants
//! - I1 `scope` returns (or unwinds) only when everything spawned on it has ended: so what is borrowed lives.
//! - I2 `pending` counts the scope's body as one.

use crate::prim::join::Latch;
use crate::sched::park::{enter, me};
use crate::sched::spawn::{go_on, is_quiet_end};
use crate::shim::Ordering::AcqRel;
use crate::shim::{AtomicUsize, Mutex, fence};
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Where goroutines that borrow data living as long as `'s` are spawned. See [`scope`].
pub struct Scope<'s> {
    pending: AtomicUsize,
    latch: Latch,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    on_goroutine: bool,
    /// Invariant in `'s`.
    marker: PhantomData<std::cell::Cell<&'s mut ()>>,
}

// SAFETY: counters, a latch and a lock; `'s` only marks what may be borrowed.
unsafe impl Sync for Scope<'_> {}

/// Runs `f`, which may spawn goroutines that borrow from outside the scope; returns when all of them have
/// ended, also those that they spawned.
///
/// On a plain thread what is spawned runs at once, on the spot.
///
/// # Panics
/// With the payload of the first panic among `f` and what it spawned, when all have ended.
pub fn scope<'s, R, F: FnOnce(&Scope<'s>) -> R>(f: F) -> R {
    let scope = Scope {
        pending: AtomicUsize::new(1),
        latch: Latch::new(me()),
        panic: Mutex::new(None),
        on_goroutine: enter().is_some(),
        marker: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    // Ordering: AcqRel: what the last goroutine did is seen here.
    if scope.pending.fetch_sub(1, AcqRel) != 1 {
        scope.latch.wait();
    }
    let theirs = scope.panic.lock().take();
    match (result, theirs) {
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
        (Ok(value), None) => value,
    }
}

/// The scope, for a goroutine that it waits for.
struct Up<'s>(*const Scope<'s>);
// SAFETY: the scope is `Sync` and waits for whoever holds this (I1).
unsafe impl Send for Up<'_> {}

impl<'s> Scope<'s> {
    /// Starts `f` in a goroutine of its own, as [`go`](crate::go) does.
    ///
    /// # Panics
    /// Not here: a panic of `f` reaches the caller of [`scope`].
    pub fn spawn<F: FnOnce(&Scope<'s>) + Send + 's>(&self, f: F) {
        let Some(m) = enter().filter(|_| self.on_goroutine) else {
            return self.run(f);
        };
        // Ordering: counts only; the last decrement orders.
        self.pending.fetch_add(1, AcqRel);
        // In this order: what `f` owns is dropped before the scope may go on, also if it never ran (I1).
        let work = (f, Finish(Up(self)));
        // SAFETY: what `f` borrows lives until the scope ends, which waits for this goroutine (I1).
        unsafe {
            go_on(m, move || {
                let (f, up) = { work };
                // SAFETY: the scope waits for us (I1).
                let scope = &*up.0.0;
                scope.run(f);
            });
        }
    }

    fn run<F: FnOnce(&Scope<'s>)>(&self, f: F) {
        let ended = catch_unwind(AssertUnwindSafe(|| f(self)));
        if let Some(payload) = ended.err().filter(|p| !is_quiet_end(&**p)) {
            self.panic.lock().get_or_insert(payload);
        }
    }
}

/// Counts a goroutine off, also when its closure is dropped unrun.
struct Finish<'s>(Up<'s>);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let scope = self.0.0;
        // SAFETY: the scope waits for this decrement (I1); after a last one, for the latch.
        unsafe {
            // Ordering: AcqRel: what we did is seen by who waits.
            if (*scope).pending.fetch_sub(1, AcqRel) == 1 {
                fence(crate::shim::Ordering::Acquire);
                Latch::set(&raw const (*scope).latch);
            }
        }
    }
}
