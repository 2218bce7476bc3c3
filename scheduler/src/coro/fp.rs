//! The floating-point control word (rounding mode, traps): each goroutine's own, like the callee-saved
//! registers that the ABI counts it among. FC-68.
//!
//! # Invariants
//! - I1 On the scheduler's stack the word is the default one, so it never leaks to a neighbour.
//! # Not here
//! The status flags, which the ABI leaves to the caller; the x87 control word, which Rust code does not use.

/// Round to nearest, all traps masked: what a thread starts with.
#[cfg(target_arch = "x86_64")]
pub(crate) const DEFAULT: u32 = 0x1F80;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const DEFAULT: u32 = 0;

/// The thread's control word now, without status flags.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn control() -> u32 {
    let mut word = 0u32;
    // SAFETY: stores four bytes to a local.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags));
    }
    word & 0xFFC0
}

/// Sets it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn set_control(word: u32) {
    // SAFETY: loads four bytes from a local; the value came from `control` or is the default.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, readonly, preserves_flags));
    }
}

/// The thread's control word now.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn control() -> u32 {
    let word: u64;
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags))
    };
    word as u32
}

/// Sets it.
#[cfg(target_arch = "aarch64")]
pub(crate) fn set_control(word: u32) {
    // SAFETY: the value came from `control` or is the default.
    unsafe {
        std::arch::asm!("msr fpcr, {}", in(reg) u64::from(word), options(nomem, nostack, preserves_flags));
    }
}

/// Other machines: nothing is kept.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn control() -> u32 {
    DEFAULT
}

/// Other machines: nothing is kept.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn set_control(_: u32) {}
