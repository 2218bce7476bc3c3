//! The switch of the `corosensei` crate, for machines that ours is not written for.
//!
//! Traces go on from a goroutine into the worker that runs it, and a signal handler that takes a trace inside
//! the switch itself may meet a half-changed stack.

use super::Body;
use super::stack::StackSlot;
use corosensei::{Coroutine, Yielder};
use std::cell::Cell;

/// A suspended or running coroutine without a result: it is entered and left, again and again.
pub(crate) struct Coro(Coroutine<(), (), (), StackSlot>);

/// The way out of the coroutine that owns it; lives at the base of its stack.
pub(crate) type Exit = Yielder<(), ()>;

impl Coro {
    /// Places a coroutine at `at` that will run `body(arg)` on `stack`; nothing runs before the first
    /// [`Coro::enter`]. `exit` holds the way out before `body` begins.
    ///
    /// # Safety
    /// 1. `stack` is unused, stays mapped while the coroutine lives, and has a guard below.
    /// 2. `at` is valid for a write, and it, `exit` and `arg` stay where they are while the coroutine lives.
    pub(crate) unsafe fn place(
        at: *mut Option<Coro>,
        stack: StackSlot,
        body: Body,
        arg: *mut (),
        exit: *const Cell<*const Exit>,
    ) {
        let coroutine = Coroutine::with_stack(stack, move |way: &Exit, ()| {
            // SAFETY: (2).
            unsafe { (*exit).set(way) };
            body(arg);
        });
        // SAFETY: (2).
        unsafe { at.write(Some(Coro(coroutine))) };
    }

    /// Runs the coroutine at `this` on this thread until it leaves.
    ///
    /// # Safety
    /// 1. `this` was placed, and nobody else is inside (I1 of `coro`).
    #[inline]
    pub(crate) unsafe fn enter(this: *mut Option<Coro>) {
        // SAFETY: (1).
        let _ = unsafe { (*this).as_mut().unwrap_unchecked().0.resume(()) };
    }

    /// Forgets where it was: its stack may be used anew. Nothing on it is dropped.
    ///
    /// # Safety
    /// 1. It is suspended, and nothing on its stack still needs to be dropped or is borrowed elsewhere.
    pub(crate) unsafe fn abandon(&mut self) {
        // SAFETY: (1).
        unsafe { self.0.force_reset() }
    }
}

/// Leaves the coroutine whose way out this is; returns when it is next entered, maybe on another thread.
///
/// # Safety
/// 1. Called on that coroutine's stack, or one that it called.
#[inline]
pub(crate) unsafe fn leave(exit: *const Exit) {
    // SAFETY: the yielder lives at the base of the running stack, by (1).
    unsafe { (*exit).suspend(()) }
}
