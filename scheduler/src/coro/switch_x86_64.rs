//! The switch on x86-64: save six registers and the stack pointer, load another's.
//!
//! Question: how does one thread go from one stack to another so that a trace taken at any instruction, by a
//! profiler's signal say, is right? Both sides save the same words in the same order, so that the unwind rules
//! ("the caller's frame is so many bytes above the stack pointer") hold for the old stack before the one
//! instruction that changes it and for the new one after. FC-69.
//!
//! # Invariants
//! - I1 A suspended stack holds, from its saved pointer up: r15, r14, r13, r12, rbx, rbp, the place to go on.
//! - I2 What the ABI has a callee preserve besides these, the floating-point control word, is `fp`'s.
//! # Not here
//! Shadow stacks (CET): a thread that has one must not run this; Linux gives none unless asked.

use super::Body;
use super::stack::StackSlot;
use corosensei::stack::Stack;
use std::cell::Cell;
use std::ptr;

/// A suspended or running coroutine without a result: it is entered and left, again and again.
pub(crate) struct Coro(Exit);

/// Two saved stack pointers: the coroutine's while it is suspended, its worker's while it runs.
pub(crate) struct Exit {
    inside: Cell<*mut u8>,
    outside: Cell<*mut u8>,
}

/// Words of I1.
const SAVED: usize = 7;

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
        // One word more than I1 keeps the stack aligned as if `start` had been called.
        let saved = (stack.base().get() - (SAVED + 1) * 8) as *mut usize;
        // The second instruction: unwinders look one byte before a return address, which must be `start` too.
        let start = start as *const () as usize + 1;
        let words = [0, 0, arg.expose_provenance(), body as usize, 0, 0, start];
        // SAFETY: (1), and the base is aligned and above the guard.
        unsafe { saved.cast::<[usize; SAVED]>().write(words) };
        let way = Exit { inside: Cell::new(saved.cast()), outside: Cell::new(ptr::null_mut()) };
        // SAFETY: (2).
        unsafe {
            at.write(Some(Coro(way)));
            (*exit).set(&(*at).as_ref().unwrap_unchecked().0);
        }
    }

    /// Runs the coroutine at `this` on this thread until it leaves.
    ///
    /// # Safety
    /// 1. `this` was placed, and nobody else is inside (I1 of `coro`).
    #[inline]
    pub(crate) unsafe fn enter(this: *mut Option<Coro>) {
        // Shared, not exclusive: the coroutine reads and writes the same words when it leaves.
        // SAFETY: (1).
        let way = unsafe { &(*this).as_ref().unwrap_unchecked().0 };
        // SAFETY: (1): suspended, so `inside` is as I1 says.
        unsafe { switch(way.outside.as_ptr(), way.inside.get()) }
    }

    /// Forgets where it was: its stack may be used anew. Nothing on it is dropped.
    ///
    /// # Safety
    /// 1. It is suspended, and nothing on its stack still needs to be dropped or is borrowed elsewhere.
    pub(crate) unsafe fn abandon(&mut self) {
        self.0.inside.set(ptr::null_mut());
    }
}

/// Leaves the coroutine whose way out this is; returns when it is next entered, maybe on another thread.
///
/// # Safety
/// 1. Called on that coroutine's stack, or one that it called.
#[inline]
pub(crate) unsafe fn leave(exit: *const Exit) {
    // SAFETY: running, by (1), so `outside` is as I1 says.
    unsafe { switch((*exit).inside.as_ptr(), (*exit).outside.get()) }
}

/// Saves this stack's state, its pointer in `*save`, and goes on at the stack saved at `to`. Returns when
/// somebody goes on here.
///
/// # Safety
/// 1. `save` is valid for a write; `to` is a saved pointer (I1), used once.
#[unsafe(naked)]
unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "push rbx",
        ".cfi_def_cfa_offset 24",
        ".cfi_offset rbx, -24",
        "push r12",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset r12, -32",
        "push r13",
        ".cfi_def_cfa_offset 40",
        ".cfi_offset r13, -40",
        "push r14",
        ".cfi_def_cfa_offset 48",
        ".cfi_offset r14, -48",
        "push r15",
        ".cfi_def_cfa_offset 56",
        ".cfi_offset r15, -56",
        "mov [rdi], rsp",
        "mov rsp, rsi", // From here the rules above speak of the other stack, and hold.
        "pop r15",
        ".cfi_def_cfa_offset 48",
        ".cfi_restore r15",
        "pop r14",
        ".cfi_def_cfa_offset 40",
        ".cfi_restore r14",
        "pop r13",
        ".cfi_def_cfa_offset 32",
        ".cfi_restore r13",
        "pop r12",
        ".cfi_def_cfa_offset 24",
        ".cfi_restore r12",
        "pop rbx",
        ".cfi_def_cfa_offset 16",
        ".cfi_restore rbx",
        "pop rbp",
        ".cfi_def_cfa_offset 8",
        ".cfi_restore rbp",
        // Not `ret`: the processor predicts that from calls, and this goes somewhere else.
        "pop rcx",
        ".cfi_def_cfa_offset 0",
        ".cfi_register rip, rcx",
        "jmp rcx",
        ".cfi_endproc",
    )
}

/// Where a fresh stack goes on: calls the body in r12 with the argument in r13, as the outermost frame of every
/// trace. Unwinders and frame-pointer walkers stop here.
#[unsafe(naked)]
unsafe extern "C" fn start() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip", // There is no caller.
        "nop",
        "xor ebp, ebp", // The last frame record.
        "mov rdi, r13",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call r12",
        "ud2",
        ".cfi_endproc",
    )
}
