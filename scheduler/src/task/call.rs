//! The closure of a goroutine, stored in the goroutine itself when it is small: `go` then allocates nothing.
//!
//! # Invariants
//! - I1 A filled call is run or dropped exactly once; both empty it.

use std::mem::{MaybeUninit, align_of, size_of};

const INLINE_BYTES: usize = 64;

#[repr(C, align(16))]
struct Bytes([MaybeUninit<u8>; INLINE_BYTES]);

/// Room for one `FnOnce() + Send`, inline up to 64 bytes, boxed beyond.
pub(crate) struct Call {
    /// Moves the closure out of the bytes and runs it (`true`) or drops it (`false`).
    finish: Option<unsafe fn(*mut u8, bool)>,
    bytes: Bytes,
}

impl Call {
    pub(crate) fn empty() -> Call {
        Call { finish: None, bytes: Bytes([MaybeUninit::uninit(); INLINE_BYTES]) }
    }

    /// Stores `f`. The call must be empty.
    #[inline]
    pub(crate) fn fill<F: FnOnce() + Send>(&mut self, f: F) {
        debug_assert!(self.finish.is_none(), "a goroutine's call is filled twice");
        let at = self.bytes.0.as_mut_ptr().cast::<u8>();
        if size_of::<F>() <= INLINE_BYTES && align_of::<F>() <= 16 {
            // SAFETY: fits and is aligned, by the test above; the bytes are ours.
            unsafe { at.cast::<F>().write(f) };
            self.finish = Some(finish_inline::<F>);
        } else {
            // SAFETY: a pointer fits.
            unsafe { at.cast::<Box<F>>().write(Box::new(f)) };
            self.finish = Some(finish_boxed::<F>);
        }
    }

    /// Runs the closure. `this` is empty before the closure starts.
    ///
    /// # Safety
    /// 1. `this` is live and the caller's alone until the closure has been moved out.
    /// 2. What the closure borrows is still there (scoped goroutines see to it).
    #[inline]
    pub(crate) unsafe fn run(this: *mut Call) {
        // SAFETY: (1).
        unsafe { Call::take(this, true) }
    }

    /// Drops the closure without running it, if there is one.
    ///
    /// # Safety
    /// 1. As for `run`.
    pub(crate) unsafe fn discard(this: *mut Call) {
        // SAFETY: (1).
        unsafe { Call::take(this, false) }
    }

    #[inline]
    unsafe fn take(this: *mut Call, run: bool) {
        // SAFETY: the caller's by the contract of `run`; I1: emptied first.
        unsafe {
            if let Some(finish) = (*this).finish.take() {
                finish((*this).bytes.0.as_mut_ptr().cast(), run);
            }
        }
    }
}

unsafe fn finish_inline<F: FnOnce()>(at: *mut u8, run: bool) {
    // SAFETY: `fill` wrote an `F` here, and `take` empties the call first (I1).
    let f = unsafe { at.cast::<F>().read() };
    if run {
        f();
    }
}

unsafe fn finish_boxed<F: FnOnce()>(at: *mut u8, run: bool) {
    // SAFETY: as above, with a `Box<F>`.
    let f = unsafe { at.cast::<Box<F>>().read() };
    if run {
        f();
    }
}
