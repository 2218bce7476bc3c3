//! Stackful coroutines: a stack, and the switch to and from it.
//!
//! Question: how does a goroutine's code leave and re-enter a worker thread? Through five operations
//! (create, enter, leave, abandon, bounds), behind which there are two switches. Spec: NEW-6.
//!
//! # Invariants
//! - I1 A coroutine is entered by at most one thread at a time (its goroutine is running, G-2).
//! - I2 It is left only by [`leave`], on its own stack.
//! # Not here
//! What runs on the stack, and when: `task` and `sched`.

pub(crate) mod fp;
pub(crate) mod overflow;
pub(crate) mod stack;

// Our own switch where it is tested, the library's elsewhere: docs/decisions/0004-own-switch.md.
#[cfg(target_arch = "x86_64")]
#[path = "switch_x86_64.rs"]
mod switch;
#[cfg(not(target_arch = "x86_64"))]
#[path = "switch_corosensei.rs"]
mod switch;

pub(crate) use switch::{Coro, Exit, leave};

/// What a coroutine runs: never returns, lets no panic out.
pub(crate) type Body = extern "C" fn(*mut ());
