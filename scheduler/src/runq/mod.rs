//! Where goroutines wait to run: the ring of a P with its runnext slot, the global queue, and the order
//! in which thieves visit.

pub(crate) mod global;
pub(crate) mod local;
#[cfg(all(test, sched_loom))]
mod loom_tests;
pub(crate) mod order;

pub(crate) use global::{Linked, List};
pub(crate) use local::Ring;
