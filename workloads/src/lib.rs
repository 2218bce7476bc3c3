//! The programs that are scheduled, their right answers, and the runtimes that run them.
//!
//! The harness sees this crate through two registries, [`workloads`] and [`runtimes`], and through
//! [`worker::serve`], the worker side of the line protocol, or, in one process, through
//! [`session::Session`]. Nothing outside this crate names a runtime.
//!
//! # Map
//! - [`registry`]: the two lists and the trait of a workload. [`cell`], `fields`: parameters.
//! - [`session`]: one runtime with one workload set up; [`drive`]: the timed region, the same for all.
//! - [`protocol`], [`worker`]: the same over two streams of lines.
//! - `runtimes/`: start, stop, worker count and read-back of each runtime, one file each.
//! - `w03_primes/` and so on: a workload each; `mod.rs` has definition, input, answer and the leaf
//!   code that all runtimes share; beside it one file per runtime, as that runtime's own documents
//!   would write it.
//! - [`kernel`], [`input`], [`model`]: counted work, fixed random numbers, ceilings.
//!
//! # Not here
//! No statistics, no verdicts, no printing: stdout of a worker belongs to the protocol.

pub mod cell;
pub mod drive;
mod fields;
pub mod input;
pub mod kernel;
mod latch;
pub mod model;
pub mod policy;
pub mod protocol;
pub mod registry;
mod runtimes;
pub mod session;
pub mod system;
mod tally;
pub mod worker;

mod p4_head_of_line;
mod p6_idle;
mod w03_primes;
mod w07_fib;
mod w08_forkbench;
mod w09_skynet;
mod w10_nqueens;
mod w14_pingpong;
mod w14_ring;
mod w18_flood;
mod w19_yield;
mod w20_parked;
mod w23_file;

pub use cell::{Params, Size};
pub use registry::{
    Clock, Launch, RuntimeInfo, Support, Workload, find_runtime, find_workload, runtimes, workloads,
};
