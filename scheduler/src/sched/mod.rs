//! Who runs what next: the scheduling loop, waking, parking, system calls, timers, sysmon, and the
//! runtime that owns them.
//!
//! Files, by the question they answer: `world` what the algorithm may sense and do; `find` which goroutine
//! runs next; `wake` who must be woken; `state` what exists; `real` the world of real threads; `worker` the
//! loop of a thread; `park` how a goroutine stops and starts; `syscall` what happens around blocking calls;
//! `timers` and `poll` how time passes; `sysmon` who watches; `deadlock` when nobody can run; `runtime`,
//! `shutdown` and `undertaker` how it begins and ends.

pub(crate) mod deadlock;
pub(crate) mod find;
#[cfg(all(test, not(sched_loom)))]
mod find_tests;
pub(crate) mod hook;
#[cfg(all(test, sched_loom))]
mod loom_wake_tests;
#[cfg(all(test, sched_loom))]
mod loom_world;
pub(crate) mod metrics;
pub(crate) mod park;
pub(crate) mod poll;
pub(crate) mod real;
pub(crate) mod runtime;
#[cfg(all(test, not(sched_loom)))]
mod script;
pub(crate) mod shutdown;
pub(crate) mod spawn;
pub(crate) mod state;
pub(crate) mod syscall;
pub(crate) mod sysmon;
pub(crate) mod timers;
pub(crate) mod undertaker;
pub(crate) mod wake;
#[cfg(all(test, not(sched_loom)))]
mod wake_tests;
pub(crate) mod worker;
pub(crate) mod world;
