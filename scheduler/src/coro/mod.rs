//! Stackful coroutines: a stack, and the switch to and from it.
//!
//! Question: how does a goroutine's code leave and re-enter a worker thread? Through five operations
//! (create, enter, leave, abandon, bounds), so that another switch can take `corosensei`'s place. Spec: NEW-6.
//!
//! # Invariants
//! - I1 A coroutine is entered by at most one thread at a time (its goroutine is running, G-2).
//! - I2 It is left only by [`leave`], on its own stack.
//! # Not here
//! What runs on the stack, and when: `task` and `sched`.

pub(crate) mod fp;
pub(crate) mod overflow;
pub(crate) mod stack;

use corosensei::{Coroutine, Yielder};
use stack::StackSlot;

/// A suspended or running coroutine without a result: it is entered and left, again and again.
pub(crate) struct Coro(Coroutine<(), (), (), StackSlot>);

/// The way out of the coroutine that owns it; lives at the base of its stack.
pub(crate) type Exit = Yielder<(), ()>;

impl Coro {
    /// Prepares `body` on `stack`; nothing runs before the first [`Coro::enter`]. `body` gets the way
    /// out and must not return.
    ///
    /// # Safety
    /// 1. `stack` is unused, stays mapped while the coroutine lives, and has a guard below.
    pub(crate) unsafe fn new(stack: StackSlot, body: impl FnOnce(&Exit) + 'static) -> Coro {
        Coro(Coroutine::with_stack(stack, move |exit: &Exit, ()| body(exit)))
    }

    /// Runs it on this thread until it leaves.
    ///
    /// # Safety
    /// 1. Nobody else is inside (I1).
    #[inline]
    pub(crate) unsafe fn enter(&mut self) {
        let _ = self.0.resume(());
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

/// What a coroutine runs: never returns, lets no panic out.
pub(crate) type Body = extern "C" fn(*mut ());

/// Calls `body(arg)` as the outermost frame of every trace: unwinders and frame-pointer walkers stop here and
/// do not go on into the worker that happens to run the coroutine. FC-69.
///
/// # Safety
/// 1. `body` does not return, and lets no panic out.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn outermost(body: Body, arg: *mut ()) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip", // There is no caller.
        "push rbp",           // Aligns the stack for the call.
        ".cfi_adjust_cfa_offset 8",
        "xor ebp, ebp", // The last frame record.
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}

/// As above.
///
/// # Safety
/// 1. As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn outermost(body: Body, arg: *mut ()) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined x30", // There is no caller.
        "mov x29, xzr",       // The last frame record.
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        "brk #1",
        ".cfi_endproc",
    )
}

/// Other machines: traces go on into the worker.
///
/// # Safety
/// 1. As above.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe fn outermost(body: Body, arg: *mut ()) {
    body(arg);
}
